// C = A B^T on Turing's tensor cores: A, B and C fp16, A and B contiguous along K. One buffer, filled through registers.
// Two warps have a tile of 32 x 64 x 32; extents are multiples of it.
#include "ptx.cuh"

constexpr int kRows = 32, kColumns = 64, kDepth = 32, kThreads = 64;
constexpr int kVector = 8, kPitch = kDepth + kVector;

extern "C" __global__ void __launch_bounds__(kThreads)
    mma_turing(const unsigned short* a, const unsigned short* b, u32* c, int m, int n, int k) {
    __shared__ __align__(16) unsigned short tile_a[kRows * kPitch];
    __shared__ __align__(16) unsigned short tile_b[kColumns * kPitch];
    const int t = threadIdx.x, lane = t % 32, warp_column = t / 32 * 32;
    a += blockIdx.y * kRows * k;
    b += blockIdx.x * kColumns * k;
    float sum[2][4][4] = {};
    for (int first = 0; first < k; first += kDepth) {
#pragma unroll
        for (int i = 0; i < kRows * 4 / kThreads; ++i) {
            const int v = t + i * kThreads, row = v / 4, vector = v % 4 * kVector;
            *reinterpret_cast<uint4*>(tile_a + row * kPitch + vector) =
                *reinterpret_cast<const uint4*>(a + row * k + first + vector);
        }
#pragma unroll
        for (int i = 0; i < kColumns * 4 / kThreads; ++i) {
            const int v = t + i * kThreads, row = v / 4, vector = v % 4 * kVector;
            *reinterpret_cast<uint4*>(tile_b + row * kPitch + vector) =
                *reinterpret_cast<const uint4*>(b + row * k + first + vector);
        }
        __syncthreads();
#pragma unroll
        for (int group = 0; group < kDepth; group += 8) {
            u32 of_a[2][2], of_b[4];
#pragma unroll
            for (int i = 0; i < 2; ++i) ldmatrix_x2(of_a[i], tile_a + (16 * i + lane % 16) * kPitch + group);
            ldmatrix_x4(of_b, tile_b + (warp_column + lane) * kPitch + group);
#pragma unroll
            for (int i = 0; i < 2; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j) mma_f16_8(sum[i][j], of_a[i], of_b[j]);
        }
        __syncthreads();
    }
    // Two elements of C are one word.
    c += ((blockIdx.y * kRows + lane / 4) * n + blockIdx.x * kColumns + warp_column) / 2 + lane % 4;
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            c[(16 * i * n + 8 * j) / 2] = halves_of(sum[i][j][0], sum[i][j][1]);
            c[((16 * i + 8) * n + 8 * j) / 2] = halves_of(sum[i][j][2], sum[i][j][3]);
        }
}
