// Global addresses and predicates of a GEMM operand that is contiguous along K. Mirrors gpusim/tile/gemm_iterators.py.
#pragma once

#include "platform.cuh"
#include "scenario.cuh"

namespace gpusim {

constexpr int kExtentK = GPUSIM_GEMM_K;
constexpr int kKTiles = ceil_div(kExtentK, kTileK);

// The K range of a split-K slice starts at `begin` and is `length` elements long.
struct KRange {
  int begin;
  int length;

  GPUSIM_HOST_DEVICE static KRange of_slice(int slice) {
    constexpr int slice_length = ceil_div(kKTiles, kSplitKSlices) * kTileK;
    int const begin = least(slice * slice_length, kExtentK);
    return {begin, least(slice_length, kExtentK - begin)};
  }
};

// PredicatedTileAccessIterator as the multistage mainloop drives it. Fetch 0 is the residue tile: what the range leaves
// over whole tiles, or a whole tile. Past the last k tile the mask is cleared while the pointer goes on.
template <class Operand, int kExtent, int kLeading>
struct PredicatedIterator {
  using Map = typename Operand::Map;
  static constexpr int kMaskBits = 32;
  static constexpr int kMaskWords = ceil_div(Operand::kCopies, kMaskBits);

  char const* base_;         // the tensor
  char const* pointer_;      // this thread's first access of the current fetch
  uint32 mask_[kMaskWords];  // bit access * kVecs + vec: valid
  int residue_;              // elements along K of fetch 0
  int strided_;              // row (column, for B) of the thread's first access
  int contiguous_;           // its element along K within the tile

  GPUSIM_HOST_DEVICE PredicatedIterator(void const* base, int tile, int slice, int thread) {
    KRange const range = KRange::of_slice(slice);
    TileCoordinate const first = Map::initial_offset(thread);
    strided_ = tile * Operand::kStrided + first.strided;
    contiguous_ = first.contiguous;
    residue_ = range.length % kTileK ? range.length % kTileK : kTileK;
    base_ = static_cast<char const*>(base);
    pointer_ = base_ + operand_bytes(int64(strided_) * kLeading + range.begin + contiguous_);
    compute_mask(range.length ? residue_ : 0);
  }

  // Valid: inside the extent, and less than `width` elements into the tile.
  GPUSIM_HOST_DEVICE void compute_mask(int width) {
    GPUSIM_UNROLL
    for (int word = 0; word < kMaskWords; ++word) mask_[word] = 0;
    GPUSIM_UNROLL
    for (int copy = 0; copy < Operand::kCopies; ++copy) {
      int const access = copy / Operand::kVecs, vec = copy % Operand::kVecs;
      bool const valid = strided_ + access * Map::kDeltaStrided < kExtent &&
                         contiguous_ + vec * Operand::kElementsPerCopy < width;
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
    int64 const elements = int64(access) * Map::kDeltaStrided * kLeading + vec * Operand::kElementsPerCopy;
    return pointer_ + operand_bytes(elements);
  }

  // From the residue tile to the first whole one.
  GPUSIM_HOST_DEVICE void advance_residue() {
    pointer_ += operand_bytes(residue_);
    compute_mask(kTileK);
  }

  GPUSIM_HOST_DEVICE void advance() { pointer_ += operand_bytes(kTileK); }
};

// k tiles of a slice; `k_iterations` are those of slice 0. Without split-K nothing here bounds them: a compiler that
// knows how few there are proves the overrun's masks empty and drops copies that the schedule issues.
GPUSIM_HOST_DEVICE int gemm_k_iterations(int k_iterations, int slice) {
  return kSplitKSlices == 1 ? k_iterations : least(k_iterations, kKTiles - slice * k_iterations);
}

}  // namespace gpusim
