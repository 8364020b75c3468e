// mbarriers within a CTA and across a cluster, named barriers, and setmaxnreg.
#include "hopper.cuh"

constexpr int kUnrolled = 8;

// A lane of a warp writes seen[warp][reading].
DEVICE void note(u64* seen, int readings, int reading, u64 clock) { seen[warp_id() * readings + reading] = clock; }

// Begin and end of `trips` times kUnrolled rounds by one thread: it arrives, and waits for the phase.
struct own_arrive {
    static DEVICE void round(u32 barrier, u32 phase, u32& error) {
        arrive(barrier);
        wait(barrier, phase, error);
    }
};
// It arrives and expects bytes, and completes them itself.
struct own_bytes {
    static DEVICE void round(u32 barrier, u32 phase, u32& error) {
        arrive_expecting(barrier, 128);
        complete_bytes(barrier, 128);
        wait(barrier, phase, error);
    }
};
// It arrives nine times, and waits for the phase, which has as many arrivals.
struct own_arrivals {
    static constexpr u32 kCount = 9;
    static DEVICE void round(u32 barrier, u32 phase, u32& error) {
#pragma unroll
        for (u32 i = 0; i < kCount; ++i) arrive(barrier);
        wait(barrier, phase, error);
    }
};

template <class Kind>
DEVICE void alone(u64* seen, u64* state, u32 trips, u32 arrivals) {
    __shared__ u64 word;
    const u32 barrier = shared_address(&word);
    if (!elected()) return;
    init_barrier(barrier, arrivals);
    publish_barriers();
    u32 error = 0;
    u64 begin = 0;
#pragma unroll 1
    for (u32 trip = 0; trip <= trips; ++trip) {
        if (trip == 1) begin = cycles();
#pragma unroll
        for (int i = 0; i < kUnrolled; ++i) Kind::round(barrier, i & 1, error);
    }
    note(seen, 2, 0, begin);
    note(seen, 2, 1, cycles());
    report(state, error);
}

extern "C" __global__ void __launch_bounds__(32) alone_arrive(u64* seen, u64* state, u32 trips) {
    alone<own_arrive>(seen, state, trips, 1);
}
extern "C" __global__ void __launch_bounds__(32) alone_bytes(u64* seen, u64* state, u32 trips) {
    alone<own_bytes>(seen, state, trips, 1);
}
extern "C" __global__ void __launch_bounds__(32) alone_arrivals(u64* seen, u64* state, u32 trips) {
    alone<own_arrivals>(seen, state, trips, own_arrivals::kCount);
}

// Eight barriers in a row: all are arrived at, then all are waited for. Begin, behind the arrivals, behind the waits.
extern "C" __global__ void __launch_bounds__(32) alone_row(u64* seen, u64* state, u32 trips) {
    __shared__ u64 words[kUnrolled];
    const u32 barriers = shared_address(words);
    if (!elected()) return;
#pragma unroll
    for (int i = 0; i < kUnrolled; ++i) init_barrier(barriers + 8 * i, 1);
    publish_barriers();
    u32 error = 0;
    u64 begin = 0, arrived = 0, end = 0;
#pragma unroll 1
    for (u32 trip = 0; trip < trips; ++trip) {
        begin = cycles();
#pragma unroll
        for (int i = 0; i < kUnrolled; ++i) arrive(barriers + 8 * i);
        arrived = cycles();
#pragma unroll
        for (int i = 0; i < kUnrolled; ++i) wait(barriers + 8 * i, trip & 1, error);
        end = cycles();
    }
    note(seen, 3, 0, begin);
    note(seen, 3, 1, arrived);
    note(seen, 3, 2, end);
    report(state, error);
}

