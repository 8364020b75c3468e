// Y = X W, where W has 4-bit weights: eight of a column in a word, with a scale for every 64 of them. X and Y are fp16.
// A thread has one column of Y and four rows; CTAs of 128 threads keep those rows of X in shared memory as fp32.
#include "ptx.cuh"

constexpr int kRows = 4, kGroup = 64, kThreads = 128;
constexpr u32 k1024 = 0x64006400, k1032 = 0x64086408;  // pairs of fp16

extern "C" __global__ void __launch_bounds__(kThreads)
    dequantised_gemm(const unsigned short* x, const u32* weights, const unsigned short* scales, unsigned short* y, int n, int k) {
    __shared__ float rows[kRows][kGroup];
    const int t = threadIdx.x, column = blockIdx.x * kThreads + t, first_row = blockIdx.y * kRows;
    float sum[kRows] = {};
    for (int first = 0; first < k; first += kGroup) {
        __syncthreads();
        for (int e = t; e < kRows * kGroup; e += kThreads)
            rows[e / kGroup][e % kGroup] = float_of(x[(first_row + e / kGroup) * k + first + e % kGroup]);
        __syncthreads();
        const u32 scale = scales[first / kGroup * n + column] * 0x10001u;
        for (int word = 0; word < kGroup / 8; ++word) {
            const u32 packed = weights[(first / 8 + word) * n + column];
#pragma unroll
            for (int pair = 0; pair < 4; ++pair) {
                // The weights pair and pair + 4 are in the low bits of both halves: as fp16 1024 plus weight.
                const u32 shifted = (packed >> 4 * pair & 0x000f000f) | k1024;
                const u32 pair_of_weights = multiply_halves(subtract_halves(shifted, k1032), scale);
                const float low = float_of(static_cast<unsigned short>(pair_of_weights));
                const float high = float_of(static_cast<unsigned short>(pair_of_weights >> 16));
#pragma unroll
                for (int r = 0; r < kRows; ++r)
                    sum[r] += rows[r][8 * word + pair] * low + rows[r][8 * word + pair + 4] * high;
            }
        }
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) y[(first_row + r) * n + column] = half_of(sum[r]);
}
