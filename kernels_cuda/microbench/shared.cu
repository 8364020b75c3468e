// Shared memory: ldmatrix, ld.shared and st.shared, latency and throughput, with and without bank conflicts.
#include "common.cuh"

constexpr u32 kSharedWords = 8192;

// Each lane's word holds the address the lane loads from, so that a chain of loads needs nothing in between.
template <int kWords>
DEVICE void load(u32& address) {
    u32 r0, r1, r2, r3;
    if (kWords == 1) asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(r0) : "r"(address) : "memory");
    if (kWords == 2) asm volatile("ld.volatile.shared.v2.u32 {%0,%1}, [%2];" : "=r"(r0), "=r"(r1) : "r"(address) : "memory");
    if (kWords == 4)
        asm volatile("ld.volatile.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
                     : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(address) : "memory");
    address = r0;
}

// ldmatrix hands lane i word i % 4 of row i / 4: that word holds the row address lane i gives.
template <int kMatrices>
DEVICE void load_matrix(u32& address) {
    u32 r0, r1, r2, r3;
    if (kMatrices == 1)
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r0) : "r"(address) : "memory");
    if (kMatrices == 2)
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                     : "=r"(r0), "=r"(r1) : "r"(address) : "memory");
    if (kMatrices == 4)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(address) : "memory");
    address = r0;
}

enum Unit { kLds = 0, kLdsm = 1 };

// kIlp chains; lane_bytes apart are the lanes' accesses (LDS) or the rows (ldmatrix).
template <int kUnit, int kWidth, int kIlp>
DEVICE void load_chains(u64* spans, int iterations, u32 lane_bytes, int smsps) {
    __shared__ __align__(128) u32 words[kSharedWords];
    const u32 base = shared_address(words);
    for (u32 i = threadIdx.x; i < kSharedWords; i += blockDim.x) words[i] = base;
    __syncthreads();
    const u32 lane = lane_id();
    const u32 own = base + lane * lane_bytes;
    if (warp_id() == 0) {
        if (kUnit == kLds) words[lane * lane_bytes / 4] = own;
        else words[lane / 4 * (lane_bytes / 4) + lane % 4] = own;
    }
    u32 address[1][kIlp];
#pragma unroll
    for (int i = 0; i < kIlp; ++i) address[0][i] = own;
    __syncthreads();
    if (!takes_part(smsps)) return;
    const u64 begin = cycles();
#pragma unroll 1
    for (int iteration = 0; iteration < iterations; ++iteration) {
#pragma unroll
        for (int round = 0; round < 8; ++round) {
#pragma unroll
            for (int i = 0; i < kIlp; ++i) {
                if (kUnit == kLds) load<kWidth>(address[0][i]);
                else load_matrix<kWidth>(address[0][i]);
            }
        }
    }
    const u32 result = fold(address);
    const u64 end = cycles();
    record(spans, begin, end, result);
}

#define LOADS(UNIT, NAME, WIDTH, ILP)                                                                             \
    extern "C" __global__ void __launch_bounds__(1024)                                                            \
        NAME##_##WIDTH##_##ILP(u64* spans, int iterations, u32 lane_bytes, int smsps) {                           \
        load_chains<UNIT, WIDTH, ILP>(spans, iterations, lane_bytes, smsps);                                      \
    }
#define LOADS_OF(UNIT, NAME, WIDTH)                                                                               \
    LOADS(UNIT, NAME, WIDTH, 1) LOADS(UNIT, NAME, WIDTH, 2) LOADS(UNIT, NAME, WIDTH, 3) LOADS(UNIT, NAME, WIDTH, 4) \
    LOADS(UNIT, NAME, WIDTH, 5) LOADS(UNIT, NAME, WIDTH, 8)

LOADS_OF(kLds, lds, 1) LOADS_OF(kLds, lds, 2) LOADS_OF(kLds, lds, 4)
LOADS_OF(kLdsm, ldmatrix, 1) LOADS_OF(kLdsm, ldmatrix, 2) LOADS_OF(kLdsm, ldmatrix, 4)