// One way: a lane of warp 0 reads the clock and arrives; a lane of warp `other` polls, and reads it when the phase is over. Both
// readings are of one SM. With bytes, the lane arrived before, and completes the bytes that it expected. Of the last round.
template <bool kBytes>
DEVICE void one_way(u64* seen, u64* state, u32 rounds, u32 other) {
    __shared__ u64 word;
    const u32 barrier = shared_address(&word), warp = __shfl_sync(0xffffffff, warp_id(), 0);
    if (threadIdx.x == 0) {
        init_barrier(barrier, 1);
        publish_barriers();
    }
    u32 error = 0;
    u64 clock = 0;
#pragma unroll 1
    for (u32 round = 0; round < rounds; ++round) {
        __syncthreads();
        if (warp == 0) {
            if (elected()) {
                if (kBytes) arrive_expecting(barrier, 128);
                wait_until(cycles() + kSettled / 8);
                clock = cycles();
                if (kBytes) complete_bytes(barrier, 128);
                else arrive(barrier);
            }
        } else if (warp == other) {
            if (elected()) {
                wait(barrier, round & 1, error);
                clock = cycles();
            }
        }
    }
    if (clock != 0) note(seen, 1, 0, clock);
    report(state, error);
}
extern "C" __global__ void __launch_bounds__(256) way_arrive(u64* seen, u64* state, u32 rounds, u32 other) {
    one_way<false>(seen, state, rounds, other);
}
extern "C" __global__ void __launch_bounds__(256) way_bytes(u64* seen, u64* state, u32 rounds, u32 other) {
    one_way<true>(seen, state, rounds, other);
}

// Round trips of two lanes, of warp 0 and of warp `other`: one arrives at the other's barrier, which waits and arrives in turn.
extern "C" __global__ void __launch_bounds__(256) trip_warps(u64* seen, u64* state, u32 trips, u32 other) {
    __shared__ u64 words[2];
    const u32 barriers = shared_address(words), warp = __shfl_sync(0xffffffff, warp_id(), 0);
    if (threadIdx.x == 0) {
        init_barrier(barriers, 1);
        init_barrier(barriers + 8, 1);
        publish_barriers();
    }
    __syncthreads();
    if ((warp != 0 && warp != other) || !elected()) return;
    const u32 mine = barriers + (warp == 0 ? 0 : 8), theirs = barriers + (warp == 0 ? 8 : 0);
    u32 error = 0;
    u64 begin = 0;
#pragma unroll 1
    for (u32 trip = 0; trip <= trips; ++trip) {
        if (trip == 1) begin = cycles();
#pragma unroll
        for (int i = 0; i < kUnrolled; ++i) {
            if (warp == 0) arrive(theirs);
            wait(mine, i & 1, error);
            if (warp != 0) arrive(theirs);
        }
    }
    note(seen, 2, 0, begin);
    note(seen, 2, 1, cycles());
    report(state, error);
}

// The same across a cluster: CTA 0 and the last one; and all CTAs arrive at all CTAs' barriers and wait for their own.
template <bool kReleasing>
DEVICE void arrive_there(u32 address) {
    if (kReleasing) arrive_releasing(address);
    else arrive_remotely(address);
}

template <int kCluster, bool kAll, bool kReleasing>
DEVICE void across(u64* seen, u64* state, u32 trips) {
    __shared__ u64 word;
    const u32 barrier = shared_address(&word), rank = cluster_rank();
    if (threadIdx.x == 0) {
        init_barrier(barrier, kAll ? kCluster : 1);
        publish_barriers();
    }
    sync_cluster();
    u32 error = 0;
    u64 begin = 0, end = 0;
    if (elected() && (kAll || rank == 0 || rank == kCluster - 1)) {
        u32 peers[kCluster];
#pragma unroll
        for (int i = 0; i < kCluster; ++i) peers[i] = address_in(barrier, i);
        const u32 other = address_in(barrier, kCluster - 1 - rank);
#pragma unroll 1
        for (u32 trip = 0; trip <= trips; ++trip) {
            if (trip == 1) begin = cycles();
#pragma unroll
            for (int i = 0; i < kUnrolled; ++i) {
                if (kAll) {
#pragma unroll
                    for (int peer = 0; peer < kCluster; ++peer) arrive_there<kReleasing>(peers[peer]);
                } else if (rank == 0) {
                    arrive_there<kReleasing>(other);
                }
                wait(barrier, i & 1, error);
                if (!kAll && rank != 0) arrive_there<kReleasing>(other);
            }
        }
        end = cycles();
        seen[2 * blockIdx.x] = begin;
        seen[2 * blockIdx.x + 1] = end;
        report(state, error);
    }
    __syncwarp();
    sync_cluster();
}
#define ACROSS(NAME, CLUSTER, ALL, RELEASING) \
    extern "C" __cluster_dims__(CLUSTER, 1, 1) __global__ void __launch_bounds__(32) NAME##_##CLUSTER( \
        u64* seen, u64* state, u32 trips) { \
        across<CLUSTER, ALL, RELEASING>(seen, state, trips); \
    }
