// What a load from shared memory waits for behind accesses that other warps of its SM have issued just before it.
#include "common.cuh"

enum What { kSts = 0, kLds = 1, kAtoms = 2, kLdmatrix = 3 };

constexpr int kRepeats = 8;
constexpr u32 kWords = 12288 / 4;
constexpr u32 kApart = 512;  // whole rows of banks: ptxas drops all but one access to one address

template <int kWhat>
DEVICE void access(u32 address, u32 value, u32 (&loaded)[4]) {
    if (kWhat == kSts) asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
    if (kWhat == kLds) asm volatile("ld.shared.u32 %0, [%1];" : "=r"(loaded[0]) : "r"(address) : "memory");
    if (kWhat == kAtoms) asm volatile("red.shared.xor.b32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
    if (kWhat == kLdmatrix)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(loaded[0]), "=r"(loaded[1]), "=r"(loaded[2]), "=r"(loaded[3])
                     : "r"(address)
                     : "memory");
}

// Warps 0 to 3, one on each SMSP, issue kCount accesses each, those of the first `busy` SMSPs. The warp that loads is the
// second one of SMSP `loader`; it begins `delay` cycles after them. stamps[warp][repeat]: cycles of the issue, or of the load.
template <int kWhat, int kCount>
DEVICE void ahead(u32* stamps, u32 lane_bytes, int busy, int loader, u32 delay, u32 seed) {
    __shared__ __align__(128) u32 words[kWords];
    for (u32 i = threadIdx.x; i < kWords; i += blockDim.x) words[i] = i;
    __syncthreads();
    const u32 warp = warp_id();
    const u32 address = shared_address(words) + lane_id() * lane_bytes;
    const u32 word = shared_address(words) + lane_id() * 4;
    u32 loaded[kCount ? kCount : 1][4] = {};
    u32 left = 0, taken = 0;
#pragma unroll 1
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
        const u64 resting = cycles();
        while (cycles() - resting < 4000) {}
        __syncthreads();
        const u64 synchronised = cycles();
        if (warp < 4 && static_cast<int>(warp) < busy) {
            while (cycles() - synchronised < 100) {}
            const u64 begin = cycles();
#pragma unroll
            for (int i = 0; i < kCount; ++i) access<kWhat>(address + i * kApart, seed + i, loaded[i]);
            taken = static_cast<u32>(cycles() - begin);
        }
        if (static_cast<int>(warp) == 4 + loader) {
            while (cycles() - synchronised < 100 + delay) {}
            const u64 begin = cycles();
            u32 value;
            asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(word) : "memory");
            u64 end;
            // The clock is read behind a branch on what is loaded: nothing else makes it wait.
            if (value != 0x9e3779b9u) end = cycles(); else end = 0;
            taken = static_cast<u32>(end - begin);
            left ^= value;
        }
        if (lane_id() == 0) stamps[warp * kRepeats + repeat] = taken;
        left ^= fold(loaded);
    }
    if (seed == 0x9e3779b9u) stamps[0] = left;
}

#define AHEAD(WHAT, COUNT)                                                                                          \
    extern "C" __global__ void __launch_bounds__(256) ahead_##WHAT##_##COUNT(u32* stamps, u32 lane_bytes, int busy, \
                                                                             int loader, u32 delay, u32 seed) {     \
        ahead<WHAT, COUNT>(stamps, lane_bytes, busy, loader, delay, seed);                                          \
    }
#define COUNTS(WHAT) AHEAD(WHAT, 0) AHEAD(WHAT, 1) AHEAD(WHAT, 2) AHEAD(WHAT, 4) AHEAD(WHAT, 8) AHEAD(WHAT, 14)
COUNTS(0) COUNTS(1) COUNTS(2) COUNTS(3)
