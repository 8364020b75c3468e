// The transpose of a matrix through a tile in shared memory. The columns that a warp reads from it lie in one bank.
constexpr int kTile = 32, kStep = 8;  // threads are 32 x 8

extern "C" __global__ void transpose_tile(const float* in, float* out, int rows, int columns) {
    __shared__ float tile[kTile][kTile];
    const int x = threadIdx.x;
    const int left = blockIdx.x * kTile, top = blockIdx.y * kTile;
    for (int y = threadIdx.y; y < kTile; y += kStep)
        if (top + y < rows && left + x < columns) tile[y][x] = in[(top + y) * columns + left + x];
    __syncthreads();
    for (int y = threadIdx.y; y < kTile; y += kStep)
        if (left + y < columns && top + x < rows) out[(left + y) * rows + top + x] = tile[x][y];
}
