// Latency under load: how long a tile takes to come from the L2 while all SMs ask for theirs at a pace.
#include "common.cuh"

// Each CTA copies tiles of kCopies x 16 bytes a thread, one at a time, and begins the next no sooner than `pace` cycles
// after the last one's begin. Groups of `shared_by` neighbouring CTAs copy the same tiles. A tile is rows of row_bytes,
// pitch bytes apart; the next one goes on by row_bytes, after `span` bytes from the start. The first pass over the span only
// warms the L2. clocks[4 * CTA]: cycles of all steps, sum of those from a tile's first copy to its last one's issue, and to
// its arrival, and the longest of these.
template <int kCopies>
DEVICE void paced(u64* clocks, const char* data, int steps, int pace, int shared_by, u32 row_bytes, u32 pitch, u32 span) {
    extern __shared__ __align__(128) char target[];
    const u32 shared = shared_address(target) + threadIdx.x * 16;
    const u32 each = row_bytes / 16, rows = blockDim.x / each;
    const u64 tile = static_cast<u64>(kCopies) * rows * pitch;
    const u64 base = __cvta_generic_to_global(data) + blockIdx.x / shared_by * tile + threadIdx.x / each * pitch + threadIdx.x % each * 16;
    u32 at = 0;
    u64 issue = 0, landed = 0, longest = 0, begin = 0;
    const int warm = span / row_bytes;
    for (int step = -warm; step < steps; ++step) {
        if (step == 0) begin = cycles();
        __syncthreads();
        const u64 t0 = cycles();
#pragma unroll
        for (int i = 0; i < kCopies; ++i)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared + i * blockDim.x * 16), "l"(base + at + static_cast<u64>(i) * rows * pitch) : "memory");
        asm volatile("cp.async.commit_group;" ::: "memory");
        const u64 t1 = cycles();
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        const u64 t2 = cycles();
        if (step >= 0) {
            issue += t1 - t0;
            landed += t2 - t0;
            longest = max(longest, t2 - t0);
        }
        at = at + row_bytes < span ? at + row_bytes : 0;
        while (cycles() - t0 < static_cast<u64>(pace)) {}
    }
    const u64 end = cycles();
    if (threadIdx.x == 0) {
        u64* to = clocks + 4 * blockIdx.x;
        to[0] = end - begin, to[1] = issue, to[2] = landed, to[3] = longest;
    }
}

#define PACED(COPIES)                                                                                                    \
    extern "C" __global__ void __launch_bounds__(256) paced_##COPIES(u64* clocks, const char* data, int steps, int pace, \
                                                                     int shared_by, u32 row_bytes, u32 pitch, u32 span) { \
        paced<COPIES>(clocks, data, steps, pace, shared_by, row_bytes, pitch, span);                                     \
    }
PACED(1) PACED(2) PACED(4) PACED(8) PACED(16)
