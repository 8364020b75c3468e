// TMA stores of an epilogue's boxes by one thread: one group at a time, and a ring of groups.
#include "hopper.cuh"

// Boxes of a CTA: four side by side, `columns` elements apart, then those below, within its area of the tensor.
struct Stores {
    u32 rows, slot_bytes, columns, row_mask, area_rows;
};

constexpr u32 kColumns = 4;

DEVICE void store(const TensorMap* map, const Stores& boxes, u32 shared, u32 n, int place) {
    store_box(map, n % kColumns * boxes.columns, blockIdx.x * boxes.area_rows + (n / kColumns * boxes.rows & boxes.row_mask),
              shared + place * boxes.slot_bytes);
}

// Shared memory that has been written, as an epilogue does, and is known to the copy engine.
DEVICE u32 written_shared(u32 bytes) {
    const u32 shared = aligned_shared();
    for (u32 at = threadIdx.x * 4; at < bytes; at += blockDim.x * 4)
        asm volatile("st.shared.u32 [%0], %1;" ::"r"(shared + at), "r"(at * 2654435761u) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncwarp();
    return shared;
}

// stamps[cta][round]: begin, after the last issue and the commit, when shared memory has been read, when all has been written.
template <int kStores>
DEVICE void burst(u64* stamps, u64* state, const TensorMap* map, const Stores& boxes, u32 rounds) {
    const u32 shared = written_shared(kStores * boxes.slot_bytes);
    if (!elected()) return;
    prefetch(map);
    u32 error = 0;
#pragma unroll 1
    for (u32 round = 0; round < rounds; ++round) {
        meet(state, round, error);
        const u64 begin = cycles();
#pragma unroll
        for (int i = 0; i < kStores; ++i) store(map, boxes, shared, i, i);
        commit_stores();
        const u64 issued = cycles();
        wait_read<0>();
        const u64 read = cycles();
        wait_written<0>();
        const u64 written = cycles();
        u64* const to = stamps + (static_cast<u64>(blockIdx.x) * rounds + round) * 4;
        to[0] = begin;
        to[1] = issued;
        to[2] = read;
        to[3] = written;
    }
    report(state, error);
}

// spans[cta]: begin and end of trips * kGroups stores, a group each: a store waits until at most kGroups - 1 have not been read.
template <int kGroups>
DEVICE void ring(u64* spans, u64* state, const TensorMap* map, const Stores& boxes, u32 trips) {
    const u32 shared = written_shared(kGroups * boxes.slot_bytes);
    if (!elected()) return;
    prefetch(map);
    u32 error = 0;
    meet(state, 0, error);
    u64 begin = 0;
#pragma unroll 1
    for (u32 trip = 0; trip <= trips; ++trip) {
        if (trip == 1) begin = cycles();
#pragma unroll
        for (int i = 0; i < kGroups; ++i) {
            store(map, boxes, shared, trip * kGroups + i, i);
            commit_stores();
            wait_read<kGroups - 1>();
        }
    }
    const u64 end = cycles();
    wait_written<0>();
    report(state, error);
    spans[2 * blockIdx.x] = begin;
    spans[2 * blockIdx.x + 1] = end;
}

#define BURST(STORES)                                                                                \
    extern "C" __global__ void __launch_bounds__(32) burst_##STORES(                                 \
        u64* stamps, u64* state, const __grid_constant__ TensorMap map, Stores boxes, u32 rounds) {  \
        burst<STORES>(stamps, state, &map, boxes, rounds);                                           \
    }
#define RING(GROUPS)                                                                              \
    extern "C" __global__ void __launch_bounds__(32) ring_##GROUPS(                               \
        u64* spans, u64* state, const __grid_constant__ TensorMap map, Stores boxes, u32 trips) { \
        ring<GROUPS>(spans, state, &map, boxes, trips);                                           \
    }
BURST(1) BURST(2) BURST(4) BURST(8)
RING(1) RING(2) RING(3) RING(4)
