// A filter of 5 x 5 on an image, all read from global memory. Beyond the image all is zero.
constexpr int kRadius = 2;

extern "C" __global__ void conv2d_naive(const float* __restrict__ in, const float* __restrict__ filter,
                                        float* __restrict__ out, int height, int width) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0;
    for (int dy = -kRadius; dy <= kRadius; ++dy)
        for (int dx = -kRadius; dx <= kRadius; ++dx)
            if (x + dx >= 0 && x + dx < width && y + dy >= 0 && y + dy < height)
                sum += filter[(dy + kRadius) * (2 * kRadius + 1) + dx + kRadius] * in[(y + dy) * width + x + dx];
    out[y * width + x] = sum;
}
