// One Jacobi step on a plane: the mean of four neighbours in a tile in shared memory with its halo. The border is copied.
constexpr int kWidth = 32, kHeight = 8;

extern "C" __global__ void stencil_plane_shared(const float* in, float* out, int height, int width) {
    __shared__ float tile[kHeight + 2][kWidth + 2];
    const int left = blockIdx.x * kWidth - 1, top = blockIdx.y * kHeight - 1;
    for (int e = threadIdx.y * kWidth + threadIdx.x; e < (kHeight + 2) * (kWidth + 2); e += kWidth * kHeight) {
        const int dy = e / (kWidth + 2), dx = e % (kWidth + 2), y = top + dy, x = left + dx;
        tile[dy][dx] = x >= 0 && y >= 0 && x < width && y < height ? in[y * width + x] : 0;
    }
    __syncthreads();
    const int tx = threadIdx.x + 1, ty = threadIdx.y + 1, x = left + tx, y = top + ty;
    if (x >= width || y >= height) return;
    if (x == 0 || y == 0 || x == width - 1 || y == height - 1)
        out[y * width + x] = tile[ty][tx];
    else
        out[y * width + x] = 0.25f * (tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx]);
}
