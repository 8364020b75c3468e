// How long a load or a copy takes that comes some cycles behind stores to global memory, of other warps of its SM.
#include "common.cuh"

enum What { kLoad = 0, kCopy = 1 };

constexpr int kStoring = 4;    // warps, one on each SMSP
constexpr int kRounds = 12;
constexpr u32 kOfWarp = 65536;  // bytes that a warp stores to, and reads from

// clocks[block * kRounds + round]: cycles from the read's issue until its data is there. Warps 0 to 3 issue kCount stores
// of 512 bytes each, all of lines of their own; warp 4 reads `delay` cycles after they began.
template <int kWhat, int kCount>
DEVICE void astern(u32* clocks, char* data, int delay) {
    __shared__ __align__(128) u32 words[kStoring * 128];
    const u32 warp = warp_id(), filled = shared_address(words) + lane_id() * 16;
    const u64 own = __cvta_generic_to_global(data) + static_cast<u64>(blockIdx.x) * (kStoring + 1) * kOfWarp + warp * kOfWarp + lane_id() * 16;
    const u32 value[4] = {warp, warp + 1, warp + 2, warp + 3};
    u32 folded = 0;
#pragma unroll 1
    for (int round = 0; round < kRounds; ++round) {
        // What was stored before has left.
        const u64 from = cycles();
        wait_until(from + 6000);
        __syncthreads();
        const u64 begin = cycles();
        if (warp < kStoring) {
#pragma unroll
            for (int i = 0; i < kCount; ++i) store_16(own + (i + round % 2 * kCount) * 512 % kOfWarp, value);
        } else {
            wait_until(begin + delay);
            const u64 issue = cycles();
            u32 word = 0;
            const u64 at = own + round * 512;
            if (kWhat == kLoad) asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(word) : "l"(at) : "memory");
            if (kWhat == kCopy) {
                asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(filled), "l"(at) : "memory");
                asm volatile("cp.async.wait_all;" ::: "memory");
                asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(filled) : "memory");
            }
            folded ^= word;
            u64 end = issue;
            if (folded != 0x1234567u) end = cycles();
            if (lane_id() == 0) clocks[blockIdx.x * kRounds + round] = static_cast<u32>(end - issue);
        }
    }
    if (folded == 0x9e3779b9u) clocks[0] = folded;
}

#define ASTERN(WHAT, COUNT)                                                                                           \
    extern "C" __global__ void __launch_bounds__(160) astern_##WHAT##_##COUNT(u32* c, char* d, int delay) {             \
        astern<WHAT, COUNT>(c, d, delay);                                                                               \
    }
#define COUNTS(WHAT) ASTERN(WHAT, 0) ASTERN(WHAT, 2) ASTERN(WHAT, 4) ASTERN(WHAT, 8) ASTERN(WHAT, 16) ASTERN(WHAT, 32)
COUNTS(0) COUNTS(1)
