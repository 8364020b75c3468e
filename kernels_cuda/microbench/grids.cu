// Tiles of rows that a grid of CTAs copies as GEMMs do: those of a row of CTAs share A's, those of a column B's.
#include "common.cuh"

constexpr int kThreads = 128;
constexpr int kRows = 64;  // of each operand in a tile

// clocks[CTA]: cycles of the last three quarters of `tiles` tiles, which the L2 has by then. A tile is kRows rows of each
// operand, row_bytes of each row; the next one goes on by row_bytes, and after `span` bytes from the beginning, `pitch` bytes
// from row to row. Where `own` is set, no CTA shares its rows. CTAs begin `skew` bytes after one another, and each tile no
// sooner than `pace` cycles after the one before.
template <int kStages, int kCopies>
DEVICE void grids(u64* clocks, const char* data, int ctas_m, int own, u32 row_bytes, u32 pitch, u32 span, int tiles, u32 skew, int pace) {
    extern __shared__ __align__(128) char target[];
    const int cta = blockIdx.x, m = cta % ctas_m, n = cta / ctas_m;
    const u32 each = row_bytes / 16, rows = kThreads / each;
    const u32 shared = shared_address(target) + threadIdx.x * 16;
    const u64 lane = __cvta_generic_to_global(data) + static_cast<u64>(threadIdx.x / each) * pitch + threadIdx.x % each * 16;
    const u64 a = lane + static_cast<u64>(own ? 2 * cta : m) * kRows * pitch;
    const u64 b = lane + static_cast<u64>(own ? 2 * cta + 1 : ctas_m + n) * kRows * pitch;
    u32 at = static_cast<u32>(cta) * skew % span;
    u64 begin = 0, before = cycles();
#pragma unroll 1
    for (int tile = 0; tile < tiles; ++tile) {
        if (tile == tiles / 4) begin = cycles();
        const u32 to = shared + tile % kStages * kCopies * kThreads * 16;
#pragma unroll
        for (int i = 0; i < kCopies; ++i) {
            const u64 from = (i < kCopies / 2 ? a : b) + static_cast<u64>(i % (kCopies / 2)) * rows * pitch + at;
            asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(to + i * kThreads * 16), "l"(from) : "memory");
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
        asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 2) : "memory");
        __syncthreads();
        at = at + row_bytes < span ? at + row_bytes : 0;
        while (cycles() - before < static_cast<u64>(pace)) {}
        before = cycles();
    }
    if (threadIdx.x == 0) clocks[cta] = cycles() - begin;
    asm volatile("cp.async.wait_all;" ::: "memory");
}

// 64 bytes of each row take four copies of 16 bytes a thread, 128 take eight.
#define GRIDS(STAGES, COPIES)                                                                                              \
    extern "C" __global__ void __launch_bounds__(128) grids_##STAGES##_##COPIES(                                       \
        u64* clocks, const char* data, int ctas_m, int own, int row_bytes, int pitch, int span, int tiles, int skew, int pace) { \
        grids<STAGES, COPIES>(clocks, data, ctas_m, own, row_bytes, pitch, span, tiles, skew, pace);                       \
    }
GRIDS(3, 4) GRIDS(6, 4) GRIDS(3, 8) GRIDS(5, 8)
