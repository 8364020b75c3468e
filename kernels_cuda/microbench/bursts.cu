// Trips of a main loop that stores to shared memory what it loads: loads of rows that the L2 holds, stores, and a barrier.
#include "common.cuh"

// A trip is kLoads loads of 512 bytes a warp, in rows of row_bytes that lie pitch bytes apart, a store of each, and a barrier
// if kBarrier is not 0. Each trip goes on along the rows. Lanes below `storing` store; where none does, stores wait as long.
template <int kLoads, int kBarrier>
DEVICE void burst(u64* spans, const char* data, int trips, u32 row_bytes, u32 pitch, u32 storing) {
    extern __shared__ __align__(128) char words[];
    const u32 each = row_bytes / 16, lane = lane_id();
    const u64 step = static_cast<u64>(32 / each) * pitch;
    u64 at = __cvta_generic_to_global(data) + warp_id() * kLoads * step + lane / each * static_cast<u64>(pitch) + lane % each * 16;
    const u32 to = shared_address(words) + warp_id() * 512 * kLoads + lane * 16;
    u32 value[kLoads][4];
    __syncthreads();
    const u64 begin = cycles();
#pragma unroll 1
    for (; trips > 0; --trips, at += row_bytes) {
#pragma unroll
        for (int i = 0; i < kLoads; ++i)
            asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(value[i][0]), "=r"(value[i][1]), "=r"(value[i][2]), "=r"(value[i][3]) : "l"(at + i * step) : "memory");
#pragma unroll
        for (int i = 0; i < kLoads; ++i)
            asm volatile("{.reg .pred p; setp.lt.u32 p, %5, %6; @p st.shared.v4.u32 [%0], {%1, %2, %3, %4};}" ::"r"(to + i * 512), "r"(value[i][0]), "r"(value[i][1]), "r"(value[i][2]), "r"(value[i][3]), "r"(lane), "r"(storing) : "memory");
        if (kBarrier) __syncthreads();
    }
    record(spans, begin, cycles(), fold(value));
}

#define BURST(LOADS, BARRIER)                                                                                              \
    extern "C" __global__ void __launch_bounds__(512) burst_##LOADS##_##BARRIER(                                            \
        u64* spans, const char* data, int trips, u32 row_bytes, u32 pitch, u32 storing) {                                  \
        burst<LOADS, BARRIER>(spans, data, trips, row_bytes, pitch, storing);                                              \
    }
BURST(1, 0) BURST(1, 1) BURST(2, 0) BURST(2, 1) BURST(4, 0) BURST(4, 1) BURST(8, 0) BURST(8, 1)
