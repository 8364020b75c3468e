// When a burst of memory instructions lets go of its registers, and when a load behind it has its value.
#include "common.cuh"

enum What { kCopy = 0, kCopyThroughL1 = 1, kLdmatrix = 2, kLdg4 = 3, kLds = 4, kSts4 = 5, kStg4 = 6 };

constexpr int kPitch = 4096;      // bytes from one row of a copy to the next
constexpr u32 kOwn = 4096;        // bytes of shared memory of a warp
constexpr int kChain = 12;         // loads of a chain
constexpr u32 kSharedBytes = 9 * kOwn;

enum Behind { kOverwrite = 0, kLoad = 1, kChainBeside = 2 };

// A burst of kCount by every warp at once, behind kAhead ldmatrix.x4. Then its address registers are overwritten, or a word is
// loaded from shared memory and used, or the warps of one SMSP have no burst, but load from shared memory one word after the
// other. One register of each address and constant offsets, so that ptxas moves none.
// Loads from and stores to global memory have an address of their own, which is not: theirs end with their issue.
// stamps[warp][3]: the clock before, after that, and when all has landed.
template <int kWhat, int kCount, int kAhead, int kRow, int kBehind>
DEVICE void held(u64* stamps, char* data, u32 one) {
    __shared__ __align__(128) char words[kSharedBytes];
    for (u32 i = threadIdx.x * 4; i < kSharedBytes; i += blockDim.x * 4) *reinterpret_cast<u32*>(words + i) = i;
    constexpr u32 kEach = kRow / 16;
    constexpr int kStep = 32 / kEach * kPitch;
    u32 to = shared_address(words) + warp_id() % 8 * kOwn + lane_id() * 16;
    const u32 other = shared_address(words) + 8 * kOwn + lane_id() * 16;
    u64 from = __cvta_generic_to_global(data) + warp_id() * (kCount * kStep) + lane_id() / kEach * kPitch + lane_id() % kEach * 16;
    u32 early = 0, loaded[kCount][4] = {}, before[kAhead + 1][4] = {}, left = 0;
    const u32 value = threadIdx.x;
    u64 begin = 0, then = 0, landed = 0;
#pragma unroll 1
    for (int pass = 0; pass < 3; ++pass) {
        __syncthreads();
        // A load waits for the barrier, which a clock does not.
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(early) : "r"(other) : "memory");
        begin = cycles();
        if (kBehind == kChainBeside && warp_id() % 4 == 3) {
            u32 at = other;
#pragma unroll 1
            for (int i = 0; i < kChain; ++i) {
                u32 found;
                asm volatile("ld.shared.u32 %0, [%1];" : "=r"(found) : "r"(at) : "memory");
                at += found >> 31;
            }
            left ^= at;
            asm volatile("{.reg .pred p; setp.eq.u32 p, %0, 0; @p trap;}" ::"r"(at) : "memory");
            then = landed = cycles();
            continue;
        }
#pragma unroll
        for (int i = 0; i < kAhead; ++i)
            ldmatrix_x4(before[i], other + i * 512);
#pragma unroll
        for (int i = 0; i < kCount; ++i) {  // the last from the register that is overwritten
            if (kWhat == kCopy) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + i * 512), "l"(from + (kCount - 1 - i) * kStep) : "memory");
            if (kWhat == kCopyThroughL1) asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(to + i * 512), "l"(from + (kCount - 1 - i) * kStep) : "memory");
            if (kWhat == kLdmatrix)
                ldmatrix_x4(loaded[i], to + i * 512);
            if (kWhat == kLdg4)
                asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(loaded[i][0]), "=r"(loaded[i][1]), "=r"(loaded[i][2]), "=r"(loaded[i][3]) : "l"(from + (kCount - 1 - i) * kStep) : "memory");
            if (kWhat == kLds) asm volatile("ld.shared.u32 %0, [%1];" : "=r"(loaded[i][0]) : "r"(to + i * 512) : "memory");
            if (kWhat == kSts4) asm volatile("st.shared.v4.u32 [%0], {%1,%1,%1,%1};" ::"r"(to + i * 512), "r"(value) : "memory");
            if (kWhat == kStg4) asm volatile("st.global.v4.u32 [%0], {%1,%1,%1,%1};" ::"l"(from + (kCount - 1 - i) * kStep), "r"(value) : "memory");
        }
        if (kBehind == kLoad) {
            u32 found;
            asm volatile("ld.shared.u32 %0, [%1];" : "=r"(found) : "r"(other) : "memory");
            asm volatile("mad.lo.u32 %0, %1, %2, %0;" : "+r"(left) : "r"(found), "r"(one));
        } else {
            // What is added is 0, which ptxas does not know: so it adds behind the burst, and in place. The clock comes after.
            to += static_cast<u32>(cycles() >> 63);
            asm volatile("{.reg .pred p; setp.eq.u32 p, %0, 0; @p trap;}" ::"r"(to) : "memory");
        }
        then = cycles();
        asm volatile("cp.async.wait_all;" ::: "memory");
        left ^= early ^ fold(loaded) ^ fold(before);
        landed = cycles();
    }
    if (lane_id() == 0) {
        stamps[warp_id() * 3] = begin;
        stamps[warp_id() * 3 + 1] = then;
        stamps[warp_id() * 3 + 2] = landed;
    }
    // Never true, which ptxas does not know: so it keeps what is loaded.
    if (begin == landed) stamps[0] = left ^ to ^ static_cast<u32>(from);
}

#define HELD(WHAT, COUNT, AHEAD, ROW, BEHIND)                                                                                  \
    extern "C" __global__ void __launch_bounds__(256) held_##WHAT##_##COUNT##_##AHEAD##_##ROW##_##BEHIND(u64* s, char* d, u32 o) { \
        held<WHAT, COUNT, AHEAD, ROW, BEHIND>(s, d, o);                                                                        \
    }
#define BOTH(WHAT, COUNT, AHEAD, ROW) HELD(WHAT, COUNT, AHEAD, ROW, 0) HELD(WHAT, COUNT, AHEAD, ROW, 1)
#define COUNTS(WHAT, ROW) BOTH(WHAT, 1, 0, ROW) BOTH(WHAT, 2, 0, ROW) BOTH(WHAT, 3, 0, ROW) BOTH(WHAT, 4, 0, ROW) BOTH(WHAT, 8, 0, ROW) BOTH(WHAT, 1, 4, ROW)
#define ROWS(WHAT) COUNTS(WHAT, 512) COUNTS(WHAT, 128) COUNTS(WHAT, 64) COUNTS(WHAT, 32)
ROWS(0) ROWS(1) ROWS(3)
#define BESIDE(WHAT) HELD(WHAT, 8, 0, 512, 2) HELD(WHAT, 8, 0, 128, 2) HELD(WHAT, 8, 0, 64, 2) HELD(WHAT, 8, 0, 32, 2)
BESIDE(0) BESIDE(1) BESIDE(3)
COUNTS(2, 512) COUNTS(4, 512) COUNTS(5, 512) COUNTS(6, 512)
HELD(2, 8, 0, 512, 2) HELD(4, 8, 0, 512, 2) HELD(5, 8, 0, 512, 2) HELD(6, 8, 0, 512, 2)
