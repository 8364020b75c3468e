// Whether a barrier waits for what is stored to shared memory before it: trips of stores, and a barrier or none.
#include "common.cuh"

constexpr u32 kWords = 16384 / 4;

// A trip is `kStores` stores of four bytes a lane, `lane_bytes` apart, a barrier if kBarrier is not 0, and if kLoad is not 0 a
// load that the stores of the next trip wait for. The branch at its end waits for the barrier.
template <int kStores, int kBarrier, int kLoad>
DEVICE void barred(u64* spans, int trips, u32 lane_bytes) {
    __shared__ __align__(128) u32 words[kWords];
    for (u32 i = threadIdx.x; i < kWords; i += blockDim.x) words[i] = 0;
    __syncthreads();
    const u32 address = shared_address(words) + lane_id() * lane_bytes;
    u32 value = 0;
    const u64 begin = cycles();
#pragma unroll 1
    for (int trip = 0; trip < trips; ++trip) {
#pragma unroll
        for (int i = 0; i < kStores; ++i) asm volatile("st.shared.u32 [%0], %1;" ::"r"(address + i * 4096), "r"(value) : "memory");
        if (kBarrier) asm volatile("bar.sync 0;" ::: "memory");
        if (kLoad) asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
        if (kLoad) asm volatile("and.b32 %0, %0, 255;" : "+r"(value)::"memory");
    }
    const u64 end = cycles();
    record(spans, begin, end, value ^ words[0]);
}

#define BARRED(STORES, BARRIER, LOAD)                                                                                      \
    extern "C" __global__ void __launch_bounds__(512) barred_##STORES##_##BARRIER##_##LOAD(u64* spans, int trips, u32 lane_bytes) { \
        barred<STORES, BARRIER, LOAD>(spans, trips, lane_bytes);                                                           \
    }
#define BARRED_WITH(STORES) BARRED(STORES, 0, 0) BARRED(STORES, 1, 0) BARRED(STORES, 0, 1) BARRED(STORES, 1, 1)
BARRED_WITH(0) BARRED_WITH(1) BARRED_WITH(2) BARRED_WITH(4)
