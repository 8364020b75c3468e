// C = A B on tensor cores: A and B fp32 read as tf32, row-major, C fp32. Fragments are loaded word by word from padded rows.
// Four warps have a tile of 64 x 64 x 16; extents are multiples of it.
#include "ptx.cuh"

constexpr int kTile = 64, kDepth = 16, kThreads = 128;
constexpr int kPitchA = kDepth + 4, kPitchB = kTile + 8;  // no two lanes of a load meet in a bank

extern "C" __global__ void __launch_bounds__(kThreads)
    mma_tf32(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ __align__(16) float tile_a[2][kTile * kPitchA];
    __shared__ __align__(16) float tile_b[2][kDepth * kPitchB];
    const int t = threadIdx.x, lane = t % 32, warp_row = t / 32 / 2 * 32, warp_column = t / 32 % 2 * 32;
    const int quad = lane / 4, in_quad = lane % 4;
    a += blockIdx.y * kTile * k;
    b += blockIdx.x * kTile;

    auto fill = [&](int buffer, int first) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int v = t + i * kThreads;
            copy_16(&tile_a[buffer][v / 4 * kPitchA + v % 4 * 4], a + v / 4 * k + first + v % 4 * 4);
            copy_16(&tile_b[buffer][v / 16 * kPitchB + v % 16 * 4], b + (first + v / 16) * n + v % 16 * 4);
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
        for (int group = 0; group < kDepth; group += 8) {
            u32 of_a[2][4], of_b[4][2];
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const float* from = &tile_a[buffer][(warp_row + 16 * i + quad) * kPitchA + group + in_quad];
                of_a[i][0] = __float_as_uint(from[0]);
                of_a[i][1] = __float_as_uint(from[8 * kPitchA]);
                of_a[i][2] = __float_as_uint(from[4]);
                of_a[i][3] = __float_as_uint(from[8 * kPitchA + 4]);
            }
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                const float* from = &tile_b[buffer][(group + in_quad) * kPitchB + warp_column + 8 * j + quad];
                of_b[j][0] = __float_as_uint(from[0]);
                of_b[j][1] = __float_as_uint(from[4 * kPitchB]);
            }
#pragma unroll
            for (int i = 0; i < 2; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j) mma_tf32_8(sum[i][j], of_a[i], of_b[j][0], of_b[j][1]);
        }
    }
    c += (blockIdx.y * kTile + warp_row + quad) * n + blockIdx.x * kTile + warp_column + in_quad * 2;
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            *reinterpret_cast<float2*>(c + 16 * i * n + 8 * j) = make_float2(sum[i][j][0], sum[i][j][1]);
            *reinterpret_cast<float2*>(c + (16 * i + 8) * n + 8 * j) = make_float2(sum[i][j][2], sum[i][j][3]);
        }
}
