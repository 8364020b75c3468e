// Global addresses and predicates of conv2d forward: the analytic activation and filter iterators, which work out the
// coordinate of every access anew. Mirrors gpusim/tile/conv_iterators.py.
#pragma once

#include "platform.cuh"
#include "scenario.cuh"

namespace gpusim {

// Activation [n, h, w, c], filter [k, r, s, c], output [n, p, q, k].
constexpr int kN = GPUSIM_CONV_N, kH = GPUSIM_CONV_H, kW = GPUSIM_CONV_W, kC = GPUSIM_CONV_C;
constexpr int kFilters = GPUSIM_CONV_K, kR = GPUSIM_CONV_R, kS = GPUSIM_CONV_S;
constexpr int kP = GPUSIM_CONV_P, kQ = GPUSIM_CONV_Q;
constexpr int kPadH = GPUSIM_CONV_PAD_H, kPadW = GPUSIM_CONV_PAD_W;
constexpr int kStrideH = GPUSIM_CONV_STRIDE_H, kStrideW = GPUSIM_CONV_STRIDE_W;
constexpr int kDilationH = GPUSIM_CONV_DILATION_H, kDilationW = GPUSIM_CONV_DILATION_W;
constexpr bool kFlipFilter = GPUSIM_CONV_FLIP_FILTER;  // mode = "convolution"

// A fetch is one filter position and one interval of channels; fetches walk s, then r, then the channels by the tile's
// K times the slices, so that slices interleave. No mask is ever cleared: past the last k tile c is out of range.
struct FilterPosition {
  int r;
  int s;
  int c;  // of the thread's accesses

  GPUSIM_HOST_DEVICE void advance() {
    bool const next_r = ++s == kS;
    s = next_r ? 0 : s;
    r += next_r;
    bool const next_c = r == kR;
    r = next_c ? 0 : r;
    c += next_c ? kTileK * kSplitKSlices : 0;
  }
};

// No access lies farther than this from its tensor's base, valid or not; in elements.
constexpr int64 kFarthestChannel = int64(kC) + int64(kTileK) * kSplitKSlices * (kStages + 2);
constexpr int64 kFarthestImage = (int64(kExtentM) + kTileM) / (kP * kQ) + 1;
constexpr int64 kFarthestH = int64(kP) * kStrideH + kR * kDilationH + kPadH;
constexpr int64 kFarthestW = int64(kQ) * kStrideW + kS * kDilationW + kPadW;
constexpr int64 kFarthestActivation =
    ((kFarthestImage * kH + kFarthestH) * kW + kFarthestW) * kC + kFarthestChannel;
constexpr int64 kFarthestFilter = (int64(kFilters) + kTileN) * kR * kS * kC + kFarthestChannel;

// Conv2dFpropActivationTileAccessIteratorAnalytic: operand A seen as [n * p * q, r * s * c].
struct ActivationIterator {
  using Map = OperandA::Map;

  char const* base_;
  FilterPosition filter_;
  int n_[OperandA::kAccesses], p_[OperandA::kAccesses], q_[OperandA::kAccesses];

  GPUSIM_HOST_DEVICE ActivationIterator(void const* base, int tile, int slice, int thread) {
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

  GPUSIM_HOST_DEVICE int c(int vec) const { return filter_.c + vec * OperandA::kElementsPerCopy; }

  GPUSIM_HOST_DEVICE bool valid(int access, int vec) const {
    return n_[access] < kN && uint32(h(access)) < uint32(kH) && uint32(w(access)) < uint32(kW) && c(vec) < kC;
  }

  GPUSIM_HOST_DEVICE char const* get(int access, int vec) const {
    Index<kFarthestActivation> const image = n_[access];
    auto const offset = ((image * kH + h(access)) * kW + w(access)) * kC + c(vec);
    return base_ + int64(offset) * kElementBytes;
  }

  GPUSIM_HOST_DEVICE void advance() { filter_.advance(); }
};

// Conv2dFpropFilterTileAccessIteratorAnalytic: operand B seen as [r * s * c, k].
struct FilterIterator {
  using Map = OperandB::Map;

  char const* base_;
  FilterPosition filter_;
  int k_;  // of the thread's first access

  GPUSIM_HOST_DEVICE FilterIterator(void const* base, int tile, int slice, int thread) {
    TileCoordinate const first = Map::initial_offset(thread);
    base_ = static_cast<char const*>(base);
    filter_ = {0, 0, slice * kTileK + first.contiguous};
    k_ = tile * kTileN + first.strided;
  }

  GPUSIM_HOST_DEVICE int k(int access) const { return k_ + access * Map::kDeltaStrided; }
  GPUSIM_HOST_DEVICE int c(int vec) const { return filter_.c + vec * OperandB::kElementsPerCopy; }

  GPUSIM_HOST_DEVICE bool valid(int access, int vec) const { return k(access) < kFilters && c(vec) < kC; }

  GPUSIM_HOST_DEVICE char const* get(int access, int vec) const {
    Index<kFarthestFilter> const filter = k(access);
    auto const offset = ((filter * kR + filter_.r) * kS + filter_.s) * kC + c(vec);
    return base_ + int64(offset) * kElementBytes;
  }

  GPUSIM_HOST_DEVICE void advance() { filter_.advance(); }
};

using IteratorA = ActivationIterator;
using IteratorB = FilterIterator;

// k tiles of a slice: the same for all.
GPUSIM_HOST_DEVICE int gemm_k_iterations(int k_iterations, int) { return k_iterations; }

}  // namespace gpusim
