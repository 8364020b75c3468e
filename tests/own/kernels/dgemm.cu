// C = A B in double precision with tiles in shared memory, two elements of a column of C for each thread.
// Extents are multiples of 16; CTAs have 16 x 8 threads.
constexpr int kTile = 16;

extern "C" __global__ void dgemm(const double* a, const double* b, double* c, int m, int n, int k) {
    __shared__ double tile_a[kTile][kTile];
    __shared__ double tile_b[kTile][kTile];
    const int x = threadIdx.x, y = threadIdx.y;
    const int column = blockIdx.x * kTile + x, row = blockIdx.y * kTile + y;
    double upper = 0, lower = 0;
    for (int first = 0; first < k; first += kTile) {
        tile_a[y][x] = a[row * k + first + x];
        tile_a[y + 8][x] = a[(row + 8) * k + first + x];
        tile_b[y][x] = b[(first + y) * n + column];
        tile_b[y + 8][x] = b[(first + y + 8) * n + column];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < kTile; ++i) {
            upper = fma(tile_a[y][i], tile_b[i][x], upper);
            lower = fma(tile_a[y + 8][i], tile_b[i][x], lower);
        }
        __syncthreads();
    }
    c[row * n + column] = upper;
    c[(row + 8) * n + column] = lower;
}
