// A filter of 5 x 5 on an image: the filter in constant memory, a tile of the image with its halo in shared memory.
constexpr int kRadius = 2, kSide = 2 * kRadius + 1, kTile = 16, kHalo = kTile + 2 * kRadius;

__constant__ float filter[kSide * kSide] = {1, 4,  6,  4,  1, 4, 16, 24, 16, 4, 6, 24, 36,
                                            24, 6, 4, 16, 24, 16, 4, 1, 4,  6,  4,  1};

extern "C" __global__ void conv2d_shared(const float* in, float* out, int height, int width) {
    __shared__ float tile[kHalo][kHalo];
    const int left = blockIdx.x * kTile - kRadius, top = blockIdx.y * kTile - kRadius;
    for (int dy = threadIdx.y; dy < kHalo; dy += kTile)
        for (int dx = threadIdx.x; dx < kHalo; dx += kTile) {
            const int x = left + dx, y = top + dy;
            tile[dy][dx] = x >= 0 && y >= 0 && x < width && y < height ? in[y * width + x] : 0;
        }
    __syncthreads();
    const int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0;
#pragma unroll
    for (int dy = 0; dy < kSide; ++dy)
#pragma unroll
        for (int dx = 0; dx < kSide; ++dx) sum += filter[dy * kSide + dx] * tile[threadIdx.y + dy][threadIdx.x + dx];
    out[y * width + x] = sum * (1.0f / 256);
}