ACROSS(remote_pair, 2, false, false) ACROSS(remote_pair, 4, false, false)
ACROSS(remote_all, 2, true, false) ACROSS(remote_all, 4, true, false)
ACROSS(remote_releasing, 2, false, true) ACROSS(remote_releasing, 4, false, true)

// All threads of a CTA arrive at an mbarrier and wait, or sync at a named barrier: `trips` times kUnrolled rounds of each warp.
extern "C" __global__ void __launch_bounds__(512) group_mbarrier(u64* seen, u64* state, u32 trips) {
    __shared__ u64 word;
    const u32 barrier = shared_address(&word);
    if (threadIdx.x == 0) {
        init_barrier(barrier, blockDim.x);
        publish_barriers();
    }
    __syncthreads();
    u32 error = 0;
    u64 begin = 0;
#pragma unroll 1
    for (u32 trip = 0; trip <= trips; ++trip) {
        if (trip == 1) begin = cycles();
#pragma unroll
        for (int i = 0; i < kUnrolled; ++i) {
            arrive(barrier);
            wait(barrier, i & 1, error);
        }
    }
    const u64 end = cycles();
    if (lane_id() == 0) {
        note(seen, 2, 0, begin);
        note(seen, 2, 1, end);
    }
    report(state, error);
}

// The bounds of a named barrier's threads are constants, as in kernels.
template <int kThreads, class Round>
DEVICE void named(u64* seen, u32 trips, const Round& round) {
    u64 begin = 0;
#pragma unroll 1
    for (u32 trip = 0; trip <= trips; ++trip) {
        if (trip == 1) begin = cycles();
#pragma unroll
        for (int i = 0; i < kUnrolled; ++i) round();
    }
    const u64 end = cycles();
    if (lane_id() == 0) {
        note(seen, 2, 0, begin);
        note(seen, 2, 1, end);
    }
}

template <int kBarrier, int kThreads>
DEVICE void sync_named() { asm volatile("barrier.sync %0, %1;" ::"n"(kBarrier), "n"(kThreads) : "memory"); }
template <int kBarrier, int kThreads>
DEVICE void arrive_named() { asm volatile("barrier.arrive %0, %1;" ::"n"(kBarrier), "n"(kThreads) : "memory"); }

// Two halves of a CTA in turn, as two warpgroups pass an order on: the first arrives at barrier 2 and syncs at barrier 1, the second
// syncs at barrier 2 and arrives at barrier 1.
#define NAMED(THREADS) \
    extern "C" __global__ void __launch_bounds__(THREADS) group_named_##THREADS(u64* seen, u64*, u32 trips) { \
        named<THREADS>(seen, trips, [] { sync_named<1, THREADS>(); }); \
    }
#define HALVES(THREADS) \
    extern "C" __global__ void __launch_bounds__(THREADS) halves_named_##THREADS(u64* seen, u64*, u32 trips) { \
        if (__shfl_sync(0xffffffff, threadIdx.x / (THREADS / 2), 0) == 0) \
            named<THREADS>(seen, trips, [] { arrive_named<2, THREADS>(), sync_named<1, THREADS>(); }); \
        else \
            named<THREADS>(seen, trips, [] { sync_named<2, THREADS>(), arrive_named<1, THREADS>(); }); \
    }
NAMED(64) NAMED(128) NAMED(256) NAMED(384)
HALVES(64) HALVES(128) HALVES(256)

// setmaxnreg: warpgroup 0 gives registers back `delay` cycles after all have begun, the others take them at once. Begin and end of
// each warp's instruction. A kernel of 384 threads has 168 each; 24 and 240 are 504 as well.
extern "C" __global__ void __launch_bounds__(384, 1) registers_moved(u64* seen, u64*, u32 delay) {
    const u32 group = __shfl_sync(0xffffffff, threadIdx.x / 128, 0);
    __syncthreads();
    const u64 start = cycles() + kSettled;
    if (group == 0) {
        wait_until(start + delay);
        const u64 begin = cycles();
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;" ::: "memory");
        const u64 end = cycles();
        if (lane_id() == 0) {
            note(seen, 2, 0, begin);
            note(seen, 2, 1, end);
        }
    } else {
        wait_until(start);
        const u64 begin = cycles();
        asm volatile("setmaxnreg.inc.sync.aligned.u32 240;" ::: "memory");
        const u64 end = cycles();
        if (lane_id() == 0) {
            note(seen, 2, 0, begin);
            note(seen, 2, 1, end);
        }
    }
}
