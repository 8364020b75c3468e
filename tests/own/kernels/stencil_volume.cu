// A stencil of 7 points in a volume: each thread walks along z and keeps three planes' values. The border is left as it is.
extern "C" __global__ void stencil_volume(const float* in, float* out, int depth, int height, int width) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x + 1, y = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (x >= width - 1 || y >= height - 1) return;
    const int plane = height * width;
    int i = y * width + x;
    float below = in[i], here = in[i + plane];
    for (int z = 1; z < depth - 1; ++z) {
        i += plane;
        const float above = in[i + plane];
        out[i] = 0.4f * here + 0.1f * (below + above + in[i - 1] + in[i + 1] + in[i - width] + in[i + width]);
        below = here;
        here = above;
    }
}
