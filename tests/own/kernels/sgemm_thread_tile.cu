// C = A B with a tile of 4 x 4 elements of C for each thread, kept in registers as an outer product.
// Extents are multiples of the tile of 64 x 64 x 8.
constexpr int kTile = 64, kDepth = 8, kOwn = 4, kThreads = 256;

extern "C" __global__ void __launch_bounds__(kThreads)
    sgemm_thread_tile(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float tile_a[kTile][kDepth];
    __shared__ float tile_b[kDepth][kTile];
    const int t = threadIdx.x;
    const int own_column = t % (kTile / kOwn) * kOwn, own_row = t / (kTile / kOwn) * kOwn;
    a += blockIdx.y * kTile * k;
    b += blockIdx.x * kTile;
    c += blockIdx.y * kTile * n + blockIdx.x * kTile;
    float sum[kOwn][kOwn] = {};
    for (int first = 0; first < k; first += kDepth) {
#pragma unroll
        for (int i = 0; i < kTile * kDepth / kThreads; ++i) {
            const int e = t + i * kThreads;
            tile_a[e / kDepth][e % kDepth] = a[e / kDepth * k + first + e % kDepth];
            tile_b[e / kTile][e % kTile] = b[(first + e / kTile) * n + e % kTile];
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < kDepth; ++i) {
            float of_a[kOwn], of_b[kOwn];
#pragma unroll
            for (int r = 0; r < kOwn; ++r) of_a[r] = tile_a[own_row + r][i];
#pragma unroll
            for (int s = 0; s < kOwn; ++s) of_b[s] = tile_b[i][own_column + s];
#pragma unroll
            for (int r = 0; r < kOwn; ++r)
#pragma unroll
                for (int s = 0; s < kOwn; ++s) sum[r][s] += of_a[r] * of_b[s];
        }
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < kOwn; ++r)
#pragma unroll
        for (int s = 0; s < kOwn; ++s) c[(own_row + r) * n + own_column + s] = sum[r][s];
}
