// What follows a warp's copies, and how long they keep it: more copies, the end of their group, a wait, a barrier, new addresses.
#include "common.cuh"

enum Behind { kCommits = 1, kWaits = 2, kMeets = 4, kMoves = 8 };

constexpr int kTiles = 16;   // of one pass, eight of which differ, by what stands in the instruction
constexpr int kPending = 6;  // groups that a wait leaves: none of them is waited for
constexpr u32 kPitch = 8192;

template <int kRowBytes, int kTile, int kCopy>
DEVICE void copy(u32 shared, u64 from) {
    constexpr int kRows = 512 / kRowBytes;
    asm volatile("cp.async.cg.shared.global.L2::128B [%0+%2], [%1+%3], 16;" ::"r"(shared), "l"(from),
                 "n"((kTile % 4 * 8 + kCopy) * 512), "n"(kCopy * kRows * static_cast<int>(kPitch) + kTile % 8 * kRowBytes) : "memory");
}

template <int kRowBytes, int kCopies, int kBehind, int kTile>
struct Tiles {
    static DEVICE void issue(u32 shared, u64& from, u64 none) {
        copy<kRowBytes, kTile, 0>(shared, from);
        if (kCopies > 1) copy<kRowBytes, kTile, 1>(shared, from);
        if (kCopies > 2) {
            copy<kRowBytes, kTile, 2>(shared, from);
            copy<kRowBytes, kTile, 3>(shared, from);
        }
        if (kCopies > 4) {
            copy<kRowBytes, kTile, 4>(shared, from);
            copy<kRowBytes, kTile, 5>(shared, from);
            copy<kRowBytes, kTile, 6>(shared, from);
            copy<kRowBytes, kTile, 7>(shared, from);
        }
        if (kBehind & kCommits) asm volatile("cp.async.commit_group;" ::: "memory");
        if (kBehind & kWaits) asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
        if (kBehind & kMeets) asm volatile("bar.sync 0;" ::: "memory");
        // The addresses' registers are written, and so must have been read.
        if (kBehind & kMoves) asm volatile("add.u64 %0, %0, %1;" : "+l"(from) : "l"(none) : "memory");
        Tiles<kRowBytes, kCopies, kBehind, kTile + 1>::issue(shared, from, none);
    }
};

template <int kRowBytes, int kCopies, int kBehind>
struct Tiles<kRowBytes, kCopies, kBehind, kTiles> {
    static DEVICE void issue(u32, u64&, u64) {}
};

// clocks[warp of the grid]: cycles of all passes but the first. Every warp copies rows of its own, kPitch bytes apart, of its
// CTA's `span` bytes.
template <int kRowBytes, int kCopies, int kBehind>
DEVICE void commits(u64* clocks, const char* data, int passes, u32 span, u64 none) {
    extern __shared__ __align__(128) char target[];
    constexpr u32 each = kRowBytes / 16, rows = 32 / each;
    const u32 shared = shared_address(target) + warp_id() * 16384 + lane_id() * 16;
    u64 from = __cvta_generic_to_global(data) + static_cast<u64>(blockIdx.x) * span +
               static_cast<u64>(warp_id() * kCopies * rows + lane_id() / each) * kPitch + lane_id() % each * 16;
    u64 begin = 0;
#pragma unroll 1
    for (int pass = 0; pass < passes; ++pass) {
        if (pass == 1) begin = cycles();
        Tiles<kRowBytes, kCopies, kBehind, 0>::issue(shared, from, none);
    }
    if (lane_id() == 0) clocks[(static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x) / 32] = cycles() - begin;
    asm volatile("cp.async.wait_all;" ::: "memory");
}

#define COMMITS(ROW, COPIES, BEHIND)                                                                                     \
    extern "C" __global__ void __launch_bounds__(256) commits_##ROW##_##COPIES##_##BEHIND(                             \
        u64* clocks, const char* data, int passes, u32 span, u64 none) {                                                 \
        commits<ROW, COPIES, BEHIND>(clocks, data, passes, span, none);                                                  \
    }
#define BEHINDS(ROW, COPIES)                                                                                             \
    COMMITS(ROW, COPIES, 0) COMMITS(ROW, COPIES, 1) COMMITS(ROW, COPIES, 3) COMMITS(ROW, COPIES, 4)                     \
    COMMITS(ROW, COPIES, 5) COMMITS(ROW, COPIES, 7) COMMITS(ROW, COPIES, 8) COMMITS(ROW, COPIES, 15)
#define COUNTS(ROW) BEHINDS(ROW, 1) BEHINDS(ROW, 2) BEHINDS(ROW, 4) BEHINDS(ROW, 8)
COUNTS(64) COUNTS(128) COUNTS(512)
