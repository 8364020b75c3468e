// cp.async: what a burst costs to issue, when it is done, what commit and an empty wait cost, and the steady rate.
#include "common.cuh"

template <int kBytes, bool kBypass>
DEVICE void copy(u32 shared, u64 global, int shared_offset, int global_offset) {
    if (kBypass)
        asm volatile("cp.async.cg.shared.global [%0], [%1], %2;" ::"r"(shared + shared_offset), "l"(global + global_offset), "n"(kBytes) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared + shared_offset), "l"(global + global_offset), "n"(kBytes) : "memory");
}
DEVICE void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int kPending>
DEVICE void wait() { asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory"); }

constexpr int kStamps = 4;
constexpr int kMaxRepetitions = 32;

// stamps[(warp * repetitions + repetition) * 4 + i]: before the copies, after them, after the commit, after the wait.
// Lane l reads lane_bytes * l on from the CTA's place, each copy 512 bytes after the last, each repetition
// repetition_bytes after the last; in shared memory the lanes stand shared_lane_bytes apart.
template <int kBytes, bool kBypass, int kCopies>
DEVICE void burst(u64* stamps, const char* data, int repetitions, u32 lane_bytes, u32 repetition_bytes,
                  u32 shared_lane_bytes) {
    __shared__ __align__(128) char target[16384];
    __shared__ u64 seen[32 * kMaxRepetitions * kStamps / 4];
    const u32 shared = shared_address(target) + lane_id() * shared_lane_bytes;
    u64 global = __cvta_generic_to_global(data) + lane_id() * lane_bytes + warp_id() * 16384;
#pragma unroll 1
    for (int repetition = 0; repetition < repetitions; ++repetition) {
        __syncthreads();
        const u64 t0 = cycles();
#pragma unroll
        for (int i = 0; i < kCopies; ++i) copy<kBytes, kBypass>(shared, global, i % 4 * 4096, i * 512);
        const u64 t1 = cycles();
        commit();
        const u64 t2 = cycles();
        wait<0>();
        const u64 t3 = cycles();
        global += repetition_bytes;
        if (lane_id() == 0) {
            u64* to = seen + (warp_id() * repetitions + repetition) * kStamps;
            to[0] = t0, to[1] = t1, to[2] = t2, to[3] = t3;
        }
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < blockDim.x / 32 * repetitions * kStamps; i += blockDim.x) stamps[i] = seen[i];
}

#define BURST(BYTES, OP, BYPASS, COPIES)                                                                          \
    extern "C" __global__ void __launch_bounds__(256)                                                             \
        burst_##OP##_##BYTES##_##COPIES(u64* stamps, const char* data, int repetitions, u32 lane_bytes,           \
                                        u32 repetition_bytes, u32 shared_lane_bytes) {                            \
        burst<BYTES, BYPASS, COPIES>(stamps, data, repetitions, lane_bytes, repetition_bytes, shared_lane_bytes); \
    }
#define BURSTS(BYTES, OP, BYPASS)                                                                                 \
    BURST(BYTES, OP, BYPASS, 1) BURST(BYTES, OP, BYPASS, 2) BURST(BYTES, OP, BYPASS, 4) BURST(BYTES, OP, BYPASS, 8) \
    BURST(BYTES, OP, BYPASS, 16) BURST(BYTES, OP, BYPASS, 32)
BURST(16, cg, true, 0)
BURSTS(16, cg, true) BURSTS(16, ca, false) BURSTS(8, ca, false) BURSTS(4, ca, false)

// Groups of eight copies, two groups in flight.
template <int kBytes, bool kBypass>
DEVICE void stream(u64* spans, const char* data, int iterations, u32 lane_bytes, u32 shared_lane_bytes, int smsps) {
    __shared__ __align__(128) char target[16384];
    const u32 shared = shared_address(target) + lane_id() * shared_lane_bytes;
    const u64 global = __cvta_generic_to_global(data) + lane_id() * lane_bytes + warp_id() * 4096;
    __syncthreads();
    if (!takes_part(smsps)) return;
    const u64 begin = cycles();
#pragma unroll 1
    for (int iteration = 0; iteration < iterations; ++iteration) {
#pragma unroll
        for (int i = 0; i < 8; ++i) copy<kBytes, kBypass>(shared, global, i % 4 * 4096, i * 512);
        commit();
        wait<2>();
    }
    wait<0>();
    const u64 end = cycles();
    record(spans, begin, end, target[0]);
}

// A copy, then an IMAD that overwrites its address register: how long a copy holds its sources, and the loop. One copy a
// trip, as ptxas gives each of several a register of its own. Without the copy, the loop alone.
template <int kBytes, bool kBypass, bool kCopies>
DEVICE void release(u64* spans, const char* data, int iterations, u32 one, u32 zero, int smsps) {
    __shared__ __align__(128) char target[512];
    u32 shared = shared_address(target) + lane_id() * 16;
    const u64 global = __cvta_generic_to_global(data) + lane_id() * 16;
    __syncthreads();
    if (!takes_part(smsps)) return;
    const u64 begin = cycles();
#pragma unroll 1
    for (int iteration = 0; iteration < iterations; ++iteration) {
        if (kCopies) copy<kBytes, kBypass>(shared, global, 0, 0);
        asm volatile("mad.lo.u32 %0, %0, %1, %2;" : "+r"(shared) : "r"(one), "r"(zero));
    }
    const u64 end = cycles();
    commit();
    wait<0>();
    record(spans, begin, end, target[0] ^ shared);
}

#define STREAM(BYTES, OP, BYPASS)                                                                                 \
    extern "C" __global__ void __launch_bounds__(1024)                                                            \
        stream_##OP##_##BYTES(u64* spans, const char* data, int iterations, u32 lane_bytes,                       \
                              u32 shared_lane_bytes, int smsps) {                                                 \
        stream<BYTES, BYPASS>(spans, data, iterations, lane_bytes, shared_lane_bytes, smsps);                     \
    }                                                                                                             \
    extern "C" __global__ void release_##OP##_##BYTES(u64* spans, const char* data, int iterations, u32 one, u32 zero, \
                                                      int smsps) {                                                  \
        release<BYTES, BYPASS, true>(spans, data, iterations, one, zero, smsps);                                    \
    }
extern "C" __global__ void release_none(u64* spans, const char* data, int iterations, u32 one, u32 zero, int smsps) {
    release<16, true, false>(spans, data, iterations, one, zero, smsps);
}
STREAM(16, cg, true) STREAM(16, ca, false) STREAM(8, ca, false) STREAM(4, ca, false)

// Commits and waits with nothing pending: 16 in a row.
extern "C" __global__ void empty_groups(u64* spans, int iterations, int what) {
    const u64 begin = cycles();
#pragma unroll 1
    for (int iteration = 0; iteration < iterations; ++iteration) {
        if (what == 0) {
#pragma unroll
            for (int i = 0; i < 16; ++i) commit();
        } else if (what == 1) {
#pragma unroll
            for (int i = 0; i < 16; ++i) wait<0>();
        } else {
#pragma unroll
            for (int i = 0; i < 16; ++i) {
                commit();
                wait<0>();
            }
        }
    }
    const u64 end = cycles();
    record(spans, begin, end, 0);
}
