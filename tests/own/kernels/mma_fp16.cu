// C = A B on tensor cores: A and B fp16, row-major, C fp32. Two buffers filled by cp.async, swizzled for ldmatrix.
// Four warps have a tile of 64 x 64 x 32; extents are multiples of it.
#include "ptx.cuh"

constexpr int kTile = 64, kDepth = 32, kThreads = 128;
constexpr int kVector = 8;  // elements of 16 bytes

// The place of a vector in a row of 4 vectors: two rows lie in one line of the banks.
DEVICE int place_a(int row, int vector) { return row * kDepth + (vector ^ (row / 2 & 3)) * kVector; }

// In a row of 8 vectors.
DEVICE int place_b(int row, int vector) { return row * kTile + (vector ^ (row & 7)) * kVector; }

extern "C" __global__ void __launch_bounds__(kThreads)
    mma_fp16(const unsigned short* a, const unsigned short* b, float* c, int m, int n, int k) {
    __shared__ __align__(128) unsigned short tile_a[2][kTile * kDepth];
    __shared__ __align__(128) unsigned short tile_b[2][kDepth * kTile];
    const int t = threadIdx.x, lane = t % 32, warp_row = t / 32 / 2 * 32, warp_column = t / 32 % 2 * 32;
    a += blockIdx.y * kTile * k;
    b += blockIdx.x * kTile;

    auto fill = [&](int buffer, int first) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int v = t + i * kThreads;
            copy_16(&tile_a[buffer][place_a(v / 4, v % 4)], a + v / 4 * k + first + v % 4 * kVector);
            copy_16(&tile_b[buffer][place_b(v / 8, v % 8)], b + (first + v / 8) * n + v % 8 * kVector);
        }
        copy_commit();
    };

    float sum[2][4][4] = {};
    fill(0, 0);
    for (int first = 0, buffer = 0; first < k; first += kDepth, buffer ^= 1) {
        copy_wait<0>();
        __syncthreads();
        if (first + kDepth < k) fill(buffer ^ 1, first + kDepth);
#pragma unroll
        for (int group = 0; group < kDepth / 16; ++group) {
            u32 of_a[2][4], of_b[2][4];
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                ldmatrix_x4(of_a[i], &tile_a[buffer][place_a(warp_row + 16 * i + lane % 16, 2 * group + lane / 16)]);
                ldmatrix_x4_trans(of_b[i], &tile_b[buffer][place_b(16 * group + lane % 16,
                                                                   warp_column / kVector + 2 * i + lane / 16)]);
            }
#pragma unroll
            for (int i = 0; i < 2; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j) mma_f16_16(sum[i][j], of_a[i], of_b[j / 2][j % 2 * 2], of_b[j / 2][j % 2 * 2 + 1]);
        }
    }
    c += (blockIdx.y * kTile + warp_row + lane / 4) * n + blockIdx.x * kTile + warp_column + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            *reinterpret_cast<float2*>(c + 16 * i * n + 8 * j) = make_float2(sum[i][j][0], sum[i][j][1]);
            *reinterpret_cast<float2*>(c + (16 * i + 8) * n + 8 * j) = make_float2(sum[i][j][2], sum[i][j][3]);
        }
}
