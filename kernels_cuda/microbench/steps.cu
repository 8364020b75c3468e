// A step of an epilogue and what follows it: stores to global memory, a barrier, stores to shared memory, a barrier, loads.
#include "common.cuh"

constexpr int kReads = 4;      // ld.shared of 16 bytes at the end
constexpr u32 kWarpBytes = 8192;  // of shared memory of a warp
constexpr u32 kWarpSpan = 65536;  // of global memory
constexpr u32 kHalf = kWarpBytes / 2;

// On SM 0 each warp stores kStores times kBytes a lane to global memory and kShared times 8 bytes a lane to shared memory,
// and loads. counts[warp]: cycles from the first issue to the data of the last load, of trips that begin together, `rest`
// cycles after the one before. The words that are loaded are ANDed with `nothing`, 0, which ptxas does not know.
template <int kStores, int kBytes, int kShared>
DEVICE void steps(u64* counts, char* data, u32 trips, u32 rest, u32 nothing) {
    extern __shared__ __align__(128) char words[];
    if (sm_id() != 0) return;
    const u32 own = shared_address(words) + warp_id() * kWarpBytes;
    const u64 to = __cvta_generic_to_global(data) + warp_id() * kWarpSpan + lane_id() * kBytes;
    const u32 a = lane_id(), b = a * 3, c = a ^ 5, d = a + 9;
    u64 sum = 0;
    u32 left = 0;
#pragma unroll 1
    for (u32 trip = 0; trip < trips; ++trip) {
        __syncthreads();
        wait_until(cycles() + rest);
        __syncthreads();
        const u64 begin = cycles();
#pragma unroll
        for (int i = 0; i < kStores; ++i) {
            if (kBytes == 16) asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to + i * 512), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
            if (kBytes == 8) asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(to + i * 512), "r"(a), "r"(b) : "memory");
            if (kBytes == 4) asm volatile("st.global.u32 [%0], %1;" ::"l"(to + i * 512), "r"(a) : "memory");
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < kShared; ++i)
            asm volatile("st.volatile.shared.v2.u32 [%0], {%1, %2};" ::"r"(own + i * 256 + lane_id() * 8), "r"(a), "r"(b) : "memory");
        __syncthreads();
        u32 loaded[kReads][4], all = 0;
#pragma unroll
        for (int i = 0; i < kReads; ++i)
            asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(loaded[i][0]), "=r"(loaded[i][1]), "=r"(loaded[i][2]), "=r"(loaded[i][3])
                         : "r"(own + kHalf + i * 512 + lane_id() * 16)
                         : "memory");
#pragma unroll
        for (int i = 0; i < kReads; ++i) all |= loaded[i][0];
        u64 end;
        asm volatile("{ .reg .u64 now; mov.u64 now, %%clock64; add.u64 %0, now, %1; }" : "=l"(end) : "l"(static_cast<u64>(all & nothing)) : "memory");
        if (trip >= 2) sum += end - begin;
        left |= all;
    }
    if (lane_id() == 0) counts[warp_id()] = sum + (left & nothing);
}

#define STEPS(STORES, BYTES, SHARED)                                                     \
    extern "C" __global__ void __launch_bounds__(512)                                     \
        steps_##STORES##_##BYTES##_##SHARED(u64* counts, char* data, u32 trips, u32 rest, u32 nothing) { \
        steps<STORES, BYTES, SHARED>(counts, data, trips, rest, nothing);                 \
    }
#define STORES(BYTES, SHARED) STEPS(0, BYTES, SHARED) STEPS(1, BYTES, SHARED) STEPS(2, BYTES, SHARED) STEPS(4, BYTES, SHARED)
#define WIDTHS(SHARED) STORES(16, SHARED) STORES(8, SHARED) STORES(4, SHARED)
WIDTHS(0) WIDTHS(4) WIDTHS(8)
