// Global addresses and predicates of a GEMM operand, contiguous along K or not. Mirrors gpusim/tile/gemm_iterators.py.
#pragma once

#include "extents.cuh"
#include "platform.cuh"
#include "scenario.cuh"

namespace gpusim {

// The K range of a split-K slice starts at `begin` and is `length` elements long.
struct KRange {
  int begin;
  int length;

  GPUSIM_HOST_DEVICE static KRange of_slice(Extents const& extents, int slice) {
    int const begin = least(slice * extents.slice_length, extents.k);
    return {begin, least(extents.slice_length, extents.k - begin)};
  }
};

// PredicatedTileAccessIterator as the multistage mainloop drives it. Fetch 0 is the residue tile: what the range leaves
// over whole tiles, or a whole tile. Past the last k tile the mask is cleared while the pointer goes on.
template <class Operand>
struct PredicatedIterator {
  using Map = typename Operand::Map;
  static constexpr bool kIsA = Operand::kId == OperandA::kId;
  static constexpr int kMaskBits = 32;
  static constexpr int kMaskWords = ceil_div(Operand::kCopies, kMaskBits);

  char const* base_;         // the tensor
  char const* pointer_;      // this thread's first access of the current fetch
  uint32 mask_[kMaskWords];  // bit access * kVecs + vec: valid
  int residue_;              // elements along K of fetch 0
  int mn_;                   // along M (B: N), of the thread's first access
  int k_;                    // along K within the tile, of the same
  Extents extents_;          // nothing, where they are compiled in

  // Elements from the tensor's base, or between two places of it.
  GPUSIM_HOST_DEVICE constexpr int64 offset(int64 mn, int64 k) const {
    int const leading = kIsA ? extents_.leading_a : extents_.leading_b;
    return Operand::kKContiguous ? mn * leading + k : k * leading + mn;
  }

  // Of a place in the thread map: along M (N), and along K.
  GPUSIM_HOST_DEVICE static constexpr int along_mn(TileCoordinate at) {
    return Operand::kKContiguous ? at.strided : at.contiguous;
  }
  GPUSIM_HOST_DEVICE static constexpr int along_k(TileCoordinate at) {
    return Operand::kKContiguous ? at.contiguous : at.strided;
  }

  // A copy relative to the thread's first.
  GPUSIM_HOST_DEVICE static constexpr TileCoordinate copy_offset(int access, int vec) {
    TileCoordinate const at = Map::access_offset(access);
    return {at.contiguous + vec * Operand::kElementsPerCopy, at.strided};
  }

  GPUSIM_HOST_DEVICE PredicatedIterator(Extents const& extents, void const* base, int tile, int slice, int thread)
      : extents_(extents) {
    KRange const range = KRange::of_slice(extents, slice);
    TileCoordinate const first = Map::initial_offset(thread);
    mn_ = tile * Operand::kTileExtent + along_mn(first);
    k_ = along_k(first);
    residue_ = range.length % kTileK ? range.length % kTileK : kTileK;
    base_ = static_cast<char const*>(base);
    pointer_ = base_ + operand_bytes(offset(mn_, range.begin + k_));
    compute_mask(range.length ? residue_ : 0);
  }

  // Valid: inside the extent, and less than `width` elements into the tile.
  GPUSIM_HOST_DEVICE void compute_mask(int width) {
    int const extent = kIsA ? extents_.m : extents_.n;
    GPUSIM_UNROLL
    for (int word = 0; word < kMaskWords; ++word) mask_[word] = 0;
    GPUSIM_UNROLL
    for (int copy = 0; copy < Operand::kCopies; ++copy) {
      TileCoordinate const at = copy_offset(copy / Operand::kVecs, copy % Operand::kVecs);
      bool const valid = mn_ + along_mn(at) < extent && k_ + along_k(at) < width;
      mask_[copy / kMaskBits] |= uint32(valid) << copy % kMaskBits;
    }
  }

  // Nothing is left to bring.
  GPUSIM_HOST_DEVICE void clear_mask(bool clear) {
    GPUSIM_UNROLL
    for (int word = 0; word < kMaskWords; ++word) mask_[word] = clear ? 0 : mask_[word];
  }

  // Not zero: valid.
  GPUSIM_HOST_DEVICE uint32 valid(int access, int vec) const {
    int const copy = access * Operand::kVecs + vec;
    return mask_[copy / kMaskBits] & 1u << copy % kMaskBits;
  }

  GPUSIM_HOST_DEVICE char const* get(int access, int vec) const {
    TileCoordinate const at = copy_offset(access, vec);
    return pointer_ + operand_bytes(offset(along_mn(at), along_k(at)));
  }

  // From the residue tile to the first whole one.
  GPUSIM_HOST_DEVICE void advance_residue() {
    pointer_ += operand_bytes(offset(0, residue_));
    compute_mask(kTileK);
  }

  GPUSIM_HOST_DEVICE void advance() { pointer_ += operand_bytes(offset(0, kTileK)); }
};

using IteratorA = PredicatedIterator<OperandA>;
using IteratorB = PredicatedIterator<OperandB>;

// k tiles of a slice; `k_iterations` are those of slice 0. Without split-K nothing here bounds them: a compiler that
// knows how few there are proves the overrun's masks empty and drops copies that the schedule issues.
GPUSIM_HOST_DEVICE int gemm_k_iterations(Extents const& extents, int k_iterations, int slice) {
  return kSplitKSlices == 1 ? k_iterations : least(k_iterations, ceil_div(extents.k, kTileK) - slice * k_iterations);
}

}  // namespace gpusim
