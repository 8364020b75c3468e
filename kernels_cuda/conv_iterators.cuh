// Global addresses and predicates of conv2d forward: the analytic activation and filter iterators, which work out the
// coordinate of every access anew. Mirrors gpusim/families/conv/fprop/iterators.py.
#pragma once

#include "conv_reach.cuh"
#include "conv_shape.cuh"
#include "platform.cuh"
#include "scenario.cuh"

namespace gpusim {

// Conv2dFpropActivationTileAccessIteratorAnalytic: operand A seen as [n * p * q, r * s * c].
struct ActivationIterator {
  using Map = OperandA::Map;

  char const* base_;
  FilterPosition filter_;
  int n_[OperandA::kAccesses], p_[OperandA::kAccesses], q_[OperandA::kAccesses];

  GPUSIM_HOST_DEVICE ActivationIterator(Extents const&, void const* base, int tile, int slice, int thread) {
    TileCoordinate const first = Map::initial_offset(thread);
    base_ = static_cast<char const*>(base);
    filter_ = {0, 0, slice * kTileK + first.contiguous};
    GPUSIM_UNROLL
    for (int access = 0; access < OperandA::kAccesses; ++access) {
      uint32 const row = tile * kTileM + first.strided + access * Map::kDeltaStrided;
      uint32 const pixel = row % (kP * kQ);
      n_[access] = row / (kP * kQ);
      p_[access] = pixel / kQ;
      q_[access] = pixel % kQ;
    }
  }

  GPUSIM_HOST_DEVICE int h(int access) const {
    int const r = kFlipFilter ? kR - 1 - filter_.r : filter_.r;
    return p_[access] * kStrideH - kPadH + r * kDilationH;
  }

  GPUSIM_HOST_DEVICE int w(int access) const {
    int const s = kFlipFilter ? kS - 1 - filter_.s : filter_.s;
    return q_[access] * kStrideW - kPadW + s * kDilationW;
  }

  GPUSIM_HOST_DEVICE int c(int vec) const { return filter_.channel + vec * OperandA::kElementsPerCopy; }

  GPUSIM_HOST_DEVICE bool valid(int access, int vec) const {
    return n_[access] < kN && uint32(h(access)) < uint32(kH) && uint32(w(access)) < uint32(kW) && c(vec) < kC;
  }

  GPUSIM_HOST_DEVICE char const* get(int access, int vec) const {
    Index<kFarthestActivation> const image = n_[access];
    auto const offset = ((image * kH + h(access)) * kW + w(access)) * kC + c(vec);
    return base_ + operand_bytes(int64(offset));
  }

  GPUSIM_HOST_DEVICE void advance() { filter_.advance(); }
};

// Conv2dFpropFilterTileAccessIteratorAnalytic: operand B seen as [r * s * c, k].
struct FilterIterator {
  using Map = OperandB::Map;

  char const* base_;
  FilterPosition filter_;
  int k_;  // of the thread's first access

  GPUSIM_HOST_DEVICE FilterIterator(Extents const&, void const* base, int tile, int slice, int thread) {
    TileCoordinate const first = Map::initial_offset(thread);
    base_ = static_cast<char const*>(base);
    filter_ = {0, 0, slice * kTileK + first.contiguous};
    k_ = tile * kTileN + first.strided;
  }

  GPUSIM_HOST_DEVICE int k(int access) const { return k_ + access * Map::kDeltaStrided; }
  GPUSIM_HOST_DEVICE int c(int vec) const { return filter_.channel + vec * OperandB::kElementsPerCopy; }

  GPUSIM_HOST_DEVICE bool valid(int access, int vec) const { return k(access) < kFilters && c(vec) < kC; }

  GPUSIM_HOST_DEVICE char const* get(int access, int vec) const {
    Index<kFarthestFilter> const filter = k(access);
    auto const offset = ((filter * kR + filter_.r) * kS + filter_.s) * kC + c(vec);
    return base_ + operand_bytes(int64(offset));
  }

  GPUSIM_HOST_DEVICE void advance() { filter_.advance(); }
};

using IteratorA = ActivationIterator;
using IteratorB = FilterIterator;

}  // namespace gpusim
