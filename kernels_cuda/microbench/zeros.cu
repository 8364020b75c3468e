// What cp.async that write zeros wait for behind those that bring something, and what waits for them.
#include "common.cuh"

enum Order { kAhead = 1, kLoads = 2 };  // 0: zeros stand behind the copies

constexpr int kMatrices = 4;     // ldmatrix.x4 that are waited for
constexpr u32 kWarpSpan = 131072;  // of global memory, from which a warp copies
constexpr u32 kPitch = 8192;       // from one row of a copy to the next

// On SM 0 each warp issues kCopies cp.async of 16 bytes a lane, in rows of `row` bytes, and kZeros that write zeros,
// behind them or ahead, in shared memory of their own; all warps begin a trip together. counts[warp]: cycles until the
// last one has issued, and until all is there. With kLoads it waits for the copies alone, and at a barrier, and loads
// then: cycles until the barrier is passed, and from there until the data of the last load is there. The words that are
// loaded are ANDed with `nothing`, 0, which ptxas does not know.
template <int kCopies, int kZeros, int kOrder>
DEVICE void zeros(u64* counts, char* data, u32 row, u32 trips, u32 nothing) {
    extern __shared__ __align__(128) char words[];
    if (sm_id() != 0) return;
    const u32 own = shared_address(words) + warp_id() * ((kCopies + kZeros) * 512) + lane_id() * 16;
    const u64 from = __cvta_generic_to_global(data) + warp_id() * kWarpSpan + lane_id() * 16 / row * kPitch + lane_id() * 16 % row;
    u64 issue = 0, done = 0;
    u32 left = 0;
#pragma unroll 1
    for (u32 trip = 0; trip < trips; ++trip) {
        __syncthreads();
        const u64 begin = cycles();
        if (kOrder == kAhead) {
#pragma unroll
            for (int i = 0; i < kZeros; ++i)
                asm volatile("cp.async.cg.shared.global [%0], [%1], 16, 0;" ::"r"(own + (kCopies + i) * 512), "l"(from + i * row) : "memory");
        }
#pragma unroll
        for (int i = 0; i < kCopies; ++i)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(own + i * 512), "l"(from + i * row) : "memory");
        asm volatile("cp.async.commit_group;" ::: "memory");
        if (kOrder != kAhead) {
#pragma unroll
            for (int i = 0; i < kZeros; ++i)
                asm volatile("cp.async.cg.shared.global [%0], [%1], 16, 0;" ::"r"(own + (kCopies + i) * 512), "l"(from + i * row) : "memory");
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
        if (kOrder == kLoads) {
            asm volatile("cp.async.wait_group 1;" ::: "memory");
            __syncthreads();
        }
        const u64 issued = cycles();
        u64 end;
        if (kOrder == kLoads) {
            u32 matrices[kMatrices][4], all = 0;
#pragma unroll
            for (int i = 0; i < kMatrices; ++i) ldmatrix_x4(matrices[i], own + i * 512);
#pragma unroll
            for (int i = 0; i < kMatrices; ++i) all |= matrices[i][0];
            asm volatile("{ .reg .u64 now; mov.u64 now, %%clock64; add.u64 %0, now, %1; }" : "=l"(end) : "l"(static_cast<u64>(all & nothing)) : "memory");
            left |= all;
        }
        asm volatile("cp.async.wait_all;" ::: "memory");
        if (kOrder != kLoads) end = cycles();
        if (trip >= 2) {
            issue += issued - begin;
            done += end - (kOrder == kLoads ? issued : begin);
        }
    }
    if (lane_id() == 0) {
        counts[warp_id() * 2] = issue;
        counts[warp_id() * 2 + 1] = done + (left & nothing);
    }
}

#define ZEROS(COPIES, COUNT, ORDER)                                                          \
    extern "C" __global__ void __launch_bounds__(256)                                         \
        zeros_##COPIES##_##COUNT##_##ORDER(u64* counts, char* data, u32 row, u32 trips, u32 nothing) { \
        zeros<COPIES, COUNT, ORDER>(counts, data, row, trips, nothing);                       \
    }
#define ORDERS(COPIES, COUNT) ZEROS(COPIES, COUNT, 0) ZEROS(COPIES, COUNT, 1) ZEROS(COPIES, COUNT, 2)
#define COUNTS(COPIES) ORDERS(COPIES, 0) ORDERS(COPIES, 4) ORDERS(COPIES, 8) ORDERS(COPIES, 16) ORDERS(COPIES, 24)
COUNTS(0) COUNTS(4) COUNTS(8) COUNTS(16)
