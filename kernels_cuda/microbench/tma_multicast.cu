// Boxes that the CTAs of a cluster load by multicast, or each for itself, through a ring whose stages a second warp releases.
#include "hopper.cuh"

// What a CTA loads for a stage: the whole box itself; its slice of the box, to all CTAs; rank 0 the whole box, to all CTAs; or a
// whole box of its own and its slice of another one, to all CTAs, as a GEMM's cluster does with its two operands.
struct plain {
    static constexpr bool kWhole = true, kSlice = false, kLeader = false, kShared = false;
};
struct slices {
    static constexpr bool kWhole = false, kSlice = true, kLeader = false, kShared = true;
};
struct leader {
    static constexpr bool kWhole = false, kSlice = false, kLeader = true, kShared = true;
};
struct both {
    static constexpr bool kWhole = true, kSlice = true, kLeader = false, kShared = true;
};

// A box of `rows` rows of 128 bytes. The boxes of a cluster, or with `own` those that a CTA loads for itself, are in its area of the
// tensor; areas of clusters lie behind those of CTAs.
struct Shared {
    u32 rows, row_mask, area_rows, own;
};

constexpr u32 kRowBytes = 128, kColumn = 64, kColumns = 4;

template <class Kind, int kCluster>
DEVICE void fill(const TensorMap* whole, const TensorMap* slice, const Shared& boxes, u32 to, u32 full, u32 own_row, u32 row,
                 u32 turn, u32 rank) {
    const u32 bytes = boxes.rows * kRowBytes;
    const u32 x = turn % kColumns * kColumn, below = turn / kColumns * boxes.rows & boxes.row_mask, y = row + below;
    arrive_expecting(full, (Kind::kWhole && Kind::kSlice ? 2 : 1) * bytes);
    if (Kind::kWhole) load_box(to, whole, x, own_row + below, full);
    if (Kind::kSlice) {
        const u32 first = rank * (boxes.rows / kCluster);
        load_box_to((1u << kCluster) - 1, to + (Kind::kWhole ? bytes : 0) + first * kRowBytes, slice, x, y + first, full);
    }
    if (Kind::kLeader && rank == 0) load_box_to((1u << kCluster) - 1, to, whole, x, y, full);
}

// spans[cta]: when the first box behind those of the first two trips has landed, and when the last one has. Warp 0 fills stages
// that all CTAs it multicasts to have released, warp 1 waits for them and releases them.
template <class Kind, int kCluster, int kStages>
DEVICE void multicast(u64* spans, u64* state, const TensorMap* whole, const TensorMap* slice, const Shared& boxes, u32 trips) {
    __shared__ u64 words[2 * kStages];
    const u32 fulls = shared_address(words), empties = fulls + 8 * kStages, shared = aligned_shared();
    const u32 rank = cluster_rank(), row = (gridDim.x + cluster_id()) * boxes.area_rows;
    const u32 own_row = boxes.own ? blockIdx.x * boxes.area_rows : row;
    const u32 stage_bytes = (Kind::kWhole && Kind::kSlice ? 2 : 1) * boxes.rows * kRowBytes;
    u32 error = 0;
    if (threadIdx.x == 0) {
#pragma unroll
        for (int i = 0; i < kStages; ++i) {
            init_barrier(fulls + 8 * i, 1);
            init_barrier(empties + 8 * i, Kind::kShared ? kCluster : 1);
        }
        publish_barriers();
        prefetch(whole);
        prefetch(slice);
    }
    sync_cluster();
    const u32 warp = __shfl_sync(0xffffffff, warp_id(), 0);
    if (warp == 0) {
        if (elected()) {
            meet(state, 0, error);
#pragma unroll 1
            for (u32 trip = 0; trip < trips && error == 0; ++trip) {
#pragma unroll
                for (int i = 0; i < kStages; ++i) {
                    wait(empties + 8 * i, (trip & 1) ^ 1, error);
                    fill<Kind, kCluster>(whole, slice, boxes, shared + i * stage_bytes, fulls + 8 * i, own_row, row,
                                         trip * kStages + i, rank);
                }
            }
            report(state, error);
        }
    } else if (elected()) {
        u32 peers[kCluster];
#pragma unroll
        for (int i = 0; i < kCluster; ++i) peers[i] = address_in(empties, i);
        u64 begin = 0, end = 0;
#pragma unroll 1
        for (u32 trip = 0; trip < trips && error == 0; ++trip) {
#pragma unroll
            for (int i = 0; i < kStages; ++i) {
                wait(fulls + 8 * i, trip & 1, error);
                if (i == 0 && trip == 2) begin = cycles();
                if (i == kStages - 1) end = cycles();
                if (Kind::kShared) {
#pragma unroll
                    for (int peer = 0; peer < kCluster; ++peer) arrive_remotely(peers[peer] + 8 * i);
                } else {
                    arrive(empties + 8 * i);
                }
            }
        }
        report(state, error);
        spans[2 * blockIdx.x] = begin;
        spans[2 * blockIdx.x + 1] = end;
    }
    __syncwarp();
    sync_cluster();  // no CTA leaves while others may write or arrive there
}

#define KERNEL(KIND, CLUSTER, STAGES)                                                                                         \
    extern "C" __cluster_dims__(CLUSTER, 1, 1) __global__ void __launch_bounds__(64) KIND##_##CLUSTER##_##STAGES(             \
        u64* spans, u64* state, const __grid_constant__ TensorMap whole, const __grid_constant__ TensorMap slice, Shared boxes, \
        u32 trips) {                                                                                                          \
        multicast<KIND, CLUSTER, STAGES>(spans, state, &whole, &slice, boxes, trips);                                         \
    }
#define STAGES(KIND, CLUSTER) KERNEL(KIND, CLUSTER, 4) KERNEL(KIND, CLUSTER, 6) KERNEL(KIND, CLUSTER, 8) KERNEL(KIND, CLUSTER, 12)
#define KINDS(CLUSTER) STAGES(plain, CLUSTER) STAGES(slices, CLUSTER) STAGES(leader, CLUSTER) STAGES(both, CLUSTER)
KINDS(2) KINDS(4)
