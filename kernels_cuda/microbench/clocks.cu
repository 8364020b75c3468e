// How fast the clock of each SM runs while all that have a CTA do the same.
#include "common.cuh"

enum Load { kSpin = 0, kFfma = 1, kMma = 2, kRead = 3 };

// For `duration` nanoseconds. stamps[CTA][3]: its SM, and the cycles and nanoseconds that have passed.
template <int kLoad>
DEVICE void clocks(u64* stamps, const char* data, u64 bytes, int duration) {
    float sums[16][4] = {};
    u32 operands[8];
    random_fractions(operands, blockIdx.x * 256 + threadIdx.x);
    const float factor = static_cast<float>(threadIdx.x);
    u32 read = 0;
    u64 at = (blockIdx.x * 4096ull + threadIdx.x * 16) % bytes;
    const u64 from = nanoseconds(), begin = cycles();
    u64 now = from;
#pragma unroll 1
    while (now < from + duration) {
#pragma unroll
        for (int i = 0; i < 16; ++i) {
            if (kLoad == kFfma) {
#pragma unroll
                for (int j = 0; j < 4; ++j) asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(sums[i][j]) : "f"(factor));
            }
            if (kLoad == kMma) {
                float(&c)[4] = sums[i];
                asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                             : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                             : "r"(operands[i % 8]), "r"(operands[(i + 1) % 8]), "r"(operands[(i + 2) % 8]), "r"(operands[(i + 3) % 8]),
                               "r"(operands[(i + 4) % 8]), "r"(operands[(i + 5) % 8]));
            }
            if (kLoad == kRead) {
                u32 word;
                asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(word) : "l"(data + at) : "memory");
                read ^= word;
                at = (at + gridDim.x * 4096ull) % bytes;
            }
        }
        now = nanoseconds();
    }
    const u64 end = cycles();
    if (threadIdx.x == 0) {
        stamps[blockIdx.x * 3] = sm_id();
        stamps[blockIdx.x * 3 + 1] = end - begin;
        stamps[blockIdx.x * 3 + 2] = now - from;
    }
    // Never true, which ptxas does not know: so it keeps what is computed.
    if (begin == end) stamps[0] = fold(sums) ^ read;
}

#define CLOCKS(LOAD)                                                                                                 \
    extern "C" __global__ void __launch_bounds__(256) clocks_##LOAD(u64* s, const char* d, u64 bytes, int duration) { \
        clocks<LOAD>(s, d, bytes, duration);                                                                         \
    }
CLOCKS(0) CLOCKS(1) CLOCKS(2) CLOCKS(3)
