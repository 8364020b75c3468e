// cp.async of rows: how fast they look up their lines, what they take from ldmatrix, and how many wait when they issue.
#include "common.cuh"

constexpr u32 kLine = 128, kCopyBytes = 512, kChunk = 16;
constexpr int kLinesOfCopy = kCopyBytes / kLine;

DEVICE void copy(u32 to, u64 from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

// A lane's place in a copy of rows of kRow bytes, whose lines of shared memory lie kApart lines apart.
template <int kRow, int kApart>
DEVICE u32 shared_place() {
    constexpr u32 kLanes = kRow / kChunk, kRows = kLine / kRow;
    const u32 row = lane_id() / kLanes;
    return row / kRows * kApart * kLine + (row % kRows * kLanes + lane_id() % kLanes) * kChunk;
}

// The same in global memory, where rows lie `pitch` bytes apart.
template <int kRow>
DEVICE u64 global_place(const char* data, u32 copies, u32 pitch) {
    constexpr u32 kLanes = kRow / kChunk, kRows = kCopyBytes / kRow;
    const u64 row = static_cast<u64>(copies) * kRows + lane_id() / kLanes;
    return __cvta_generic_to_global(data) + row * pitch + lane_id() % kLanes * kChunk;
}

constexpr int kOnTheirWay = 28;  // copies of a warp at once, about

// Each warp copies in groups of kCopies. spans[warp][2]: the clock before the first and when all has landed.
template <int kRow, int kApart, int kCopies>
DEVICE void fills(u64* spans, const char* data, int groups, u32 pitch) {
    extern __shared__ __align__(128) char words[];
    constexpr int kWait = kOnTheirWay / kCopies - 1;
    constexpr int kBlocks = (kWait + kApart) / kApart + 1;  // of kApart groups each, whose lines alternate
    constexpr u32 kBlock = kCopies * kLinesOfCopy * kApart * kLine;
    const u32 to = shared_address(words) + warp_id() * kBlocks * kBlock + shared_place<kRow, kApart>();
    u64 from = global_place<kRow>(data, warp_id() * kCopies, pitch);
    __syncthreads();
    const u64 begin = cycles();
    u32 offset = 0, phase = 0, block = 0;
#pragma unroll 1
    for (int group = 0; group < groups; ++group) {
#pragma unroll
        for (int i = 0; i < kCopies; ++i)
            copy(to + offset + i * kLinesOfCopy * kApart * kLine, from + static_cast<u64>(i) * (kCopyBytes / kRow) * pitch);
        asm volatile("cp.async.commit_group;\ncp.async.wait_group %0;" ::"n"(kWait) : "memory");
        from += kRow;
        offset += kLine;
        if (++phase == kApart) {
            phase = 0;
            if (++block == kBlocks) block = 0;
            offset = block * kBlock;
        }
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    const u64 end = cycles();
    if (lane_id() == 0) spans[2 * warp_id()] = begin, spans[2 * warp_id() + 1] = end;
}

constexpr int kLoaders = 16, kCopiers = 4;
constexpr u32 kLoaded = 4096;                        // bytes that a warp of ldmatrix reads
constexpr int kGroupsOnTheirWay = 3;
constexpr u32 kFilled = 4 * kGroupsOnTheirWay * 2048;  // bytes that a warp of copies fills

// For `window` cycles warps 0 to 15 load by ldmatrix, 16 to 19 copy in groups of kCopies, or not at all where that is 0, and
// those behind them multiply. counts[warp]: the instructions that it has issued.
template <int kRow, int kCopies>
DEVICE void crowded(u64* counts, const char* data, u32 window, u32 pitch) {
    extern __shared__ __align__(128) char words[];
    const u32 base = shared_address(words);
    u32 left = 0;
    u64 count = 0;
    __syncthreads();
    const u64 begin = cycles();
    if (warp_id() < kLoaders) {
        const u32 from = base + warp_id() % 8 * kLoaded + lane_id() * kChunk;
#pragma unroll 1
        while (cycles() - begin < window) {
            u32 found[kLoaded / kCopyBytes][4];
#pragma unroll
            for (u32 i = 0; i < kLoaded / kCopyBytes; ++i) ldmatrix_x4(found[i], from + i * kCopyBytes);
            left ^= fold(found);
            count += kLoaded / kCopyBytes;
        }
    } else if (warp_id() < kLoaders + kCopiers) {
        constexpr int kEach = kCopies == 0 ? 1 : kCopies;
        const u32 copier = warp_id() - kLoaders;
        const u32 to = base + 8 * kLoaded + copier * kFilled + shared_place<kRow, 1>();
        const u64 from = global_place<kRow>(data, copier * kEach, pitch);
        u32 offset = 0, at = 0;
#pragma unroll 1
        while (kCopies != 0 && cycles() - begin < window) {
#pragma unroll
            for (int i = 0; i < kEach; ++i)
                copy(to + offset + i * kCopyBytes, from + at + static_cast<u64>(i) * (kCopyBytes / kRow) * pitch);
            asm volatile("cp.async.commit_group;\ncp.async.wait_group %0;" ::"n"(kGroupsOnTheirWay) : "memory");
            offset = offset == kFilled - 2048 ? 0 : offset + 2048;
            at = at + kRow & 2047;
            count += kEach;
        }
    } else {
        float sums[8][4] = {};
#pragma unroll 1
        while (cycles() - begin < window) {
#pragma unroll
            for (int i = 0; i < 16; ++i) {
                float(&c)[4] = sums[i % 8];
                asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                             : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                             : "r"(pitch), "r"(pitch + 1), "r"(pitch + 2), "r"(pitch + 3), "r"(pitch + 4), "r"(pitch + 5));
            }
            count += 16;
        }
        left = fold(sums);
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    // What is left is never all ones, which ptxas does not know: so it keeps what is loaded and multiplied.
    if (lane_id() == 0) counts[warp_id()] = count + (left == 0xffffffffu);
}

// A burst of kCopies by every warp at once. spans[warp][2]: the clock before it and when its last copy has issued.
template <int kRow, int kCopies>
DEVICE void queued(u64* spans, const char* data, u32 pitch) {
    extern __shared__ __align__(128) char words[];
    const u32 to = shared_address(words) + warp_id() * kCopies * kCopyBytes + shared_place<kRow, 1>();
    const u64 from = global_place<kRow>(data, warp_id() * kCopies, pitch);
    u64 begin = 0, end = 0;
#pragma unroll 1
    for (int pass = 0; pass < 3; ++pass) {
        __syncthreads();
        // A load waits for the barrier, which a clock does not.
        u32 early;
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(early) : "r"(to) : "memory");
        begin = cycles() + (early >> 31);
#pragma unroll
        for (int i = 0; i < kCopies; ++i)
            copy(to + i * kCopyBytes, from + static_cast<u64>(i) * (kCopyBytes / kRow) * pitch);
        end = cycles();
        asm volatile("cp.async.wait_all;" ::: "memory");
    }
    if (lane_id() == 0) spans[2 * warp_id()] = begin, spans[2 * warp_id() + 1] = end;
}

#define FILLS(ROW, APART, COPIES)                                                                                             \
    extern "C" __global__ void fills_##ROW##_##APART##_##COPIES(u64* s, const char* d, int groups, u32 pitch) {               \
        fills<ROW, APART, COPIES>(s, d, groups, pitch);                                                                       \
    }
