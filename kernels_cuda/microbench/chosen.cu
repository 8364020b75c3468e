// Which of several warps an SMSP chooses: all of them issue the same, waiting for the unit, and for what the same register did a round before.
#include "common.cuh"

enum What { kFfma = 0, kLop3 = 1, kMma = 2, kLdmatrix = 3, kLds = 4, kCopy = 5 };

// counts[warp]: its rounds of 16 instructions until `duration` cycles have passed.
template <int kWhat>
DEVICE void chosen(u64* counts, const char* data, int duration) {
    __shared__ __align__(128) char words[16384];
    for (u32 i = threadIdx.x * 4; i < 16384; i += blockDim.x * 4) *reinterpret_cast<u32*>(words + i) = i;
    const u32 own = shared_address(words) + lane_id() * 16;
    const u64 from = __cvta_generic_to_global(data) + lane_id() * 16;
    float sums[16][4] = {};
    u32 words_of[16][1] = {}, loaded[16][4] = {};
    const u32 operand = threadIdx.x;
    const float factor = static_cast<float>(threadIdx.x);
    u32 rounds = 0;
    __syncthreads();
    const u64 until = cycles() + duration;
#pragma unroll 1
    while (cycles() < until) {
#pragma unroll
        for (int i = 0; i < 16; ++i) {
            if (kWhat == kFfma) asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(sums[i][0]) : "f"(factor));
            if (kWhat == kLop3) asm volatile("lop3.b32 %0, %0, %1, %1, 0x96;" : "+r"(words_of[i][0]) : "r"(operand));
            if (kWhat == kMma) {
                float(&c)[4] = sums[i];
                asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                             : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                             : "r"(operand), "r"(operand + 1), "r"(operand + 2), "r"(operand + 3), "r"(operand + 4), "r"(operand + 5));
            }
            if (kWhat == kLdmatrix)
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                             : "=r"(loaded[i][0]), "=r"(loaded[i][1]), "=r"(loaded[i][2]), "=r"(loaded[i][3]) : "r"(own + i * 512) : "memory");
            if (kWhat == kLds) asm volatile("ld.shared.u32 %0, [%1];" : "=r"(loaded[i][0]) : "r"(own + i * 512) : "memory");
            if (kWhat == kCopy) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(own + i * 512), "l"(from + i * 512) : "memory");
        }
        ++rounds;
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    if (lane_id() == 0) counts[warp_id()] = rounds;
    // Never true, which ptxas does not know: so it keeps what is computed.
    if (rounds == static_cast<u32>(duration)) counts[0] = fold(sums) ^ fold(loaded) ^ fold(words_of);
}

#define CHOSEN(WHAT)                                                                                            \
    extern "C" __global__ void __launch_bounds__(512) chosen_##WHAT(u64* counts, const char* data, int duration) { \
        chosen<WHAT>(counts, data, duration);                                                                   \
    }
CHOSEN(0) CHOSEN(1) CHOSEN(2) CHOSEN(3) CHOSEN(4) CHOSEN(5)
