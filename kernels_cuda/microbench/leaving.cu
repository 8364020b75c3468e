// When the next CTA of an SM begins behind one that ends with stores to global memory.
#include "common.cuh"

constexpr u32 kWarps = 4;  // one on each SMSP

// begins[2 * block]: the CTA's SM and the cycle of its begin, stored at once. It waits, and stores `kCount` times 512 bytes
// with each warp, all of lines of their own.
template <int kCount>
DEVICE void leaving(u64* begins, char* data, int pause) {
    const u64 begin = cycles();
    const u32 sm = sm_id(), warp = warp_id();
    if (threadIdx.x == 0) begins[2 * blockIdx.x] = sm, begins[2 * blockIdx.x + 1] = begin;
    const u32 value[4] = {warp, warp + 1, warp + 2, warp + 3};
    const u64 own = __cvta_generic_to_global(data) + (static_cast<u64>(blockIdx.x) * kWarps + warp) * kCount * 512 + lane_id() * 16;
    wait_until(begin + pause);
#pragma unroll
    for (int i = 0; i < kCount; ++i) store_16(own + i * 512, value);
}

#define LEAVING(COUNT)                                                                                                     \
    extern "C" __global__ void __launch_bounds__(128) leaving_##COUNT(u64* begins, char* data, int pause) {                \
        leaving<COUNT>(begins, data, pause);                                                                               \
    }
LEAVING(0) LEAVING(1) LEAVING(2) LEAVING(4) LEAVING(8) LEAVING(16)
