// TMA loads of boxes by one thread: bursts on one barrier, and rings of loads that are each renewed when they have landed.
#include "hopper.cuh"

constexpr u32 kColumn = 64, kColumns = 4;  // elements of 16 bits in a line, and lines side by side

// Boxes that the loads of an SM take in turn: four side by side, a line apart, then those below, within its area of the tensor.
// The SM's number over `divide`, modulo `modulo`, is the area's. A load's place in shared memory has `slot_bytes`. Each round of
// bursts is `round_rows` further down.
struct Boxes {
    u32 bytes, rows, slot_bytes, column_first, row_mask, round_rows, area_rows, divide, modulo;
};

DEVICE u32 first_row(const Boxes& boxes) { return sm_id() / boxes.divide % boxes.modulo * boxes.area_rows; }

// stamps[cta][round]: begin, after the last issue, after all have landed.
template <int kLoads>
DEVICE void burst(u64* stamps, u64* state, const TensorMap* map, const Boxes& boxes, u32 rounds) {
    __shared__ u64 word;
    const u32 barrier = shared_address(&word), shared = aligned_shared(), row = first_row(boxes);
    if (!elected()) return;
    init_barrier(barrier, 1);
    publish_barriers();
    prefetch(map);
    u32 error = 0;
#pragma unroll 1
    for (u32 round = 0; round < rounds && error == 0; ++round) {
        meet(state, round, error);
        const u32 y = row + round * boxes.round_rows;
        const u64 begin = cycles();
        arrive_expecting(barrier, kLoads * boxes.bytes);
#pragma unroll
        for (int i = 0; i < kLoads; ++i)
            load_box(shared + i * boxes.slot_bytes, map, boxes.column_first + i % kColumns * kColumn, y + i / kColumns * boxes.rows,
                     barrier);
        const u64 issued = cycles();
        wait(barrier, round & 1, error);
        const u64 landed = cycles();
        u64* const to = stamps + (static_cast<u64>(blockIdx.x) * rounds + round) * 3;
        to[0] = begin;
        to[1] = issued;
        to[2] = landed;
    }
    check_bytes(barrier, rounds & 1, error);
    report(state, error);
}

// A load in flight on each barrier: a trip waits for each of them, and issues the next one to its place.
template <int kFlight>
DEVICE void issue(const TensorMap* map, const Boxes& boxes, u32 shared, u32 barriers, u32 row, u32 trip, int i) {
    constexpr u32 kBelow = (kFlight + kColumns - 1) / kColumns;
    const u32 y = row + ((trip * kBelow + i / kColumns) * boxes.rows & boxes.row_mask);
    arrive_expecting(barriers + 8 * i, boxes.bytes);
    load_box(shared + i * boxes.slot_bytes, map, boxes.column_first + i % kColumns * kColumn, y, barriers + 8 * i);
}

// spans[cta]: begin and end of `trips` times kFlight loads, once the ring has been filled and has gone round.
template <int kFlight>
DEVICE void ring(u64* spans, u64* state, const TensorMap* map, const Boxes& boxes, u32 trips) {
    __shared__ u64 words[kFlight];
    const u32 barriers = shared_address(words), shared = aligned_shared(), row = first_row(boxes);
    if (!elected()) return;
#pragma unroll
    for (int i = 0; i < kFlight; ++i) init_barrier(barriers + 8 * i, 1);
    publish_barriers();
    prefetch(map);
    u32 error = 0;
    meet(state, 0, error);
#pragma unroll
    for (int i = 0; i < kFlight; ++i) issue<kFlight>(map, boxes, shared, barriers, row, 0, i);
    u64 begin = 0;
#pragma unroll 1
    for (u32 trip = 0; trip <= trips && error == 0; ++trip) {
        if (trip == 1) begin = cycles();
#pragma unroll
        for (int i = 0; i < kFlight; ++i) {
            wait(barriers + 8 * i, trip & 1, error);
            issue<kFlight>(map, boxes, shared, barriers, row, trip + 1, i);
        }
    }
    const u64 end = cycles();
#pragma unroll
    for (int i = 0; i < kFlight; ++i) wait(barriers + 8 * i, (trips + 1) & 1, error);
    check_bytes(barriers, trips & 1, error);
    report(state, error);
    spans[2 * blockIdx.x] = begin;
    spans[2 * blockIdx.x + 1] = end;
}

#define BURST(LOADS)                                                                               \
    extern "C" __global__ void __launch_bounds__(32) burst_##LOADS(                                \
        u64* stamps, u64* state, const __grid_constant__ TensorMap map, Boxes boxes, u32 rounds) { \
        burst<LOADS>(stamps, state, &map, boxes, rounds);                                          \
    }
#define RING(FLIGHT)                                                                             \
    extern "C" __global__ void __launch_bounds__(32) ring_##FLIGHT(                              \
        u64* spans, u64* state, const __grid_constant__ TensorMap map, Boxes boxes, u32 trips) { \
        ring<FLIGHT>(spans, state, &map, boxes, trips);                                          \
    }
BURST(1) BURST(2) BURST(4) BURST(8) BURST(16) BURST(32)
RING(1) RING(2) RING(3) RING(4) RING(6) RING(8)
