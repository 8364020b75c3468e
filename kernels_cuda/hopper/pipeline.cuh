// Pipelines of mbarriers: where a role stands in a ring, how it waits and arrives, and how groups take turns.
// Mirrors gpusim/families/hopper/program/pipelines.py.
#pragma once

#include "hopper/config.cuh"
#include "hopper/ptx.cuh"
#include "hopper/record.cuh"

namespace gpusim {

// A producer begins with phase 1: its slots are empty.
template <int kSlots>
struct PipelineState {
  int index = 0;
  uint32 phase = 0;

  GPUSIM_DEVICE void advance() {
    if (++index == kSlots) {
      index = 0;
      phase ^= 1;
    }
  }
  // `count` slots on, of which `turns` is count / kSlots and `rest` count % kSlots.
  GPUSIM_DEVICE void skip(int turns, int rest) {
    index += rest;
    phase ^= turns & 1;
    if (index >= kSlots) {
      index -= kSlots;
      phase ^= 1;
    }
  }
};

GPUSIM_DEVICE uint32 barrier_at(uint32 base, int pipeline, int index) {
  return base + pipeline + index * kBarrierBytes;
}

GPUSIM_DEVICE void wait(uint32 barrier, uint32 parity, Recorder& recorder) {
  GPUSIM_RECORD(write(GPUSIM_EVENT_MBAR_WAIT, recorder.barrier(barrier), parity));
  recorder.await(barrier, parity);
}
GPUSIM_DEVICE void try_and_wait(uint32 barrier, uint32 parity, Recorder& recorder) {
  GPUSIM_RECORD(write(GPUSIM_EVENT_MBAR_TRY_WAIT, recorder.barrier(barrier), parity));
  recorder.await(barrier, parity);
}
GPUSIM_DEVICE void arrive(uint32 barrier, Recorder& recorder) {
  GPUSIM_RECORD(write(GPUSIM_EVENT_MBAR_ARRIVE, recorder.barrier(barrier)));
  mbarrier_arrive(barrier);
}
GPUSIM_DEVICE void arrive_remote(uint32 barrier, uint32 rank, Recorder& recorder) {
  GPUSIM_RECORD(write(GPUSIM_EVENT_MBAR_ARRIVE_REMOTE, recorder.barrier(barrier), rank));
  mbarrier_arrive_remote(barrier, rank);
}

// A CTA in its cluster. Ranks count along M first.
struct Place {
  int m;
  int n;

  GPUSIM_DEVICE Place() : m(blockIdx.x % kClusterM), n(blockIdx.y % kClusterN) {}
  GPUSIM_DEVICE int rank() const { return m + n * kClusterM; }
  // The CTAs that read the same tile of an operand, a bit for each rank.
  GPUSIM_DEVICE uint32 sharers_of_a() const {
    uint32 mask = 0;
    for (int j = 0; j < kClusterN; ++j) mask |= 1u << (m + kClusterM * j);
    return mask;
  }
  GPUSIM_DEVICE uint32 sharers_of_b() const { return ((1u << kClusterM) - 1) << (kClusterM * n); }
};

// Which CTA a consumer thread tells that a stage is empty: without a cluster its own; else a thread of eight tells one
// of the CTAs of the row and the column, whose boxes the CTA receives.
struct Release {
  uint32 rank;
  bool arrives;

  GPUSIM_DEVICE explicit Release(Place const& place) : rank(place.rank()), arrives(true) {
    if constexpr (kClusterSize > 1) {
      int const thread = threadIdx.x % kWarpgroup;
      int const row = thread / kWarpSize, column = thread / 8 % 4;
      rank = (4 * row + column) ^ (column << 2);
      bool const shares = rank % kClusterM == place.m || rank / kClusterM == place.n;
      arrives = thread % 8 == 0 && rank < kClusterSize && shares;
    }
  }
  GPUSIM_DEVICE void operator()(uint32 base, int stage, Recorder& recorder) const {
    if (arrives) arrive_remote(barrier_at(base, kEmpty, stage), rank, recorder);
  }
};

// One of two groups that take turns at `kTurns` things; group 0 passes first at once.
template <int kPipeline, int kTurns>
struct OrderedBarrier {
  static constexpr int kGroups = 2;
  int group;
  uint32 phase;
  int turn = 0;

  GPUSIM_DEVICE explicit OrderedBarrier(int which) : group(which), phase(which == 0) {}
  GPUSIM_DEVICE void await(uint32 base, Recorder& recorder) {
    wait(barrier_at(base, kPipeline, turn * kGroups + group), phase, recorder);
  }
  GPUSIM_DEVICE void pass_on(uint32 base, Recorder& recorder) {
    arrive(barrier_at(base, kPipeline, turn * kGroups + (group ^ 1)), recorder);
    if (++turn == kTurns) {
      turn = 0;
      phase ^= 1;
    }
  }
};
using MathOrder = OrderedBarrier<kMathOrder, 2>;
using LoadOrder = OrderedBarrier<kLoadOrder, 1>;

}  // namespace gpusim
