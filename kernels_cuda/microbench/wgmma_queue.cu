// When a warpgroup issues wgmma, when they are done, and what fences, commits and waits between them cost.
#include "wgmma.cuh"

// What stands around each multiplication but the first fence, the last commit and the wait for all.
struct bare {
    static constexpr bool kFence = false, kCommit = false, kStamp = false;
    static constexpr int kPending = -1;
};
struct stamped : bare {
    static constexpr bool kStamp = true;
};
struct fenced : bare {
    static constexpr bool kFence = true;
};
struct committed : bare {
    static constexpr bool kCommit = true;
};
struct waited0 : committed {
    static constexpr int kPending = 0;
};
struct waited1 : committed {
    static constexpr int kPending = 1;
};
struct all1 : waited1 {  // as a main loop has them around a k tile
    static constexpr bool kFence = true;
};

constexpr u32 kABytes = 64 * kOperandRowBytes;

// stamps[warp]: begin, after each multiplication or after the last one alone, and when all are done; of the last of `rounds`.
// Warpgroup g begins g * `delay` cycles later than the first.
template <class Around, int kN, int kCount>
DEVICE void queue(u64* stamps, u64* state, u32 rounds, u32 delay) {
    const u32 shared = aligned_shared(), b_bytes = kN * kOperandRowBytes;
    write_fractions(shared, kABytes + b_bytes);
    const u64 a = descriptor(shared), b = descriptor(shared + kABytes);
    const u32 group = __shfl_sync(0xffffffff, threadIdx.x / 128, 0);
    float sums[kN / 2] = {};
    constexpr int kStamps = (Around::kStamp ? kCount : 1) + 2;
    u64 seen[kStamps] = {};
#pragma unroll 1
    for (u32 round = 0; round < rounds; ++round) {
        __syncthreads();
        wait_until(cycles() + kSettled / 4 + group * delay);
        if (!Around::kFence) fence_registers();
        seen[0] = cycles();
#pragma unroll
        for (int i = 0; i < kCount; ++i) {
            if (Around::kFence) fence_registers();
            Multiply<kN>::issue(sums, a + i % 4 * (kStepBytes / 16), b + i % 4 * (kStepBytes / 16));
            if (Around::kCommit || i == kCount - 1) commit_multiplies();
            if (Around::kPending >= 0) wait_multiplies<(Around::kPending < 0 ? 0 : Around::kPending)>();
            if (Around::kStamp) seen[1 + i] = cycles();
        }
        if (!Around::kStamp) seen[1] = cycles();
        wait_multiplies<0>();
        seen[kStamps - 1] = cycles();
    }
    if (lane_id() == 0)
#pragma unroll
        for (int i = 0; i < kStamps; ++i) stamps[warp_id() * kStamps + i] = seen[i];
    if (fold_sums(sums) == 0x9e3779b9) report(state, 4);
}

#define QUEUE(AROUND, N, COUNT)                                                             \
    extern "C" __global__ void __launch_bounds__(256) queue_##AROUND##_##N##_##COUNT(      \
        u64* stamps, u64* state, u32 rounds, u32 delay) {                                   \
        queue<AROUND, N, COUNT>(stamps, state, rounds, delay);                              \
    }
#define AROUND(KIND, N) QUEUE(KIND, N, 1) QUEUE(KIND, N, 8)
#define BARE(N)                                                                                                       \
    QUEUE(bare, N, 1) QUEUE(bare, N, 2) QUEUE(bare, N, 3) QUEUE(bare, N, 4) QUEUE(bare, N, 5) QUEUE(bare, N, 6)       \
    QUEUE(bare, N, 7) QUEUE(bare, N, 8) QUEUE(bare, N, 10) QUEUE(bare, N, 12) QUEUE(bare, N, 16) QUEUE(bare, N, 24)
#define ALL(N)                                                                                                        \
    BARE(N) QUEUE(stamped, N, 16) AROUND(fenced, N) AROUND(committed, N) AROUND(waited0, N) AROUND(waited1, N)        \
    AROUND(all1, N)
ALL(64) ALL(128) ALL(256)
