// C = A B with tiles of A and B in shared memory, one thread for each element of C. Extents may be any.
constexpr int kTile = 16;

extern "C" __global__ void sgemm_shared(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float tile_a[kTile][kTile];
    __shared__ float tile_b[kTile][kTile];
    const int x = threadIdx.x, y = threadIdx.y;
    const int column = blockIdx.x * kTile + x, row = blockIdx.y * kTile + y;
    float sum = 0;
    for (int first = 0; first < k; first += kTile) {
        tile_a[y][x] = row < m && first + x < k ? a[row * k + first + x] : 0;
        tile_b[y][x] = first + y < k && column < n ? b[(first + y) * n + column] : 0;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < kTile; ++i) sum += tile_a[y][i] * tile_b[i][x];
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = sum;
}
