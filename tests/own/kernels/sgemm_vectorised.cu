// C = A B with tiles of 128 x 128 x 8 in two buffers: the next tile is loaded to registers while this one is multiplied.
// All accesses have 16 bytes; A is transposed in shared memory. Extents are multiples of the tile.
constexpr int kTile = 128, kDepth = 8, kThreads = 256;

extern "C" __global__ void __launch_bounds__(kThreads)
    sgemm_vectorised(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ __align__(16) float tile_a[2][kDepth][kTile];
    __shared__ __align__(16) float tile_b[2][kDepth][kTile];
    const int t = threadIdx.x;
    const int a_row = t / 2, a_depth = t % 2 * 4;        // of the 4 elements of A that this thread copies
    const int b_depth = t / 32, b_column = t % 32 * 4;   // of those of B
    const int own_row = t / 16 * 4, own_column = t % 16 * 4;  // 4 rows here, 4 rows half a tile below; so with columns
    const float* from_a = a + (blockIdx.y * kTile + a_row) * k + a_depth;
    const float* from_b = b + b_depth * n + blockIdx.x * kTile + b_column;
    c += (blockIdx.y * kTile + own_row) * n + blockIdx.x * kTile + own_column;

    float sum[8][8] = {};
    float4 next_a = *reinterpret_cast<const float4*>(from_a);
    float4 next_b = *reinterpret_cast<const float4*>(from_b);
    int buffer = 0;
    for (int first = 0; first < k; first += kDepth) {
        tile_a[buffer][a_depth + 0][a_row] = next_a.x;
        tile_a[buffer][a_depth + 1][a_row] = next_a.y;
        tile_a[buffer][a_depth + 2][a_row] = next_a.z;
        tile_a[buffer][a_depth + 3][a_row] = next_a.w;
        *reinterpret_cast<float4*>(&tile_b[buffer][b_depth][b_column]) = next_b;
        __syncthreads();
        if (first + kDepth < k) {
            next_a = *reinterpret_cast<const float4*>(from_a + first + kDepth);
            next_b = *reinterpret_cast<const float4*>(from_b + (first + kDepth) * n);
        }
#pragma unroll
        for (int i = 0; i < kDepth; ++i) {
            float of_a[8], of_b[8];
            *reinterpret_cast<float4*>(of_a) = *reinterpret_cast<const float4*>(&tile_a[buffer][i][own_row]);
            *reinterpret_cast<float4*>(of_a + 4) = *reinterpret_cast<const float4*>(&tile_a[buffer][i][own_row + 64]);
            *reinterpret_cast<float4*>(of_b) = *reinterpret_cast<const float4*>(&tile_b[buffer][i][own_column]);
            *reinterpret_cast<float4*>(of_b + 4) = *reinterpret_cast<const float4*>(&tile_b[buffer][i][own_column + 64]);
#pragma unroll
            for (int r = 0; r < 8; ++r)
#pragma unroll
                for (int s = 0; s < 8; ++s) sum[r][s] += of_a[r] * of_b[s];
        }
        buffer ^= 1;
    }
#pragma unroll
    for (int r = 0; r < 8; ++r) {
        float* to = c + (r % 4 + r / 4 * 64) * n;
        *reinterpret_cast<float4*>(to) = make_float4(sum[r][0], sum[r][1], sum[r][2], sum[r][3]);
        *reinterpret_cast<float4*>(to + 64) = make_float4(sum[r][4], sum[r][5], sum[r][6], sum[r][7]);
    }
}
