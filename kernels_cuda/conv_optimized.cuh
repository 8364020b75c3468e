// Global addresses and predicates of conv2d forward without coordinates: the optimized activation and filter iterators,
// pointers that step and filter bit masks. Mirrors gpusim/families/conv/fprop/optimized.py.
#pragma once

#include "conv_reach.cuh"
#include "conv_shape.cuh"
#include "platform.cuh"
#include "scenario.cuh"

namespace gpusim {

static_assert(kR <= 32 && kS <= 32, "predicates are the bits of 32-bit masks");

// Elements the activation's pointers move with a step of the walk.
struct ActivationSteps {
  static constexpr int64 kSign = kFlipFilter ? -1 : 1;
  static constexpr int64 kColumn = kSign * kDilationW * kC, kRow = kSign * kDilationH * kW * kC;
  static constexpr int64 kNextS = kColumn;
  static constexpr int64 kNextR = kRow - (kS - 1) * kColumn;
  static constexpr int64 kNextC = int64(kTileK) * kSplitKSlices - (kR - 1) * kRow - (kS - 1) * kColumn;
};

// Conv2dFpropActivationTileAccessIteratorOptimized: operand A seen as [n * p * q, r * s * c]. What its pointers have in
// common moves as one; a thread keeps how far apart its accesses lie.
struct ActivationIteratorOptimized {
  using Map = OperandA::Map;
  using Offset = Index<operand_bytes(kFarthestActivation)>;

  // Both masks in one word, where they fit: rows, then columns.
  static constexpr bool kOneWord = kR + kS <= 32;
  static constexpr int kColumnShift = kOneWord ? kR : 0;
  static constexpr int kMasks = kOneWord ? 1 : 2;

  char const* base_;
  char const* pointer_;                        // of offset 0 at the current filter position
  FilterPosition filter_;
  Offset offset_[OperandA::kAccesses];         // bytes; of filter position (0, 0)
  uint32 outside_[OperandA::kAccesses][kMasks];  // bit r: filter row r reads outside the image; bit s likewise

  GPUSIM_HOST_DEVICE ActivationIteratorOptimized(Extents const&, void const* base, int tile, int slice, int thread) {
    TileCoordinate const first = Map::initial_offset(thread);
    base_ = static_cast<char const*>(base);
    pointer_ = base_;
    filter_ = {0, 0, slice * kTileK + first.contiguous};
    GPUSIM_UNROLL
    for (int access = 0; access < OperandA::kAccesses; ++access) {
      uint32 const row = tile * kTileM + first.strided + access * Map::kDeltaStrided;
      uint32 const pixel = row % (kP * kQ);
      Offset const n = row / (kP * kQ);
      int const p = pixel / kQ, q = pixel % kQ;
      offset_[access] = operand_bytes(((n * kH + h(p, 0)) * kW + w(q, 0)) * kC + filter_.channel);
      uint32 rows = 0, columns = 0;
      GPUSIM_UNROLL
      for (int r = 0; r < kR; ++r) rows |= uint32(n >= kN || uint32(h(p, r)) >= uint32(kH)) << r;
      GPUSIM_UNROLL
      for (int s = 0; s < kS; ++s) columns |= uint32(uint32(w(q, s)) >= uint32(kW)) << s;
      outside_[access][0] = rows;
      outside_[access][kMasks - 1] = (kOneWord ? rows : 0) | columns << kColumnShift;
    }
  }

  GPUSIM_HOST_DEVICE static int h(int p, int r) {
    return p * kStrideH - kPadH + (kFlipFilter ? kR - 1 - r : r) * kDilationH;
  }

  GPUSIM_HOST_DEVICE static int w(int q, int s) {
    return q * kStrideW - kPadW + (kFlipFilter ? kS - 1 - s : s) * kDilationW;
  }

  GPUSIM_HOST_DEVICE bool valid(int access, int vec) const {
    uint32 const row = 1u << filter_.r, column = 1u << (filter_.s + kColumnShift);
    uint32 const outside = kOneWord ? outside_[access][0] & (row | column)
                                    : (outside_[access][0] & row) | (outside_[access][kMasks - 1] & column);
    return !outside && filter_.channel + vec * OperandA::kElementsPerCopy < kC;
  }

  GPUSIM_HOST_DEVICE char const* get(int access, int vec) const {
    return pointer_ + offset_[access] + vec * OperandA::kCopyBytes;
  }

  GPUSIM_HOST_DEVICE void advance() {
    using Steps = ActivationSteps;
    pointer_ += operand_bytes(filter_.advance(Steps::kNextS, Steps::kNextR, Steps::kNextC));
  }
};

// Conv2dFpropFilterTileAccessIteratorOptimized: operand B seen as [r * s * c, k]. One pointer; a thread's accesses lie
// a constant apart.
struct FilterIteratorOptimized {
  using Map = OperandB::Map;
  static constexpr int64 kNextPosition = kC;
  static constexpr int64 kNextC = int64(kTileK) * kSplitKSlices - int64(kR * kS - 1) * kC;

  char const* base_;
  char const* pointer_;  // of the thread's first access
  FilterPosition filter_;
  int k_;  // of the thread's first access

  GPUSIM_HOST_DEVICE FilterIteratorOptimized(Extents const&, void const* base, int tile, int slice, int thread) {
    TileCoordinate const first = Map::initial_offset(thread);
    base_ = static_cast<char const*>(base);
    filter_ = {0, 0, slice * kTileK + first.contiguous};
    k_ = tile * kTileN + first.strided;
    pointer_ = base_ + operand_bytes(int64(k_) * (kR * kS * kC) + filter_.channel);
  }

  GPUSIM_HOST_DEVICE bool valid(int access, int vec) const {
    return k_ + access * Map::kDeltaStrided < kFilters && filter_.channel + vec * OperandB::kElementsPerCopy < kC;
  }

  GPUSIM_HOST_DEVICE char const* get(int access, int vec) const {
    int64 const elements = int64(access) * Map::kDeltaStrided * (kR * kS * kC) + vec * OperandB::kElementsPerCopy;
    return pointer_ + operand_bytes(elements);
  }

  GPUSIM_HOST_DEVICE void advance() {
    pointer_ += operand_bytes(filter_.advance(kNextPosition, kNextPosition, kNextC));
  }
};

using IteratorA = ActivationIteratorOptimized;
using IteratorB = FilterIteratorOptimized;

}  // namespace gpusim
