// The producers: the warp that loads A and B with TMA, and the warp that loads C.
// Mirrors gpusim/families/hopper/program/producer.py.
#pragma once

#include "hopper/pipeline.cuh"
#include "hopper/scheduler.cuh"

namespace gpusim {

constexpr int kTensorA = 0, kTensorB = 1, kTensorC = 2, kTensorD = 3;

// What a CTA loads of the operands: its slices, and the CTAs that receive them.
struct Slices {
  int of_a;
  int of_b;
  uint32 mask_a;
  uint32 mask_b;

  GPUSIM_DEVICE explicit Slices(Place const& place)
      : of_a(place.n), of_b(place.m), mask_a(place.sharers_of_a()), mask_b(place.sharers_of_b()) {}
};

// The boxes of one slice of an operand's k tile. `row` is the tile's first along M or N, `k` the k tile's first.
template <class Operand, int kTensor>
GPUSIM_DEVICE void load_boxes(TensorMap const& map, uint32 base, int stage, uint32 full, int row, int k, int batch,
                              int slice, uint32 mask, Recorder& recorder) {
  int const number = Operand::kSlices > 1 ? slice : 0;
  uint32 const to = base + Operand::kBase + stage * Operand::kBytes + number * Operand::kSliceBytes;
  // A slice cuts the boxes along their other extent than the contiguous one.
  int const along = Operand::kKContiguous ? k : row;
  int const y = (Operand::kKContiguous ? row : k) + number * Operand::kSliceRows;
  GPUSIM_UNROLL
  for (int box = 0; box < Operand::kBoxes; ++box) {
    uint32 const shared = to + box * Operand::kBoxStepBytes;
    int const x = along + box * Operand::kBoxStep;
    if constexpr (Operand::kSlices > 1) {
      GPUSIM_RECORD(write(GPUSIM_EVENT_SM90_TMA_LOAD_MULTICAST_3D, kTensor, recorder.barrier(full), mask,
                          recorder.shared(shared), x, y, batch));
      tma_load_multicast(shared, map, full, mask, x, y, batch);
    } else {
      GPUSIM_RECORD(write(GPUSIM_EVENT_SM90_TMA_LOAD_3D, kTensor, recorder.barrier(full), 0, recorder.shared(shared), x,
                          y, batch));
      tma_load(shared, map, full, x, y, batch);
    }
  }
}

// A k tile: wait until the slot is empty, expect its bytes, load. One thread.
GPUSIM_DEVICE void load_k_tile(Params const& params, uint32 base, Tile const& tile, int k_tile,
                               PipelineState<kStages> const& state, Slices const& slices, Recorder& recorder) {
  uint32 const full = barrier_at(base, kFull, state.index);
  wait(barrier_at(base, kEmpty, state.index), state.phase, recorder);
  GPUSIM_RECORD(write(GPUSIM_EVENT_MBAR_ARRIVE_AND_EXPECT_TX, recorder.barrier(full), kStageBytes));
  mbarrier_arrive_expect(full, kStageBytes);
  load_boxes<OperandA, kTensorA>(params.a, base, state.index, full, tile.m * kTileM, k_tile * kTileK, tile.l,
                                 slices.of_a, slices.mask_a, recorder);
  load_boxes<OperandB, kTensorB>(params.b, base, state.index, full, tile.n * kTileN, k_tile * kTileK, tile.l,
                                 slices.of_b, slices.mask_b, recorder);
}

template <int kSlots>
GPUSIM_DEVICE PipelineState<kSlots> producer_start() {
  PipelineState<kSlots> state;
  state.phase = 1;
  return state;
}

// No slot may be in use when the CTA ends.
template <int kSlots>
GPUSIM_DEVICE void drain(uint32 base, int pipeline, PipelineState<kSlots> state, Recorder& recorder) {
  GPUSIM_NO_UNROLL
  for (int slot = 0; slot < kSlots; ++slot, state.advance())
    wait(barrier_at(base, pipeline, state.index), state.phase, recorder);
}

// The whole warp; the elected lane loads.
GPUSIM_DEVICE void load_operands(Params const& params, uint32 base, Recorder& recorder) {
  Slices const slices{Place()};
  PipelineState<kStages> state = producer_start<kStages>();
  Scheduler scheduler(params);
  bool first = true;
  for (; scheduler.valid(params); scheduler.advance()) {
    if (elect_one()) {
      Tile const tile = scheduler.tile(params);
      GPUSIM_NO_UNROLL
      for (int k_tile = 0; k_tile < params.k_tiles; ++k_tile, state.advance())
        load_k_tile(params, base, tile, k_tile, state, slices, recorder);
    }
    warp_barrier();
    if constexpr (kOrdersLoads) {
      if (first) LoadOrder(0).pass_on(base, recorder);
      first = false;
    }
  }
  if (elect_one()) drain(base, kEmpty, state, recorder);
  warp_barrier();
}

// The whole warp waits and arrives; the elected lane loads.
GPUSIM_DEVICE void load_source(Params const& params, uint32 base, Recorder& recorder) {
  PipelineState<kStagesC> state = producer_start<kStagesC>();
  int const rank = Place().rank();
  Scheduler scheduler(params);
  if constexpr (kOrdersLoads) {
    if (scheduler.valid(params)) LoadOrder(1).await(base, recorder);
  }
  for (; scheduler.valid(params); scheduler.advance()) {
    Tile const tile = scheduler.tile(params);
    GPUSIM_NO_UNROLL
    for (int subtile = 0; subtile < kSubtilesM * kSubtilesN; ++subtile, state.advance()) {
      uint32 const full = barrier_at(base, kSourceFull, state.index);
      wait(barrier_at(base, kSourceEmpty, state.index), state.phase, recorder);
      if (elect_one()) {
        uint32 const shared = base + kBaseC + state.index * kSubtileBytes;
        int const x = tile.n * kTileN + subtile / kSubtilesM * kSubtileN;
        int const y = tile.m * kTileM + subtile % kSubtilesM * kSubtileM;
        GPUSIM_RECORD(write(GPUSIM_EVENT_SM90_TMA_LOAD_3D, kTensorC, recorder.barrier(full), 0,
                            recorder.shared(shared), x, y, tile.l));
        tma_load(shared, params.c, full, x, y, tile.l);
        GPUSIM_RECORD(write(GPUSIM_EVENT_MBAR_EXPECT_TRANSACTION, recorder.barrier(full), kSubtileBytes));
        mbarrier_expect(full, kSubtileBytes);
      }
      warp_barrier();
      arrive_remote(full, rank, recorder);
    }
  }
  if (Scheduler(params).valid(params)) drain(base, kSourceEmpty, state, recorder);
}

}  // namespace gpusim
