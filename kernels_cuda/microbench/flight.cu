// Copies of rows that only the L2 holds, each read once, with so many on their way, while other warps of the SM issue ldmatrix.
#include "common.cuh"

constexpr u32 kFilled = 131072;  // shared memory that the copies fill, warp by warp; the others load from what follows
constexpr u32 kSharedBytes = kFilled + 4096;

// counts[CTA][warp]: its cycles, and its ldmatrix.x4. The first `copiers` warps copy twice, and are timed the second time:
// blocks of kCopies x 512 bytes of rows, `pitch` bytes apart, along the rows, and then the CTA's next ones. kPending groups
// may be on their way behind the last. SMs whose numbers over shared_by are equal copy the same `region` bytes, of `regions`:
// by its number an SM has the same in each launch, on its side of the chip. The others issue ldmatrix until all copies are
// there.
template <int kCopies, int kPending>
DEVICE void flight(u64* counts, const char* data, int copiers, u32 row_bytes, u32 pitch, int blocks, u64 region, int shared_by,
                   int regions) {
    extern __shared__ __align__(128) char words[];
    __shared__ int done;
    const int warp = warp_id();
    const u32 shared = shared_address(words), each = row_bytes / 16;
    if (threadIdx.x == 0) done = 0;
    for (u32 i = threadIdx.x * 4; i < kSharedBytes; i += blockDim.x * 4) *reinterpret_cast<u32*>(words + i) = i;
    __syncthreads();
    u64* own = counts + (static_cast<u64>(blockIdx.x) * (blockDim.x / 32) + warp) * 2;
    u64 loads = 0;
    u64 begin = cycles();
    if (warp < copiers) {
        const u64 step = static_cast<u64>(32 / each) * pitch, block = kCopies * step;
        const u64 first = __cvta_generic_to_global(data) + sm_id() / shared_by % regions * region + warp * block +
                          lane_id() / each * static_cast<u64>(pitch) + lane_id() % each * 16;
        const u32 target = shared + warp % 8 * 16384 + lane_id() * 16;
        // The first pass has its start-up: instructions and translations of addresses that the SM has not seen.
#pragma unroll 1
        for (int pass = 0; pass < 2; ++pass) {
            u32 filled = 0;
            u64 base = first;
            begin = cycles();
#pragma unroll 1
            for (int number = 0; number < blocks; ++number, base += copiers * block) {
#pragma unroll 1
                for (u32 at = 0; at < pitch; at += row_bytes) {
                    copy_group<kCopies, kPending>(target + filled, base + at, step);
                    filled = next_filled<kCopies, kPending>(filled);
                }
            }
            asm volatile("cp.async.wait_group 0;" ::: "memory");
        }
        if (lane_id() == 0) atomicAdd(&done, 1);
    } else {
        u32 loaded[8][4] = {};
        const u32 from = shared + kFilled + lane_id() * 16 % 512;
#pragma unroll 1
        while (*reinterpret_cast<volatile int*>(&done) < copiers) {
#pragma unroll 1
            for (int round = 0; round < 4; ++round, loads += 8) {
#pragma unroll
                for (int slot = 0; slot < 8; ++slot)
                    ldmatrix_x4(loaded[slot], from + slot * 512);
            }
        }
        // Never true, which ptxas does not know: so it keeps what is loaded.
        if (loads == begin) counts[0] = fold(loaded);
    }
    if (lane_id() == 0) {
        own[0] = cycles() - begin;
        own[1] = loads;
    }
}

#define FLIGHT(COPIES, PENDING)                                                                                          \
    extern "C" __global__ void __launch_bounds__(512) flight_##COPIES##_##PENDING(                                       \
        u64* counts, const char* data, int copiers, u32 row_bytes, u32 pitch, int blocks, u64 region, int shared_by,     \
        int regions) {                                                                                                   \
        flight<COPIES, PENDING>(counts, data, copiers, row_bytes, pitch, blocks, region, shared_by, regions);            \
    }
#define PENDING(COPIES) FLIGHT(COPIES, 0) FLIGHT(COPIES, 1) FLIGHT(COPIES, 3)
PENDING(2) PENDING(4) PENDING(8)
