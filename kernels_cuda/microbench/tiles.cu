// Copies of tiles as a mainloop issues them, by some warps, while other warps of the SM issue ldmatrix or mma.sync.
#include "common.cuh"

enum Beside { kNothing = 0, kLdmatrix = 1, kBoth = 2, kMma = 3 };

constexpr u32 kTileBytes = 131072;  // shared memory that the copies fill, warp by warp; the others load from what follows
constexpr u32 kSharedBytes = 147456;

// Rounds of one warp until `cycles` have passed: kCopies cp.async of 16 bytes a lane, rows of row_bytes pitch bytes apart, the
// next round row_bytes further along, span bytes of each row in turn; kPending groups may be on their way after a round.
template <int kCopies, int kPending>
DEVICE int copy_rounds(u32 shared, u64 base, u64 until, u32 row_bytes, u32 pitch, u32 span) {
    const u32 each = row_bytes / 16;
    const u64 step = static_cast<u64>(32 / each) * pitch;
    u64 row = base + lane_id() / each * static_cast<u64>(pitch) + lane_id() % each * 16;
    u32 at = 0, filled = 0;
    int rounds = 0;
#pragma unroll 1
    while (cycles() < until) {
        copy_group<kCopies, kPending>(shared + filled, row + at, step);
        filled = next_filled<kCopies, kPending>(filled);
        at = at + row_bytes < span ? at + row_bytes : 0;
        ++rounds;
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    return rounds;
}

// Rounds of 8 ldmatrix.x4, of 16 mma.sync m16n8k16, or of both.
template <int kBeside>
DEVICE int other_rounds(u32 shared, u64 until, u32& left) {
    constexpr int kLoads = kBeside == kMma ? 0 : 8, kMmas = kBeside == kLdmatrix ? 0 : 16;
    u32 loaded[8][4] = {};
    float sums[8][4] = {};
    const u32 operand = threadIdx.x;
    int rounds = 0;
#pragma unroll 1
    while (cycles() < until) {
#pragma unroll
        for (int slot = 0; slot < 16; ++slot) {
            if (kLoads && slot % 2 == 0)
                ldmatrix_x4(loaded[slot / 2], shared + slot / 2 * 512);
            if (kMmas) {
                float(&c)[4] = sums[slot % 8];
                asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                             : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                             : "r"(operand), "r"(operand + 1), "r"(operand + 2), "r"(operand + 3), "r"(operand + 4), "r"(operand + 5));
            }
        }
        ++rounds;
    }
    left = fold(loaded) ^ fold(sums);
    return rounds;
}

// counts[warp]: its rounds. The first `copiers` warps copy. CTAs of a group of shared_by copy the same tiles.
template <int kBeside, int kCopies, int kPending>
DEVICE void tiles(u64* counts, const char* data, int copiers, int duration, u32 row_bytes, u32 pitch, u32 span, int shared_by) {
    extern __shared__ __align__(128) char words[];
    const int warp = warp_id();
    const u32 shared = shared_address(words), each = row_bytes / 16;
    const u64 footprint = static_cast<u64>(kCopies) * (32 / each) * pitch;
    const u64 base = __cvta_generic_to_global(data) + (blockIdx.x / shared_by * copiers + warp) * footprint;
    for (u32 i = threadIdx.x * 4; i < kSharedBytes; i += blockDim.x * 4) *reinterpret_cast<u32*>(words + i) = i;
    const u32 own = shared + warp % 8 * 16384 + lane_id() * 16;
    __syncthreads();
    // Once without a clock, so that the L2 has all of it.
    if (warp < copiers)
        for (u32 at = 0; at < span; at += row_bytes) {
            u64 from = base + lane_id() / each * static_cast<u64>(pitch) + lane_id() % each * 16 + at;
            for (int i = 0; i < kCopies; ++i, from += static_cast<u64>(32 / each) * pitch)
                asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(own + i * 512), "l"(from) : "memory");
        }
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    const u64 until = cycles() + duration;
    u32 left = 0;
    int rounds = 0;
    if (warp < copiers) rounds = copy_rounds<kCopies, kPending>(own, base, until, row_bytes, pitch, span);
    else if (kBeside != kNothing) rounds = other_rounds<kBeside>(shared + kTileBytes + lane_id() * 16, until, left);
    if (lane_id() == 0) counts[blockIdx.x * (blockDim.x / 32) + warp] = rounds;
    // Never true, which ptxas does not know: so it keeps what is loaded.
    if (rounds == duration) counts[0] = left;
}

#define TILES(BESIDE, COPIES, PENDING)                                                                                   \
    extern "C" __global__ void __launch_bounds__(512) tiles_##BESIDE##_##COPIES##_##PENDING(                             \
        u64* counts, const char* data, int copiers, int duration, u32 row_bytes, u32 pitch, u32 span, int shared_by) {    \
        tiles<BESIDE, COPIES, PENDING>(counts, data, copiers, duration, row_bytes, pitch, span, shared_by);              \
    }
#define COPIES(BESIDE) TILES(BESIDE, 4, 0) TILES(BESIDE, 4, 3) TILES(BESIDE, 8, 0) TILES(BESIDE, 8, 1) TILES(BESIDE, 8, 3)
COPIES(0) COPIES(1) COPIES(2) COPIES(3)
