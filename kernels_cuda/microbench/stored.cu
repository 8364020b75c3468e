// What waits behind stores to global memory that leave the SM slowly: loads from shared memory, barriers, loads behind these.
#include "common.cuh"

enum Probe { kBarrier = 0, kLds = 1, kStsLds = 2, kSts = 3, kStg = 4, kCopy = 5, kStsBarrierLds = 6 };

constexpr u32 kProbing = 7, kLate = 8;  // a warp of SMSP 3, and one of SMSP 0 that loads kLateBy cycles after it
constexpr u32 kLateBy = 80;
constexpr u32 kWarps = 12;
constexpr u32 kWarpBytes = 8192;        // of global memory of a warp

// The warps of `busy`, bits by their number, issue kStores stores of 16 bytes a lane. `delay` cycles later the warps kProbing and
// `partner` load from shared memory (kLds), do so behind a store of their own there (kStsLds), or meet at a barrier: with nothing
// before it, a store to shared memory (kSts), to global memory (kStg) or a copy (kCopy); or they load behind that of the stores
// to shared memory (kStsBarrierLds). kLate loads from shared memory. stamps[warp][2]: the clock at the warp's begin and end.
// What is stored is needed at the end, so that nothing is written over what stores have not read.
template <int kStores, int kProbe>
DEVICE void stored(u64* stamps, char* data, u32 one, u32 busy, u32 delay, u32 partner) {
    __shared__ __align__(128) char words[kWarps * 512];
    for (u32 i = threadIdx.x * 4; i < kWarps * 512; i += blockDim.x * 4) *reinterpret_cast<u32*>(words + i) = one;
    const u32 own = shared_address(words) + warp_id() * 512 + lane_id() * 16;
    u64 to = __cvta_generic_to_global(data) + warp_id() * kWarpBytes + lane_id() * 16;
    u32 value[4], pair[2], found = one;
    // Zeros that ptxas can neither foresee nor make anew.
    for (u32& each : value) each = static_cast<u32>(cycles() >> 63);
    for (u32& each : pair) each = static_cast<u32>(cycles() >> 63);
    u64 begin = 0, end = 0;
#pragma unroll 1
    for (int pass = 0; pass < 3; ++pass) {
        __syncthreads();
        const u64 first = cycles() + one;
        wait_until(first + 2048);  // what the pass before has stored has left
        __syncthreads();
        begin = cycles();
        found = one + static_cast<u32>(begin >> 63);  // which is one, but ptxas does not know
        if (busy >> warp_id() & 1) {
#pragma unroll
            for (int i = 0; i < kStores; ++i) store_16(to + i * 512, value);
        } else if (warp_id() == kLate) {
            wait_until(begin + delay + kLateBy);
            begin = cycles();
            asm volatile("ld.shared.u32 %0, [%1];" : "=r"(found) : "r"(own + 8) : "memory");
            branch_on(found);
        } else if (warp_id() == kProbing || warp_id() == partner) {
            wait_until(begin + delay);
            begin = cycles();
            if (kProbe == kStsLds || kProbe == kSts || kProbe == kStsBarrierLds)
                asm volatile("st.shared.v2.u32 [%0], {%1,%2};" ::"r"(own), "r"(pair[0]), "r"(pair[1]) : "memory");
            if (kProbe == kStg) store_16(to, value);
            if (kProbe == kCopy) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(own), "l"(to) : "memory");
            if (kProbe != kLds && kProbe != kStsLds) asm volatile("bar.sync 1, 64;" ::: "memory");
            if (kProbe == kLds || kProbe == kStsLds || kProbe == kStsBarrierLds)
                asm volatile("ld.shared.u32 %0, [%1];" : "=r"(found) : "r"(own + 8) : "memory");
            branch_on(found);
        }
        end = cycles();
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    // Stamps are stored when nobody is timed any more.
    wait_until(cycles() + 4096);
    if (lane_id() == 0) {
        stamps[warp_id() * 2] = begin;
        stamps[warp_id() * 2 + 1] = end;
    }
    if (begin == end) stamps[0] = value[0] ^ 2 * value[1] ^ 3 * value[2] ^ 5 * value[3] ^ 7 * pair[0] ^ 9 * pair[1] ^ found;  // never true
}

