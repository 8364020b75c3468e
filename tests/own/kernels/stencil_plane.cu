// One Jacobi step on a plane: the mean of four neighbours, all read from global memory. The border is copied.
extern "C" __global__ void stencil_plane(const float* in, float* out, int height, int width) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const int i = y * width + x;
    if (x == 0 || y == 0 || x == width - 1 || y == height - 1)
        out[i] = in[i];
    else
        out[i] = 0.25f * (in[i - 1] + in[i + 1] + in[i - width] + in[i + width]);
}
