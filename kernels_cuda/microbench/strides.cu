// Copies whose lines lie apart in shared memory, as in rings of stages side by side, from rows that the L2 holds.
#include "common.cuh"

constexpr int kCopies = 4;   // of a round, 512 bytes each: four lines of shared memory
constexpr int kPending = 3;  // groups that may be on their way behind a round
constexpr u32 kLine = 128;
constexpr u32 kLines = 4 * kCopies;  // that a warp fills in a round

// spans: of each warp. Lines of shared memory are filled `stride` lines apart, in each round in the next one of
// stride * blocks slots, of which `stride` lie side by side. In global memory rows are pitch bytes apart, and each round
// goes on by row_bytes along them.
extern "C" __global__ void __launch_bounds__(512) strides(
    u64* spans, const char* data, int rounds, u32 row_bytes, u32 pitch, u32 stride, u32 blocks) {
    extern __shared__ __align__(128) char words[];
    const u32 each = row_bytes / 16, lane = lane_id();
    const u64 step = static_cast<u64>(32 / each) * pitch;
    const u64 first = __cvta_generic_to_global(data) + warp_id() * kCopies * step + lane / each * static_cast<u64>(pitch) + lane % each * 16;
    const u32 target = shared_address(words) + (warp_id() * kLines + lane / 8) * stride * kLine + lane % 8 * 16;
    const u32 row = stride * kLine, block = blockDim.x / 32 * kLines * row;  // bytes of slots that lie side by side
    u32 at = 0, slot = 0, behind = 0;
    __syncthreads();
    const u64 begin = cycles();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round, at += row_bytes) {
#pragma unroll
        for (int copy = 0; copy < kCopies; ++copy)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(target + copy * 4 * row + behind + slot),
                         "l"(first + copy * step + at) : "memory");
        asm volatile("cp.async.commit_group;" ::: "memory");
        asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
        slot += kLine;
        if (slot == row) slot = 0, behind = behind + block < blocks * block ? behind + block : 0;
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    record(spans, begin, cycles(), 0);
}
