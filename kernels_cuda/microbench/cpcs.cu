// What each SM brings from the L2 in some time, while chosen SMs do so too: one CTA on each SM.
#include "common.cuh"

constexpr int kCopies = 8;    // of 512 bytes, in a commit group
constexpr int kPending = 3;   // groups that may be on their way behind one
constexpr u32 kWarps = 8;
constexpr u32 kFilled = (kPending + 1) * kCopies * 512;  // shared memory that a warp's groups fill in turn

// counts[3 * block]: the CTA's SM, its groups in `duration` cycles, and the cycles that they took. CTAs of SMs whose
// entry of `takes_part` is 0 end at once. Rows of row_bytes lie pitch bytes apart; each CTA has `span` bytes of its own
// if `own` is 1, and all have the same if it is 0.
extern "C" __global__ void __launch_bounds__(256) cpcs(
    u64* counts, const char* data, const int* takes_part, int duration, u32 row_bytes, u32 pitch, u32 span, int own) {
    extern __shared__ __align__(128) char words[];
    __shared__ u32 groups;
    const u32 sm = sm_id(), each = row_bytes / 16;
    if (threadIdx.x == 0) groups = 0, counts[3 * blockIdx.x] = sm, counts[3 * blockIdx.x + 1] = 0;
    if (takes_part[sm] == 0) return;
    const u32 filled = shared_address(words) + warp_id() * kFilled + lane_id() * 16;
    const u64 step = static_cast<u64>(32 / each) * pitch;
    const u64 base = __cvta_generic_to_global(data) + static_cast<u64>(own ? sm : 0) * span + lane_id() / each * static_cast<u64>(pitch) + lane_id() % each * 16;
    __syncthreads();
    u32 at = warp_id() * kCopies * step, turn = 0, count = 0;
    u64 begin = 0, until = 0;
#pragma unroll 1
    for (int part = 0; part < 2; ++part) {
        // First once over the CTA's span, so that the L2 has all of it.
        begin = cycles(), until = part ? begin + duration : ~0ull;
        count = 0;
#pragma unroll 1
        while (cycles() < until && (part || count * kWarps * kCopies * step < span)) {
            copy_group<kCopies, kPending>(filled + turn, base + at, step);
            turn = next_filled<kCopies, kPending>(turn);
            at = at + kWarps * kCopies * step < span ? at + kWarps * kCopies * step : warp_id() * kCopies * step;
            ++count;
        }
        asm volatile("cp.async.wait_all;" ::: "memory");
        __syncthreads();
    }
    const u64 took = cycles() - begin;
    if (lane_id() == 0) atomicAdd(&groups, count);
    __syncthreads();
    if (threadIdx.x == 0) counts[3 * blockIdx.x + 1] = groups, counts[3 * blockIdx.x + 2] = took;
}
