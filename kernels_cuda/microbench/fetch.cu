// Instruction fetch: straight-line code of FFMA, 16 bytes each, passed three times by the warp of each CTA.
#include "common.cuh"

template <int kCount>
DEVICE void straight(u64* clocks, float y) {
    float x[1][8];
#pragma unroll
    for (int i = 0; i < 8; ++i) x[0][i] = y + i;
    u64 begin = 0, end = 0;
#pragma unroll 1
    for (int pass = 0; pass < 3; ++pass) {
        begin = cycles();
#pragma unroll
        for (int i = 0; i < kCount; ++i) asm volatile("fma.rn.f32 %0, %0, %1, %0;" : "+f"(x[0][i % 8]) : "f"(y));
        end = cycles();
        if (threadIdx.x == 0) clocks[3 * blockIdx.x + pass] = end - begin;
    }
    if (begin == end) clocks[0] = fold(x);
}
#define STRAIGHT(COUNT)                                                                                           \
    extern "C" __global__ void __launch_bounds__(32) straight_##COUNT(u64* clocks, float y) {                     \
        straight<COUNT>(clocks, y);                                                                               \
    }
STRAIGHT(512) STRAIGHT(1024) STRAIGHT(2048) STRAIGHT(4096)
