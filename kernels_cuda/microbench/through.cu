// What copies through the L1 cost ld.shared of other warps, which keep the data stage busy: by the banks of their rows in the L1.
#include "common.cuh"

constexpr u32 kLoaders = 16, kEach = 4, kGroups = 4;

// For `window` cycles 16 warps load from shared memory without a conflict. Four copy kEach times kBytes by each lane and group,
// from rows of `row_bytes` that are `pitch` bytes apart, and `along` bytes further with each group, until `wrap`: 0 stays where
// it is. They fill shared memory lane after lane, `spread` times as far apart. counts[warp]: the instructions that it has issued.
template <u32 kBytes>
DEVICE void through(u64* counts, char* data, u32 window, u32 row_bytes, u32 pitch, u32 along, u32 wrap, u32 spread) {
    extern __shared__ __align__(128) char words[];
    constexpr u32 kWidth = kBytes > 0 ? kBytes : 4;
    const u32 base = shared_address(words), lane = lane_id(), warp = warp_id();
    u32 left = 0;
    u64 count = 0;
    __syncthreads();
    const u64 begin = cycles();
    if (warp < kLoaders) {
        const u32 own = base + warp * kEach * 512 + lane * 16;
#pragma unroll 1
        while (cycles() - begin < window) {
            u32 value[kEach][4];
#pragma unroll
            for (u32 i = 0; i < kEach; ++i) {
                u32(&v)[4] = value[i];
                asm volatile("ld.volatile.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(own + i * 512) : "memory");
            }
#pragma unroll
            for (u32 i = 0; i < kEach; ++i) left += value[i][0] ^ value[i][3];
            count += kEach;
        }
    } else if (kBytes > 0) {
        const u32 copier = warp - kLoaders, lanes = row_bytes / kWidth;
        const u32 own = base + (kLoaders + copier * kGroups) * kEach * 512 + lane * kWidth * spread;
        const u64 step = static_cast<u64>(32 / lanes) * pitch;
        const u64 global = __cvta_generic_to_global(data) + copier * kEach * step + lane / lanes * static_cast<u64>(pitch) + lane % lanes * kWidth;
        u32 offset = 0, at = 0;
#pragma unroll 1
        while (cycles() - begin < window) {
#pragma unroll
            for (u32 i = 0; i < kEach; ++i)
                asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(own + offset + i * 512), "l"(global + at + i * step), "n"(kWidth) : "memory");
            asm volatile("cp.async.commit_group;\ncp.async.wait_group %0;" ::"n"(kGroups - 1) : "memory");
            offset = (offset + kEach * 512) % (kGroups * kEach * 512);
            at += along;
            if (at >= wrap) at = 0;
            count += kEach;
        }
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    if (lane == 0) counts[warp] = count + (left == 0x9e3779b9u ? 1 : 0);
}

#define THROUGH(BYTES)                                                                                                          \
    extern "C" __global__ void __launch_bounds__(640)                                                                           \
        through_##BYTES(u64* counts, char* data, u32 window, u32 row_bytes, u32 pitch, u32 along, u32 wrap, u32 spread) {       \
        through<BYTES>(counts, data, window, row_bytes, pitch, along, wrap, spread);                                            \
    }
THROUGH(0) THROUGH(4) THROUGH(8) THROUGH(16)