// Volatile: ptxas drops a store that the next one overwrites.
template <int kWords>
DEVICE void store(u32 address, const u32 (&value)[4]) {
    if (kWords == 1) asm volatile("st.volatile.shared.u32 [%0], %1;" ::"r"(address), "r"(value[0]) : "memory");
    if (kWords == 2)
        asm volatile("st.volatile.shared.v2.u32 [%0], {%1,%2};" ::"r"(address), "r"(value[0]), "r"(value[1]) : "memory");
    if (kWords == 4)
        asm volatile("st.volatile.shared.v4.u32 [%0], {%1,%2,%3,%4};" ::"r"(address), "r"(value[0]), "r"(value[1]),
                     "r"(value[2]), "r"(value[3]) : "memory");
}

// Stores of unchanging registers, nothing between them.
template <int kWords>
DEVICE void stores(u64* spans, int iterations, u32 lane_bytes, int smsps) {
    __shared__ __align__(128) u32 words[kSharedWords];
    const u32 address = shared_address(words) + lane_id() * lane_bytes;
    const u32 value[4] = {threadIdx.x, threadIdx.x + 1, threadIdx.x + 2, threadIdx.x + 3};
    __syncthreads();
    if (!takes_part(smsps)) return;
    const u64 begin = cycles();
#pragma unroll 1
    for (int iteration = 0; iteration < iterations; ++iteration) {
#pragma unroll
        for (int i = 0; i < 16; ++i) store<kWords>(address, value);
    }
    const u64 end = cycles();
    record(spans, begin, end, words[0]);
}

// A store, then an IMAD that overwrites its address register: how long a store holds its sources, and the IMAD.
template <int kWords>
DEVICE void store_release(u64* spans, int iterations, u32 lane_bytes, u32 one, u32 zero) {
    __shared__ __align__(128) u32 words[kSharedWords];
    u32 address = shared_address(words) + lane_id() * lane_bytes;
    const u32 value[4] = {threadIdx.x, threadIdx.x + 1, threadIdx.x + 2, threadIdx.x + 3};
    __syncthreads();
    const u64 begin = cycles();
#pragma unroll 1
    for (int iteration = 0; iteration < iterations; ++iteration) {
#pragma unroll
        for (int i = 0; i < 16; ++i) {
            store<kWords>(address, value);
            asm volatile("mad.lo.u32 %0, %0, %1, %2;" : "+r"(address) : "r"(one), "r"(zero));
        }
    }
    const u64 end = cycles();
    record(spans, begin, end, words[0] ^ address);
}

#define STORES(WIDTH)                                                                                             \
    extern "C" __global__ void __launch_bounds__(1024)                                                            \
        sts_##WIDTH(u64* spans, int iterations, u32 lane_bytes, int smsps) {                                      \
        stores<WIDTH>(spans, iterations, lane_bytes, smsps);                                                      \
    }                                                                                                             \
    extern "C" __global__ void sts_release_##WIDTH(u64* spans, int iterations, u32 lane_bytes, u32 one, u32 zero) { \
        store_release<WIDTH>(spans, iterations, lane_bytes, one, zero);                                               \
    }
STORES(1) STORES(2) STORES(4)

// kCount loads back to back between two clock reads: where the time steps up, the queue was full.
template <int kCount>
DEVICE void issue_burst(u64* spans, int iterations, u32 lane_bytes, int smsps) {
    __shared__ __align__(128) u32 words[kSharedWords];
    const u32 address = shared_address(words) + lane_id() * lane_bytes;
    for (u32 i = threadIdx.x; i < kSharedWords; i += blockDim.x) words[i] = i;
    u32 value[1][kCount];
    u32 folded = 0;
    u64 shortest = ~0ull;
    for (int iteration = 0; iteration < iterations; ++iteration) {
        __syncthreads();
        if (!takes_part(smsps)) continue;
        const u64 begin = cycles();
#pragma unroll
        for (int i = 0; i < kCount; ++i)
            asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(value[0][i]) : "r"(address + i * 128) : "memory");
        const u64 end = cycles();
        folded ^= fold(value);
        shortest = min(shortest, end - begin);
    }
    record(spans, 0, shortest, folded);
}
#define BURST(COUNT)                                                                                              \
    extern "C" __global__ void burst_##COUNT(u64* spans, int iterations, u32 lane_bytes, int smsps) {             \
        issue_burst<COUNT>(spans, iterations, lane_bytes, smsps);                                                 \
    }
BURST(1) BURST(2) BURST(3) BURST(4) BURST(5) BURST(6) BURST(7) BURST(8) BURST(10) BURST(12) BURST(16) BURST(24)
