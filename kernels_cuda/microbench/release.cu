// How long a memory instruction holds the registers it reads: one of them a trip, then an IMAD that overwrites one.
// One instruction a trip, as ptxas gives each of several a register of its own; without one, the loop alone.
#include "common.cuh"

enum Operation { kNone, kLdsAddress, kLdsmAddress, kStsAddress, kStsData, kStgData };
constexpr u32 kWords = 16384 / 4;

template <int kWidth>
DEVICE void store_shared(u32 address, const u32 (&value)[4]) {
    if (kWidth == 1) asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(value[0]) : "memory");
    if (kWidth == 2) asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(address), "r"(value[0]), "r"(value[1]) : "memory");
    if (kWidth == 4)
        asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(value[0]), "r"(value[1]), "r"(value[2]),
                     "r"(value[3])
                     : "memory");
}

template <int kWidth>
DEVICE void store_global(u64 address, const u32 (&value)[4]) {
    if (kWidth == 1) asm volatile("st.global.u32 [%0], %1;" ::"l"(address), "r"(value[0]) : "memory");
    if (kWidth == 2) asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(address), "r"(value[0]), "r"(value[1]) : "memory");
    if (kWidth == 4)
        asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(value[0]), "r"(value[1]), "r"(value[2]),
                     "r"(value[3])
                     : "memory");
}

template <Operation kOperation, int kWidth>
DEVICE void release(u64* spans, char* data, int iterations, u32 lane_bytes, u32 one, u32 zero, int smsps) {
    __shared__ __align__(128) u32 words[kWords];
    u32 address = shared_address(words) + lane_id() * lane_bytes;
    const u64 global = __cvta_generic_to_global(data) + lane_id() * lane_bytes + warp_id() * 16384;
    u32 value[4] = {threadIdx.x, threadIdx.x + 1, threadIdx.x + 2, threadIdx.x + 3};
    u32 loaded = 0, other[4];
    for (u32 i = threadIdx.x; i < kWords; i += blockDim.x) words[i] = i;
    __syncthreads();
    if (!takes_part(smsps)) return;
    const u64 begin = cycles();
#pragma unroll 1
    for (int iteration = 0; iteration < iterations; ++iteration) {
        if (kOperation == kLdsAddress) asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(loaded) : "r"(address) : "memory");
        if (kOperation == kLdsmAddress)
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                         : "=r"(other[0]), "=r"(other[1]), "=r"(other[2]), "=r"(other[3])
                         : "r"(address)
                         : "memory");
        if (kOperation == kStsAddress || kOperation == kStsData) store_shared<kWidth>(address, value);
        if (kOperation == kStgData) store_global<kWidth>(global, value);
        if (kOperation == kStsData || kOperation == kStgData) {
            asm volatile("mad.lo.u32 %0, %0, %1, %2;" : "+r"(value[0]) : "r"(one), "r"(zero));
        } else {
            asm volatile("mad.lo.u32 %0, %0, %1, %2;" : "+r"(address) : "r"(one), "r"(zero));
        }
    }
    const u64 end = cycles();
    record(spans, begin, end, words[0] ^ address ^ value[0] ^ loaded ^ (kOperation == kLdsmAddress ? other[0] : 0));
}

#define RELEASE(NAME, OPERATION, WIDTH)                                                                               \
    extern "C" __global__ void __launch_bounds__(256)                                                                 \
        release_##NAME##_##WIDTH(u64* spans, char* data, int iterations, u32 lane_bytes, u32 one, u32 zero, int smsps) { \
        release<OPERATION, WIDTH>(spans, data, iterations, lane_bytes, one, zero, smsps);                             \
    }
#define WIDTHS(NAME, OPERATION) RELEASE(NAME, OPERATION, 1) RELEASE(NAME, OPERATION, 2) RELEASE(NAME, OPERATION, 4)
RELEASE(none, kNone, 1)
RELEASE(lds_address, kLdsAddress, 1)
RELEASE(ldsm_address, kLdsmAddress, 4)
WIDTHS(sts_address, kStsAddress)
WIDTHS(sts_data, kStsData)
WIDTHS(stg_data, kStgData)
