// Where a MUFU waits: several of one warp one after another, and a memory instruction, or arithmetic, behind them.
#include "common.cuh"

enum Behind { kNothing = 0, kLds = 1, kLdmatrix = 2, kShuffle = 3, kSts = 4, kFadd = 5 };

// stamps[3 * warp]: cycles from the first MUFU's issue to the last one's, to that of what is behind, and to when its value
// can be used (a store's: to its issue). The first pass only fetches the code.
template <int kCount, int kBehind>
DEVICE void special(u64* stamps, int smsps, u32 zero) {
    __shared__ __align__(128) u32 words[4096];
    for (u32 i = threadIdx.x; i < 4096; i += blockDim.x) words[i] = 0;
    __syncthreads();
    if (!takes_part(smsps)) return;
    const u32 shared = shared_address(words) + lane_id() * 16;
    float of[1][16];
#pragma unroll
    for (int i = 0; i < 16; ++i) of[0][i] = static_cast<float>(zero) + i;
    u32 left = 0;
#pragma unroll 1
    for (int pass = 0; pass < 2; ++pass) {
        u32 found = threadIdx.x, more[3] = {0, 0, 0};
        float sum = static_cast<float>(zero);
        __syncwarp();
        const u64 begin = cycles();
#pragma unroll
        for (int i = 0; i < kCount; ++i) asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(of[0][i]) :: "memory");
        const u64 issued = cycles();
        if (kBehind == kLds) asm volatile("ld.shared.u32 %0, [%1];" : "=r"(found) : "r"(shared) : "memory");
        if (kBehind == kLdmatrix)
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                         : "=r"(found), "=r"(more[0]), "=r"(more[1]), "=r"(more[2]) : "r"(shared) : "memory");
        if (kBehind == kShuffle) asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 0x1f, 0xffffffff;" : "=r"(found) : "r"(zero) : "memory");
        if (kBehind == kSts) asm volatile("st.shared.u32 [%0], %1;" ::"r"(shared), "r"(zero) : "memory");
        if (kBehind == kFadd) asm volatile("add.rn.f32 %0, %0, %0;" : "+f"(sum) :: "memory");
        const u64 behind = cycles();
        u64 landed = behind;
        // The clock is read behind a branch on the loaded word: nothing else makes it wait for the load.
        if (kBehind == kLds || kBehind == kLdmatrix || kBehind == kShuffle) landed = found == 12345 ? 0 : cycles();
        if (lane_id() == 0) {
            u64* to = stamps + 3 * warp_id();
            to[0] = issued - begin, to[1] = behind - begin, to[2] = landed - begin;
        }
        left ^= found ^ more[0] ^ more[1] ^ more[2] ^ bits(sum) ^ fold(of);
    }
    if (left == 0xffffffff) stamps[0] = left;
}

#define SPECIAL(COUNT, BEHIND)                                                                                           \
    extern "C" __global__ void __launch_bounds__(1024) special_##COUNT##_##BEHIND(u64* stamps, int smsps, u32 zero) {     \
        special<COUNT, BEHIND>(stamps, smsps, zero);                                                                     \
    }
#define SPECIALS(COUNT) SPECIAL(COUNT, 0) SPECIAL(COUNT, 1) SPECIAL(COUNT, 2) SPECIAL(COUNT, 3) SPECIAL(COUNT, 4) SPECIAL(COUNT, 5)
SPECIALS(0) SPECIALS(1) SPECIALS(2) SPECIALS(3) SPECIALS(4) SPECIALS(6) SPECIALS(8) SPECIALS(12) SPECIALS(16)
