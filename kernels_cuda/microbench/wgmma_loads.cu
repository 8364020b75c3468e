// wgmma of one or two warpgroups beside boxes that TMA writes into shared memory, and beside other warps' LDS or STS.
#include "wgmma.cuh"

constexpr u32 kABytes = 64 * kOperandRowBytes;
constexpr u32 kBoxRows = 128, kBoxBytes = kBoxRows * 128, kColumn = 64, kColumns = 4;
constexpr int kPlaces = 4, kAccesses = 16, kGroup = 4;
constexpr u32 kWarpBytes = 2048;
constexpr u32 kMostTurns = 1 << 20;

// When the traffic is counted and when it ends, in cycles from its begin; the least cycles from one box, or from one turn of a
// warp's accesses, to the next.
struct Times {
    u32 counted, ended, pace;
};

struct Count {
    u64 begin, at;
    u32 turns;
};

// Turns of traffic until the time is over, `pace` cycles apart. Those of the first `counted` cycles count.
template <class Turn>
DEVICE Count keep_going(const Times& times, u32 pace, const u32& error, const Turn& turn) {
    Count found{cycles(), 0, 0};
    u64 now = found.begin, next = now;
#pragma unroll 1
    for (u32 turns = 0; now - found.begin < times.ended && turns < kMostTurns && error == 0;) {
        if (pace) {
            wait_until(next);
            next += pace;
        }
        turn(turns);
        ++turns;
        now = cycles();
        if (now - found.begin < times.counted) {
            found.at = now;
            found.turns = turns;
        }
    }
    return found;
}

struct none {
    static DEVICE Count run(const TensorMap*, u32, u32, u32, const Times&, u32&) { return {0, 0, 0}; }
};

// 16 bytes a lane, 512 of a warp side by side: four wavefronts.
struct lds {
    static DEVICE Count run(const TensorMap*, u32 shared, u32, u32 warp, const Times& times, u32& error) {
        const u32 from = shared + warp * kWarpBytes + lane_id() * 16;
        u32 folded = 0;
        const Count found = keep_going(times, times.pace, error, [&](u32) {
            u32 words[kAccesses][4];
#pragma unroll
            for (int i = 0; i < kAccesses; ++i)
                asm volatile("ld.volatile.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
                             : "=r"(words[i][0]), "=r"(words[i][1]), "=r"(words[i][2]), "=r"(words[i][3])
                             : "r"(from + i % 4 * 512));
            folded ^= fold(words);
        });
        if (folded == 0x9e3779b9) error |= 4;
        return found;
    }
};
struct sts {
    static DEVICE Count run(const TensorMap*, u32 shared, u32, u32 warp, const Times& times, u32& error) {
        const u32 to = shared + warp * kWarpBytes + lane_id() * 16;
        return keep_going(times, times.pace, error, [&](u32 turn) {
#pragma unroll
            for (int i = 0; i < kAccesses; ++i)
                asm volatile("st.volatile.shared.v4.u32 [%0], {%1,%1,%1,%1};" ::"r"(to + i % 4 * 512), "r"(turn) : "memory");
        });
    }
};

// Boxes of 128 rows of 128 bytes, swizzled, in the L2. A turn renews each of the places' boxes, once it has landed.
struct tma {
    static DEVICE Count run(const TensorMap* map, u32 shared, u32 barriers, u32 warp, const Times& times, u32& error) {
        if (warp != 0 || !elected()) return {0, 0, 0};
        const u32 row = sm_id() * 2 * kBoxRows;
        prefetch(map);
        u64 next = cycles();
        const auto issue = [&](u32 turn, int i) {
            if (times.pace) {
                wait_until(next);
                next += times.pace;
            }
            arrive_expecting(barriers + 8 * i, kBoxBytes);
            load_box(shared + i * kBoxBytes, map, i % kColumns * kColumn, row + (turn & 1) * kBoxRows, barriers + 8 * i);
        };
#pragma unroll
        for (int i = 0; i < kPlaces; ++i) issue(0, i);
        u32 done = 0;
        const Count found = keep_going(times, 0, error, [&](u32 turn) {
#pragma unroll
            for (int i = 0; i < kPlaces; ++i) {
                wait(barriers + 8 * i, turn & 1, error);
                issue(turn + 1, i);
            }
            ++done;
        });
#pragma unroll
        for (int i = 0; i < kPlaces; ++i) wait(barriers + 8 * i, done & 1, error);
        return found;
    }
};

