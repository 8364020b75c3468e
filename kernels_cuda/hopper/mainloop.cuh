// The consumers' main loop: wgmma on the stages that TMA has filled, and the release of the stage before.
// Mirrors gpusim/families/hopper/program/consumer.py.
#pragma once

#include "hopper/pipeline.cuh"
#include "hopper/producer.cuh"
#include "hopper/wgmma.cuh"

namespace gpusim {

// The wgmma of a warpgroup for a k tile; `kBegins`: the first ones overwrite the accumulators.
template <bool kBegins>
GPUSIM_DEVICE void multiply(Accumulators& d, uint32 first_a, uint32 first_b, int stage, Recorder& recorder) {
  GPUSIM_UNROLL
  for (int k_block = 0; k_block < kKBlocks; ++k_block) {
    uint64 const b = descriptor<OperandB>(first_b, stage, 0, k_block);
    GPUSIM_UNROLL
    for (int m = 0; m < kMBlocks; ++m) {
      uint64 const a = descriptor<OperandA>(first_a, stage, m * kConsumers, k_block);
      GPUSIM_RECORD(wgmma(a, b, !(kBegins && k_block == 0)));
      if (kBegins && k_block == 0) {
        wgmma<false>(d[m], a, b);
      } else {
        wgmma<true>(d[m], a, b);
      }
    }
  }
}

// A consumer warpgroup's main loop and its accumulators. Sums of 8-bit floats that are promoted lie in `sums`.
struct Mainloop {
  uint32 base;
  uint32 first_a;
  uint32 first_b;
  Release release;
  PipelineState<kStages> state;

  // `slot`: which of the warpgroups that share a tile.
  GPUSIM_DEVICE Mainloop(uint32 base, int slot)
      : base(base),
        first_a(first_descriptor<OperandA>(base) + slot * OperandA::kMStep),
        first_b(first_descriptor<OperandB>(base)),
        release(Place()) {}

  // One k tile, up to the commit.
  template <bool kBegins, bool kTries>
  GPUSIM_DEVICE void k_tile(Accumulators& d, Recorder& recorder) {
    uint32 const full = barrier_at(base, kFull, state.index);
    if constexpr (kTries) {
      try_and_wait(full, state.phase, recorder);
    } else {
      wait(full, state.phase, recorder);
    }
    hold(d);
    GPUSIM_RECORD(write(GPUSIM_EVENT_WGMMA_FENCE));
    wgmma_fence();
    multiply<kBegins>(d, first_a, first_b, state.index, recorder);
    GPUSIM_RECORD(write(GPUSIM_EVENT_WGMMA_COMMIT_GROUP));
    wgmma_commit();
  }

  template <int kPending>
  GPUSIM_DEVICE void wait_wgmma(Accumulators& d, Recorder& recorder) {
    GPUSIM_RECORD(write(GPUSIM_EVENT_WGMMA_WAIT_GROUP, kPending));
    wgmma_wait<kPending>();
    hold(d);
  }

  // The main loop of one tile, up to its tail. Returns the stage that is still held.
  GPUSIM_DEVICE int run(Accumulators& d, Accumulators& sums, int k_tiles, Recorder& recorder) {
    k_tile<true, true>(d, recorder);
    if constexpr (kPromotes) {
      wait_wgmma<0>(d, recorder);
      GPUSIM_UNROLL
      for (int m = 0; m < kMBlocks; ++m) {
        GPUSIM_UNROLL
        for (int i = 0; i < kAccumulators; ++i) sums[m][i] = d[m][i];
      }
    }
    int held = state.index;
    state.advance();
    GPUSIM_NO_UNROLL
    for (int number = 1; number < k_tiles; ++number) {
      k_tile<kPromotes, true>(d, recorder);
      wait_wgmma<1>(d, recorder);
      if constexpr (kPromotes) {
        wait_wgmma<0>(d, recorder);
        GPUSIM_UNROLL
        for (int m = 0; m < kMBlocks; ++m) {
          GPUSIM_UNROLL
          for (int i = 0; i < kAccumulators; ++i) sums[m][i] += d[m][i];
        }
      }
      release(base, held, recorder);
      held = state.index;
      state.advance();
    }
    return held;
  }

  // All wgmma are awaited, and the last stage released.
  GPUSIM_DEVICE void tail(Accumulators& d, int held, Recorder& recorder) {
    wait_wgmma<0>(d, recorder);
    release(base, held, recorder);
  }

  // The main loop of a kernel whose threads load and multiply: a k tile is loaded when a stage was released.
  GPUSIM_DEVICE void load_and_multiply(Params const& params, Tile const& tile, Accumulators& d, Recorder& recorder) {
    Slices const slices{Place()};
    PipelineState<kStages> filled = producer_start<kStages>();
    bool const loads = threadIdx.x < kWarpSize;  // the first warp, of which the elected lane loads
    int const k_tiles = params.k_tiles;
    if (loads && elect_one()) {
      GPUSIM_NO_UNROLL
      for (int ahead = 0; ahead < kStages && ahead < k_tiles; ++ahead, filled.advance())
        load_k_tile(params, base, tile, ahead, filled, slices, recorder);
    }
    int ahead = least(kStages, k_tiles);
    GPUSIM_RECORD(write(GPUSIM_EVENT_SYNCTHREADS));
    cta_barrier();
    k_tile<true, false>(d, recorder);
    int held = state.index;
    state.advance();
    GPUSIM_NO_UNROLL
    for (int number = 1; number < k_tiles; ++number) {
      k_tile<false, false>(d, recorder);
      wait_wgmma<1>(d, recorder);
      release(base, held, recorder);
      held = state.index;
      state.advance();
      if (ahead < k_tiles) {
        if (loads && elect_one()) {
          load_k_tile(params, base, tile, ahead, filled, slices, recorder);
          filled.advance();
        }
        warp_barrier();
        ++ahead;
      }
    }
    wait_wgmma<0>(d, recorder);
  }
};

}  // namespace gpusim
