// What hands a tile from one CTA to the next: stores, a release, an acquiring poll.
#include "common.cuh"

// Each thread stores 16 bytes `stores` times; then lane 0 of each warp adds to its own flag with acquire and release, or the
// warp fences. clocks[3 * warp]: cycles of the stores' issue, then of the addition or fence, then of a poll of the flag.
template <bool kAdds>
DEVICE void release(u64* clocks, int* flags, uint4* data, int stores, int polls) {
    const u32 warp = blockIdx.x * (blockDim.x / 32) + warp_id();
    uint4* mine = data + static_cast<u64>(blockIdx.x) * blockDim.x * stores + threadIdx.x;
    int* flag = flags + warp * 64;
    __syncthreads();
    const u64 t0 = cycles();
    for (int i = 0; i < stores; ++i) mine[i * blockDim.x] = make_uint4(i, i, i, i);
    __syncwarp();
    const u64 t1 = cycles();
    int before = 0, seen = 0;
    if (kAdds && lane_id() == 0)
        asm volatile("atom.global.acq_rel.gpu.add.s32 %0, [%1], 1;" : "=r"(before) : "l"(flag) : "memory");
    if (!kAdds) asm volatile("fence.acq_rel.gpu;" ::: "memory");
    asm volatile("" ::"r"(before) : "memory");
    __syncwarp(before >= 0 ? ~0u : 1u);
    const u64 t2 = cycles();
    if (lane_id() == 0)
        for (int i = 0; i < polls; ++i) {
            int found;
            asm volatile("ld.global.acquire.gpu.b32 %0, [%1];" : "=r"(found) : "l"(flag) : "memory");
            seen += found;
        }
    __syncwarp(seen >= 0 ? ~0u : 1u);
    const u64 t3 = cycles();
    if (lane_id() == 0) {
        clocks[3 * warp] = t1 - t0, clocks[3 * warp + 1] = t2 - t1, clocks[3 * warp + 2] = t3 - t2;
        if (seen == -12345) flags[0] = seen;
    }
}
extern "C" __global__ void __launch_bounds__(256) release_add(u64* clocks, int* flags, uint4* data, int stores, int polls) {
    release<true>(clocks, flags, data, stores, polls);
}
extern "C" __global__ void __launch_bounds__(256) release_fence(u64* clocks, int* flags, uint4* data, int stores, int polls) {
    release<false>(clocks, flags, data, stores, polls);
}

// Reads of 2 KiB at a time, one after the other, of data that another SM has just stored (from = 0: the even CTA of a pair
// stores, the odd one waits for its flag), that the reader stored itself (1), or that an earlier kernel stored (2).
// Clocks[pair]: cycles of all reads of the odd CTA.
extern "C" __global__ void __launch_bounds__(128) handover(u64* clocks, int* flags, uint4* data, int reads, int from) {
    const int pair = blockIdx.x / 2, flag = pair * 64;
    const bool reader = blockIdx.x % 2;
    uint4* mine = data + static_cast<u64>(pair) * reads * blockDim.x + threadIdx.x;
    if (reader == (from == 1) && from < 2)
        for (int i = 0; i < reads; ++i) mine[i * blockDim.x] = make_uint4(i, 0, 0, 0);
    __syncthreads();
    if (!reader) {
        if (threadIdx.x == 0) asm volatile("red.release.gpu.global.add.s32 [%0], 1;" ::"l"(flags + flag) : "memory");
        return;
    }
    if (threadIdx.x == 0) {
        int seen;
        do {
            asm volatile("ld.global.acquire.gpu.b32 %0, [%1];" : "=r"(seen) : "l"(flags + flag) : "memory");
        } while (!seen);
    }
    __syncthreads();
    u32 sum = 0;
    const u64 begin = cycles();
    for (int i = 0; i < reads; ++i) {
        uint4 found;
        asm volatile("ld.global.v4.u32 {%0,%1,%2,%3}, [%4];"
                     : "=r"(found.x), "=r"(found.y), "=r"(found.z), "=r"(found.w)
                     : "l"(mine + i * blockDim.x + (sum & 1 << 30))
                     : "memory");
        sum += found.x ^ found.w;
    }
    __syncthreads();
    const u64 end = cycles();
    if (threadIdx.x == 0) clocks[pair] = end - begin;
    if (sum == 12345678) clocks[0] = sum;
}
