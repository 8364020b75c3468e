// Global addresses and predicates of conv2d dgrad at stride 1: the analytic output-gradient and filter iterators, which
// work out the coordinate of every access anew. Mirrors gpusim/families/conv/dgrad/iterators.py.
#pragma once

#include "conv_shape.cuh"
#include "platform.cuh"
#include "scenario.cuh"

namespace gpusim {

// No access lies farther than this from its tensor's base, valid or not; in elements.
constexpr int64 kFarthestFilterChannel = int64(kFilters) + int64(kTileK) * kSplitKSlices * (kStages + 2);
constexpr int64 kFarthestGradientImage = (int64(Extents::m) + kTileM) / (kH * kW) + 1;
constexpr int64 kFarthestP = int64(kH) + kPadH + kR * kDilationH, kFarthestQ = int64(kW) + kPadW + kS * kDilationW;
constexpr int64 kFarthestGradient =
    ((kFarthestGradientImage * kP + kFarthestP) * kQ + kFarthestQ) * kFilters + kFarthestFilterChannel;
constexpr int64 kFarthestDgradFilter = (kFarthestFilterChannel + kTileK) * kR * kS * kC + kC + kTileN;

// Conv2dDgradOutputGradientTileAccessIteratorAnalytic, unit stride: operand A seen as [n * h * w, r * s * k].
struct OutputGradientIterator {
  using Map = OperandA::Map;

  char const* base_;
  FilterPosition filter_;
  int n_[OperandA::kAccesses], h_[OperandA::kAccesses], w_[OperandA::kAccesses];

  GPUSIM_HOST_DEVICE OutputGradientIterator(Extents const&, void const* base, int tile, int slice, int thread) {
    TileCoordinate const first = Map::initial_offset(thread);
    base_ = static_cast<char const*>(base);
    filter_ = {0, 0, slice * kTileK + first.contiguous};
    GPUSIM_UNROLL
    for (int access = 0; access < OperandA::kAccesses; ++access) {
      uint32 const row = tile * kTileM + first.strided + access * Map::kDeltaStrided;
      uint32 const pixel = row % (kH * kW);
      n_[access] = row / (kH * kW);
      h_[access] = pixel / kW;
      w_[access] = pixel % kW;
    }
  }

  GPUSIM_HOST_DEVICE int p(int access) const {
    int const r = kFlipFilter ? kR - 1 - filter_.r : filter_.r;
    return h_[access] + kPadH - r * kDilationH;
  }

  GPUSIM_HOST_DEVICE int q(int access) const {
    int const s = kFlipFilter ? kS - 1 - filter_.s : filter_.s;
    return w_[access] + kPadW - s * kDilationW;
  }

  GPUSIM_HOST_DEVICE int k(int vec) const { return filter_.channel + vec * OperandA::kElementsPerCopy; }

  GPUSIM_HOST_DEVICE bool valid(int access, int vec) const {
    return n_[access] < kN && uint32(p(access)) < uint32(kP) && uint32(q(access)) < uint32(kQ) && k(vec) < kFilters;
  }

  GPUSIM_HOST_DEVICE char const* get(int access, int vec) const {
    Index<kFarthestGradient> const image = n_[access];
    auto const offset = ((image * kP + p(access)) * kQ + q(access)) * kFilters + k(vec);
    return base_ + operand_bytes(int64(offset));
  }

  GPUSIM_HOST_DEVICE void advance() { filter_.advance(); }
};

// Conv2dDgradFilterTileAccessIteratorAnalytic: operand B seen as [r * s * k, c], contiguous along c.
struct DgradFilterIterator {
  using Map = OperandB::Map;

  char const* base_;
  FilterPosition filter_;
  int c_;  // of the thread's first access

  GPUSIM_HOST_DEVICE DgradFilterIterator(Extents const&, void const* base, int tile, int slice, int thread) {
    TileCoordinate const first = Map::initial_offset(thread);
    base_ = static_cast<char const*>(base);
    filter_ = {0, 0, slice * kTileK + first.strided};
    c_ = tile * kTileN + first.contiguous;
  }

  GPUSIM_HOST_DEVICE int k(int access) const { return filter_.channel + Map::access_offset(access).strided; }

  GPUSIM_HOST_DEVICE int c(int access, int vec) const {
    return c_ + Map::access_offset(access).contiguous + vec * OperandB::kElementsPerCopy;
  }

  GPUSIM_HOST_DEVICE bool valid(int access, int vec) const { return k(access) < kFilters && c(access, vec) < kC; }

  GPUSIM_HOST_DEVICE char const* get(int access, int vec) const {
    Index<kFarthestDgradFilter> const filter = k(access);
    auto const offset = ((filter * kR + filter_.r) * kS + filter_.s) * kC + c(access, vec);
    return base_ + operand_bytes(int64(offset));
  }

  GPUSIM_HOST_DEVICE void advance() { filter_.advance(); }
};

using IteratorA = OutputGradientIterator;
using IteratorB = DgradFilterIterator;

}  // namespace gpusim