// The same between two CTAs of one SM, `sm`. Of the one that comes first and the one that comes second, that of number `storing`
// has the warps that store, `meeting` those that meet at a barrier and load behind it (none if it is 2), `loading` the one that
// loads late. meets[]: CTAs that have come, CTAs at the beginning of a pass, and the clock at which each pass begins.
template <int kStores>
DEVICE void fenced(u64* stamps, char* data, u64* meets, u32 one, u32 sm, u32 storing, u32 meeting, u32 loading, u32 busy, u32 delay) {
    __shared__ __align__(128) char words[kWarps * 512];
    __shared__ u64 shared_number, shared_start;
    volatile u64* seen = meets;
    if (sm_id() != sm) return;
    if (threadIdx.x == 0) shared_number = atomicAdd(meets, 1);
    for (u32 i = threadIdx.x * 4; i < kWarps * 512; i += blockDim.x * 4) *reinterpret_cast<u32*>(words + i) = one;
    __syncthreads();
    const u32 number = static_cast<u32>(shared_number);
    if (number > 1) return;
    const u32 own = shared_address(words) + warp_id() * 512 + lane_id() * 16;
    u64 to = __cvta_generic_to_global(data) + warp_id() * kWarpBytes + lane_id() * 16;
    u32 value[4], found = one;
    for (u32& each : value) each = static_cast<u32>(cycles() >> 63);
    u64 begin = 0, end = 0;
#pragma unroll 1
    for (int pass = 0; pass < 3; ++pass) {
        if (threadIdx.x == 0) {
            atomicAdd(meets + 1, 1);
            while (seen[1] < 2 * (pass + 1)) {}
            if (number == 0) seen[2 + pass] = cycles() + 20000;
            while (seen[2 + pass] == 0) {}
            shared_start = seen[2 + pass];
        }
        __syncthreads();
        const u64 start = shared_start;
        wait_until(start);
        begin = cycles();
        found = one + static_cast<u32>(begin >> 63);  // which is one, but ptxas does not know
        if (number == storing && (busy >> warp_id() & 1)) {
#pragma unroll
            for (int i = 0; i < kStores; ++i) store_16(to + i * 512, value);
        } else if (warp_id() == kLate && number == loading) {
            wait_until(start + delay + kLateBy);
            begin = cycles();
            asm volatile("ld.shared.u32 %0, [%1];" : "=r"(found) : "r"(own + 8) : "memory");
            branch_on(found);
        } else if ((warp_id() == kProbing || warp_id() == kProbing + 4) && number == meeting) {
            wait_until(start + delay);
            begin = cycles();
            asm volatile("bar.sync 1, 64;" ::: "memory");
            asm volatile("ld.shared.u32 %0, [%1];" : "=r"(found) : "r"(own + 8) : "memory");
            branch_on(found);
        }
        end = cycles();
    }
    // Stamps are stored when nobody is timed any more.
    wait_until(cycles() + 4096);
    if (lane_id() == 0) {
        stamps[(number * kWarps + warp_id()) * 2] = begin;
        stamps[(number * kWarps + warp_id()) * 2 + 1] = end;
    }
    if (begin == end) stamps[0] = value[0] ^ 2 * value[1] ^ 3 * value[2] ^ 5 * value[3] ^ found;  // never true
}

#define STORED(STORES, PROBE)                                                                                                  \
    extern "C" __global__ void __launch_bounds__(384) stored_##STORES##_##PROBE(u64* s, char* d, u32 one, u32 busy, u32 delay, \
                                                                                u32 partner) {                                 \
        stored<STORES, PROBE>(s, d, one, busy, delay, partner);                                                                \
    }
#define PROBES(STORES) STORED(STORES, 0) STORED(STORES, 1) STORED(STORES, 2) STORED(STORES, 3) STORED(STORES, 4) STORED(STORES, 5) STORED(STORES, 6)
PROBES(0) PROBES(4) PROBES(8) PROBES(12) PROBES(16)
#define FENCED(STORES)                                                                                                         \
    extern "C" __global__ void __launch_bounds__(384) fenced_##STORES(u64* s, char* d, u64* m, u32 one, u32 sm, u32 storing,   \
                                                                      u32 meeting, u32 loading, u32 busy, u32 delay) {         \
        fenced<STORES>(s, d, m, one, sm, storing, meeting, loading, busy, delay);                                              \
    }
FENCED(0) FENCED(8) FENCED(12)
