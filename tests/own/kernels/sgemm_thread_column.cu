// C = A B with 8 elements of a column of C for each thread: one value of B from shared memory serves 8 products.
// Extents are multiples of the tile of 64 x 64 x 8.
constexpr int kTile = 64, kDepth = 8, kRows = 8;

extern "C" __global__ void __launch_bounds__(512)
    sgemm_thread_column(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float tile_a[kTile][kDepth];
    __shared__ float tile_b[kDepth][kTile];
    const int t = threadIdx.x;
    const int column = t % kTile, first_row = t / kTile * kRows;
    a += blockIdx.y * kTile * k;
    b += blockIdx.x * kTile;
    c += blockIdx.y * kTile * n + blockIdx.x * kTile;
    float sum[kRows] = {};
    for (int first = 0; first < k; first += kDepth) {
        tile_a[t / kDepth][t % kDepth] = a[t / kDepth * k + first + t % kDepth];
        tile_b[t / kTile][t % kTile] = b[(first + t / kTile) * n + t % kTile];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < kDepth; ++i) {
            const float of_b = tile_b[i][column];
#pragma unroll
            for (int r = 0; r < kRows; ++r) sum[r] += tile_a[first_row + r][i] * of_b;
        }
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) c[(first_row + r) * n + column] = sum[r];
}
