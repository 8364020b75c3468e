// What bursts of loads of global memory hold up of other warps' ldmatrix, and when: as they are looked up, or as they come.
#include "common.cuh"

constexpr u32 kWait = 400;    // cycles between a barrier and a burst
constexpr u32 kReaders = 4;   // warps that load by ldmatrix, one on each SMSP
constexpr int kLoads = 4;     // of every other warp, 512 bytes each
constexpr int kReads = 8;

// Of each burst all warps but the last four load rows of `row_bytes`, pitch bytes apart, at once; the last four load by
// ldmatrix, `more` cycles later with each burst. Each burst goes on by a line along the rows, at their end from the
// beginning. stamps[burst][warp][2]: when the warp's first load issues, and when its last value has come.
extern "C" __global__ void __launch_bounds__(640) amid(u64* stamps, const char* data, int bursts, u32 row_bytes, u32 pitch, u32 more) {
    extern __shared__ __align__(128) char words[];
    __shared__ u64 shared_start;
    const u32 base = shared_address(words), warps = blockDim.x / 32, each = row_bytes / 16, lane = lane_id();
    const u64 step = static_cast<u64>(32 / each) * pitch;
    const u64 first = __cvta_generic_to_global(data) + warp_id() * kLoads * step + lane / each * static_cast<u64>(pitch) + lane % each * 16;
    u32 left = 0, at = 0;
#pragma unroll 1
    for (int burst = 0; burst < bursts; ++burst) {
        __syncthreads();
        if (threadIdx.x == 0) shared_start = cycles() + kWait;
        __syncthreads();
        const u64 start = shared_start;
        u64 begin = 0, end = 0;
        if (warp_id() + kReaders < warps) {
            u32 value[kLoads][4];
#pragma unroll 1
            while (cycles() < start) {}
            begin = cycles();
#pragma unroll
            for (int i = 0; i < kLoads; ++i)
                asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                             : "=r"(value[i][0]), "=r"(value[i][1]), "=r"(value[i][2]), "=r"(value[i][3]) : "l"(first + at + i * step));
            left ^= fold(value);
        } else {
            u32 value[kReads][4];
            const u64 due = start + burst * more;
#pragma unroll 1
            while (cycles() < due) {}
            begin = cycles();
#pragma unroll
            for (int i = 0; i < kReads; ++i) ldmatrix_x4(value[i], base + lane * 16 + i * 512);
            left ^= fold(value);
        }
        // The clock is read behind a branch on what is loaded: nothing else makes it wait for that.
        if (left != 0xfffffffeu) end = cycles();
        if (lane == 0) stamps[(burst * warps + warp_id()) * 2] = begin, stamps[(burst * warps + warp_id()) * 2 + 1] = end;
        at = at + 128 < pitch ? at + 128 : 0;
    }
    if (left == 0xffffffffu) stamps[0] = left;
}
