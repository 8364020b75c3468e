// C = A B^T on tensor cores: A and B 8-bit integers, both contiguous along K, C 32-bit integers. Two buffers filled by
// cp.async, swizzled for ldmatrix. Four warps have a tile of 64 x 64 x 64; extents are multiples of it.
#include "ptx.cuh"

constexpr int kTile = 64, kDepth = 64, kThreads = 128;
constexpr int kVector = 16;  // elements of 16 bytes

// The place of a vector in a row of 4 vectors: two rows lie in one line of the banks.
DEVICE int place(int row, int vector) { return row * kDepth + (vector ^ (row / 2 & 3)) * kVector; }

extern "C" __global__ void __launch_bounds__(kThreads)
    mma_int8(const signed char* a, const signed char* b, int* c, int m, int n, int k) {
    __shared__ __align__(128) signed char tile_a[2][kTile * kDepth];
    __shared__ __align__(128) signed char tile_b[2][kTile * kDepth];
    const int t = threadIdx.x, lane = t % 32, warp_row = t / 32 / 2 * 32, warp_column = t / 32 % 2 * 32;
    a += blockIdx.y * kTile * k;
    b += blockIdx.x * kTile * k;

    auto fill = [&](int buffer, int first) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int v = t + i * kThreads, row = v / 4, vector = v % 4;
            copy_16(&tile_a[buffer][place(row, vector)], a + row * k + first + vector * kVector);
            copy_16(&tile_b[buffer][place(row, vector)], b + row * k + first + vector * kVector);
        }
        copy_commit();
    };

    int sum[2][4][4] = {};
    fill(0, 0);
    for (int first = 0, buffer = 0; first < k; first += kDepth, buffer ^= 1) {
        copy_wait<0>();
        __syncthreads();
        if (first + kDepth < k) fill(buffer ^ 1, first + kDepth);
#pragma unroll
        for (int group = 0; group < kDepth / 32; ++group) {
            u32 of_a[2][4], of_b[2][4];
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const int row = warp_row + 16 * i + lane % 16, column = warp_column + 16 * i + lane / 16 * 8 + lane % 8;
                ldmatrix_x4(of_a[i], &tile_a[buffer][place(row, 2 * group + lane / 16)]);
                ldmatrix_x4(of_b[i], &tile_b[buffer][place(column, 2 * group + lane / 8 % 2)]);
            }
#pragma unroll
            for (int i = 0; i < 2; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j) mma_s8_32(sum[i][j], of_a[i], of_b[j / 2][j % 2 * 2], of_b[j / 2][j % 2 * 2 + 1]);
        }
    }
    c += (blockIdx.y * kTile + warp_row + lane / 4) * n + blockIdx.x * kTile + warp_column + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            *reinterpret_cast<int2*>(c + 16 * i * n + 8 * j) = make_int2(sum[i][j][0], sum[i][j][1]);
            *reinterpret_cast<int2*>(c + (16 * i + 8) * n + 8 * j) = make_int2(sum[i][j][2], sum[i][j][3]);
        }
}