// seen[warp]: begin, turns and end, of the warps of multiplying warpgroups and of the counted traffic of the other ones.
// With no trips nothing multiplies. Behind each group of four multiplications at most that one is on its way.
template <class Traffic, int kN, int kWarpgroups>
DEVICE void beside(u64* seen, u64* state, const TensorMap* map, const Times& times, u32 trips) {
    __shared__ u64 words[kPlaces];
    const u32 shared = aligned_shared(), barriers = shared_address(words);
    constexpr u32 kOperands = kWarpgroups * kABytes + kN * kOperandRowBytes;
    write_fractions(shared, kOperands + kPlaces * kBoxBytes);
    u32 error = 0;
    if (threadIdx.x == 0) {
#pragma unroll
        for (int i = 0; i < kPlaces; ++i) init_barrier(barriers + 8 * i, 1);
        publish_barriers();
        meet(state, 0, error);
    }
    __syncthreads();
    const u32 warp = __shfl_sync(0xffffffff, warp_id(), 0), all = blockIdx.x * (blockDim.x / 32) + warp;
    if (warp >= 4 * kWarpgroups) {
        const Count found = Traffic::run(map, shared + kOperands, barriers, warp - 4 * kWarpgroups, times, error);
        if (found.turns != 0) {
            seen[3 * all] = found.begin;
            seen[3 * all + 1] = found.turns;
            seen[3 * all + 2] = found.at;
        }
    } else if (trips != 0) {
        const u64 a = descriptor(shared + warp / 4 * kABytes), b = descriptor(shared + kWarpgroups * kABytes);
        float sums[kN / 2] = {};
        u64 begin = 0;
#pragma unroll 1
        for (u32 trip = 0; trip <= trips; ++trip) {
            if (trip == 1) begin = cycles();
            fence_registers();
#pragma unroll
            for (int i = 0; i < kGroup; ++i) Multiply<kN>::issue(sums, a + i * (kStepBytes / 16), b + i * (kStepBytes / 16));
            commit_multiplies();
            wait_multiplies<1>();
        }
        wait_multiplies<0>();
        const u64 end = cycles();
        if (fold_sums(sums) == 0x9e3779b9) error |= 4;
        if (lane_id() == 0) {
            seen[3 * all] = begin;
            seen[3 * all + 2] = end;
        }
    }
    report(state, error);
}

#define BESIDE(TRAFFIC, N, WARPGROUPS, THREADS)                                                 \
    extern "C" __global__ void __launch_bounds__(THREADS) TRAFFIC##_##N##_##WARPGROUPS(         \
        u64* seen, u64* state, const __grid_constant__ TensorMap map, Times times, u32 trips) { \
        beside<TRAFFIC, N, WARPGROUPS>(seen, state, &map, times, trips);                        \
    }
#define TRAFFICS(N, WARPGROUPS, THREADS)                                            \
    BESIDE(none, N, WARPGROUPS, THREADS) BESIDE(lds, N, WARPGROUPS, THREADS)        \
    BESIDE(sts, N, WARPGROUPS, THREADS) BESIDE(tma, N, WARPGROUPS, THREADS)
TRAFFICS(64, 1, 384) TRAFFICS(128, 1, 384) TRAFFICS(256, 1, 384) TRAFFICS(64, 2, 512) TRAFFICS(128, 2, 512)
