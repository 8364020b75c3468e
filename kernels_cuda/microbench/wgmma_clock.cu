// The clock of SMs whose tensor cores are busy for a part of the time: wgmma of two warpgroups, in groups some cycles apart, and
// boxes that TMA loads meanwhile.
#include "wgmma.cuh"

constexpr u32 kABytes = 64 * kOperandRowBytes;
constexpr int kGroup = 4, kWarpgroups = 2, kMultiplying = 4 * kWarpgroups, kPlaces = 4;
constexpr u32 kBoxRows = 128, kBoxBytes = kBoxRows * 128, kColumn = 64, kColumns = 4;

// Boxes of an SM: those of the area of its number over `divide`, modulo `modulo`, one after another; a box begins `pace` cycles after
// the one before at the soonest. There are none if `pace` is 0.
struct Feed {
    u32 pace, divide, modulo, area_rows;
};

DEVICE u32 feed(const TensorMap* map, u32 shared, u32 barriers, const Feed& boxes, volatile u32* done, u32& error) {
    if (!elected() || boxes.pace == 0) return 0;
    const u32 first = sm_id() / boxes.divide % boxes.modulo * boxes.area_rows;
    prefetch(map);
    u64 next = cycles();
    const auto issue = [&](u32 box) {
        wait_until(next);
        next += boxes.pace;
        const u32 at = barriers + 8 * (box % kPlaces), row = box / kColumns * kBoxRows & boxes.area_rows - 1;
        arrive_expecting(at, kBoxBytes);
        load_box(shared + box % kPlaces * kBoxBytes, map, box % kColumns * kColumn, first + row, at);
    };
    u32 box = 0;
    for (; box < kPlaces; ++box) issue(box);
#pragma unroll 1
    for (; *done < kMultiplying && error == 0; ++box) {
        wait(barriers + 8 * (box % kPlaces), box / kPlaces - 1 & 1, error);
        issue(box);
    }
    for (u32 last = box - kPlaces; last < box; ++last) wait(barriers + 8 * (last % kPlaces), last / kPlaces & 1, error);
    return box;
}

// seen[warp]: cycles and nanoseconds at the begin, nanoseconds and cycles at the end; of the last warp, the boxes. A warpgroup begins
// a group `pace` cycles after the one before at the soonest.
template <int kN>
DEVICE void paced(u64* seen, u64* state, const TensorMap* map, const Feed& boxes, u32 pace, u32 trips) {
    __shared__ u64 words[kPlaces];
    __shared__ u32 done;
    const u32 shared = aligned_shared(), barriers = shared_address(words);
    constexpr u32 kOperands = kWarpgroups * kABytes + kN * kOperandRowBytes;
    write_fractions(shared, kOperands);
    u32 error = 0;
    if (threadIdx.x == 0) {
        done = 0;
        for (int i = 0; i < kPlaces; ++i) init_barrier(barriers + 8 * i, 1);
        publish_barriers();
        meet(state, 0, error);
    }
    __syncthreads();
    const u32 warp = __shfl_sync(0xffffffff, warp_id(), 0), all = blockIdx.x * (blockDim.x / 32) + warp;
    if (warp == kMultiplying) {
        const u32 count = feed(map, shared + kOperands, barriers, boxes, &done, error);
        if (count) seen[4 * all] = count;
        report(state, error);
        return;
    }
    const u64 a = descriptor(shared + warp / 4 * kABytes), b = descriptor(shared + kWarpgroups * kABytes);
    float sums[kN / 2] = {};
    const u64 began = nanoseconds(), begin = cycles();
    u64 next = begin;
#pragma unroll 1
    for (u32 trip = 0; trip < trips; ++trip) {
        if (pace) {
            wait_until(next);
            next += pace;
        }
        fence_registers();
#pragma unroll
        for (int i = 0; i < kGroup; ++i) Multiply<kN>::issue(sums, a + i * (kStepBytes / 16), b + i * (kStepBytes / 16));
        commit_multiplies();
        wait_multiplies<0>();
    }
    const u64 end = cycles(), ended = nanoseconds();
    if (fold_sums(sums) == 0x9e3779b9) error |= 4;
    if (lane_id() == 0) {
        atomicAdd(&done, 1u);
        seen[4 * all] = begin;
        seen[4 * all + 1] = began;
        seen[4 * all + 2] = ended;
        seen[4 * all + 3] = end;
    }
    report(state, error);
}

#define PACED(N)                                                                                                     \
    extern "C" __global__ void __launch_bounds__(288) paced_##N(                                                     \
        u64* seen, u64* state, const __grid_constant__ TensorMap map, Feed boxes, u32 pace, u32 trips) {             \
        paced<N>(seen, state, &map, boxes, pace, trips);                                                             \
    }
PACED(64) PACED(128) PACED(256)