#define APARTS(ROW) FILLS(ROW, 1, 4) FILLS(ROW, 2, 4) FILLS(ROW, 3, 4) FILLS(ROW, 4, 4) FILLS(ROW, 5, 4) FILLS(ROW, 8, 4)
APARTS(128) APARTS(64) APARTS(32) FILLS(64, 1, 2) FILLS(64, 4, 2) FILLS(64, 1, 7) FILLS(64, 4, 7)

#define CROWDED(ROW, COPIES)                                                                                                  \
    extern "C" __global__ void __launch_bounds__(896) crowded_##ROW##_##COPIES(u64* c, const char* d, u32 window, u32 pitch) { \
        crowded<ROW, COPIES>(c, d, window, pitch);                                                                            \
    }
#define GROUPS(ROW) CROWDED(ROW, 0) CROWDED(ROW, 1) CROWDED(ROW, 2) CROWDED(ROW, 4)
GROUPS(128) GROUPS(64)

#define QUEUED(ROW, COPIES)                                                                                                   \
    extern "C" __global__ void queued_##ROW##_##COPIES(u64* s, const char* d, u32 pitch) { queued<ROW, COPIES>(s, d, pitch); }
#define BURSTS(ROW) QUEUED(ROW, 4) QUEUED(ROW, 8) QUEUED(ROW, 12) QUEUED(ROW, 14) QUEUED(ROW, 16) QUEUED(ROW, 20) QUEUED(ROW, 24)
BURSTS(128) BURSTS(64) BURSTS(32)
