// When a load from shared memory passes that is behind a barrier, and behind what other SMSPs have issued before that.
#include "common.cuh"

enum What { kSts4 = 0, kStg4 = 1, kCopy = 2 };

constexpr u32 kWarpBytes = 4096;  // of shared memory
constexpr int kPitch = 4096;      // bytes from one row of a copy to the next

// Every warp of SMSPs 1 to 3 issues kCount instructions, copies of rows of kRow bytes. The last warp, of SMSP 0, whose other
// warps issue none, meets them at a barrier behind that (kBarrier), from `delay` cycles on, and then loads a word from shared
// memory. stamps[warp][3]: the clock before, behind the barrier, and when the word has come, of use for the last warp alone.
template <int kWhat, int kCount, int kRow, int kBarrier>
DEVICE void arrived(u64* stamps, char* data, u32 one, u32 delay) {
    extern __shared__ __align__(128) char words[];
    for (u32 i = threadIdx.x * 4; i < blockDim.x / 32 * kWarpBytes; i += blockDim.x * 4) *reinterpret_cast<u32*>(words + i) = one;
    constexpr u32 kEach = kRow / 16;
    constexpr int kStep = 32 / kEach * kPitch;
    const u32 own = shared_address(words) + warp_id() * kWarpBytes + lane_id() * 16;
    const u32 word = shared_address(words) + warp_id() * kWarpBytes + lane_id() * 4;
    u64 at = __cvta_generic_to_global(data) + warp_id() * (kCount * kStep) + lane_id() / kEach * kPitch + lane_id() % kEach * 16;
    u32 value[4], found = one;
    // Zeros that ptxas can neither foresee nor make anew.
    for (u32& each : value) each = static_cast<u32>(cycles() >> 63);
    u64 begin = 0, released = 0, landed = 0;
#pragma unroll 1
    for (int pass = 0; pass < 3; ++pass) {
        __syncthreads();
        const u64 first = cycles() + one;
        wait_until(first + 4096);  // what the pass before has stored has left
        __syncthreads();
        branch_on(one + static_cast<u32>(first >> 63));
        begin = cycles();
        found = one + static_cast<u32>(begin >> 63);  // which is one, but ptxas does not know
        if (warp_id() == blockDim.x / 32 - 1) {
            wait_until(begin + delay);
            if (kBarrier) asm volatile("bar.sync 0;" ::: "memory");
            branch_on(found);
            released = cycles();
            asm volatile("ld.shared.u32 %0, [%1];" : "=r"(found) : "r"(word) : "memory");
            branch_on(found + 1);
            landed = cycles();
        } else if (warp_id() % 4 == 0) {
            if (kBarrier) asm volatile("bar.sync 0;" ::: "memory");
        } else {
#pragma unroll
            for (int i = 0; i < kCount; ++i) {
                if (kWhat == kSts4) asm volatile("st.shared.v4.u32 [%0], {%1,%2,%3,%4};" ::"r"(own + i * 512), "r"(value[0]), "r"(value[1]), "r"(value[2]), "r"(value[3]) : "memory");
                if (kWhat == kStg4) store_16(at + i * kStep, value);
                if (kWhat == kCopy) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(own + i * 512), "l"(at + i * kStep) : "memory");
            }
            if (kBarrier) asm volatile("bar.sync 0;" ::: "memory");
        }
        asm volatile("cp.async.wait_all;" ::: "memory");
    }
    // Stamps are stored when nobody is timed any more.
    wait_until(cycles() + 4096);
    if (lane_id() == 0) {
        stamps[warp_id() * 3] = begin;
        stamps[warp_id() * 3 + 1] = released;
        stamps[warp_id() * 3 + 2] = landed;
    }
    if (begin == landed) stamps[0] = value[0] ^ 2 * value[1] ^ 3 * value[2] ^ 5 * value[3] ^ found;  // never true
}

#define ARRIVED(WHAT, COUNT, ROW, BARRIER)                                                                                     \
    extern "C" __global__ void __launch_bounds__(288) arrived_##WHAT##_##COUNT##_##ROW##_##BARRIER(u64* stamps, char* data,    \
                                                                                                  u32 one, u32 delay) {        \
        arrived<WHAT, COUNT, ROW, BARRIER>(stamps, data, one, delay);                                                          \
    }
#define BOTH(WHAT, COUNT, ROW) ARRIVED(WHAT, COUNT, ROW, 0) ARRIVED(WHAT, COUNT, ROW, 1)
#define COUNTS(WHAT, ROW) BOTH(WHAT, 2, ROW) BOTH(WHAT, 4, ROW) BOTH(WHAT, 8, ROW)
BOTH(0, 0, 512)
COUNTS(0, 512) COUNTS(1, 512) COUNTS(2, 512) COUNTS(2, 128) COUNTS(2, 64) COUNTS(2, 32)
