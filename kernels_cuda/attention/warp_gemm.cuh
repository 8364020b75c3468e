// A warp's part of either GEMM: accumulators of kTilesM x kTilesN instruction tiles, and one k group's mma.sync.
#pragma once

#include "attention/shape.cuh"
#include "ldmatrix.cuh"
#include "platform.cuh"
#include "ptx.cuh"
#include "record.cuh"

namespace gpusim {

template <int kTilesM, int kTilesN>
struct WarpTile {
  static constexpr int kM = kTilesM, kN = kTilesN;

  float registers[kTilesM][kTilesN][4];  // of a tile: row lane / 4 columns 2 (lane % 4) and one on, then row + 8

  GPUSIM_DEVICE void clear() {
    GPUSIM_UNROLL
    for (int m = 0; m < kTilesM; ++m) {
      GPUSIM_UNROLL
      for (int n = 0; n < kTilesN; ++n) {
        GPUSIM_UNROLL
        for (int element = 0; element < 4; ++element) registers[m][n][element] = 0.0f;
      }
    }
  }

  // Rows lane / 4 (`half` 0) or that + 8 of row `m` of tiles, times a number.
  GPUSIM_DEVICE void scale_row(int m, int half, float factor) {
    GPUSIM_UNROLL
    for (int n = 0; n < kTilesN; ++n) {
      registers[m][n][2 * half] = multiply(registers[m][n][2 * half], factor);
      registers[m][n][2 * half + 1] = multiply(registers[m][n][2 * half + 1], factor);
    }
  }
};

// Of one k group: A's x4 are a tile each, B's two tiles each.
template <int kTilesM>
using FragmentA = uint32[kTilesM][4];
template <int kTilesN>
using FragmentB = uint32[kTilesN / 2][4];

// `extra` is added to every address: the stage.
template <class Recorded, class Iterator, int kLoads>
GPUSIM_DEVICE void load_fragment(Recorder& recorder, uint32 (&fragment)[kLoads][4], Iterator const& iterator,
                                 int k_tile, int k_group, int extra, uint32 base) {
  static_assert(kLoads == Iterator::kInstructions, "a fragment is what its iterator loads");
  GPUSIM_UNROLL
  for (int instruction = 0; instruction < kLoads; ++instruction) {
    uint32 const shared = iterator.get(k_group, instruction) + extra;
    GPUSIM_RECORD(fragment_load<Recorded>(k_tile, k_group, instruction, 0, shared - base));
    ldmatrix_x4<Iterator::kTrans>(fragment[instruction], shared);
  }
}

// Back and forth over N, turning on odd rows of tiles.
template <int kTilesM, int kTilesN>
GPUSIM_DEVICE void warp_mma(WarpTile<kTilesM, kTilesN>& tile, uint32 const (&a)[kTilesM][4],
                            uint32 const (&b)[kTilesN / 2][4]) {
  GPUSIM_UNROLL
  for (int m = 0; m < kTilesM; ++m) {
    GPUSIM_UNROLL
    for (int step = 0; step < kTilesN; ++step) {
      int const n = m % 2 ? kTilesN - 1 - step : step;
      uint32 const of_b[2] = {b[n / 2][n % 2 * 2], b[n / 2][n % 2 * 2 + 1]};
      mma_sync(tile.registers[m][n], a[m], of_b);
    }
  }
}

// All k groups of a warp's GEMM, its B loaded kAhead ldmatrix ahead of their use; `a.load(k_group)` brings operand A of a
// k group, one ahead of its use.
template <int kKGroupCount, int kAhead, class OperandB, int kTilesM, int kTilesN, class FragmentsOfA>
GPUSIM_DEVICE void streamed_gemm(Recorder& recorder, WarpTile<kTilesM, kTilesN>& tile, FragmentsOfA& a,
                                 WarpIterator<OperandB> const& iterator, int key_block, uint32 base) {
  constexpr int kPairs = kTilesN / 2, kLoads = kKGroupCount * kPairs;
  uint32 ring[kAhead + 1][4];
  auto const load = [&](int number) {
    int const k_group = number / kPairs, instruction = number % kPairs;
    uint32 const shared = iterator.get(k_group, instruction);
    GPUSIM_RECORD(fragment_load<OperandB>(key_block, k_group, instruction, 0, shared - base));
    ldmatrix_x4<WarpIterator<OperandB>::kTrans>(ring[number % (kAhead + 1)], shared);
  };
  a.load(0);
  GPUSIM_UNROLL
  for (int number = 0; number < least(kAhead, kLoads); ++number) load(number);
  GPUSIM_UNROLL
  for (int number = 0; number < kLoads; ++number) {
    int const k_group = number / kPairs, pair = number % kPairs;
    if (pair == 0 && k_group + 1 < kKGroupCount) a.load(k_group + 1);
    if (number + kAhead < kLoads) load(number + kAhead);
    uint32 const(&b)[4] = ring[number % (kAhead + 1)];
    GPUSIM_UNROLL
    for (int m = 0; m < kTilesM; ++m) {
      GPUSIM_UNROLL
      for (int step = 0; step < 2; ++step) {
        int const n = m % 2 ? 1 - step : step;
        uint32 const of_b[2] = {b[2 * n], b[2 * n + 1]};
        mma_sync(tile.registers[m][2 * pair + n], a.fragment(k_group)[m], of_b);
      }
    }
    if (pair == kPairs - 1) GPUSIM_RECORD(warp_mma(key_block, k_group, kTilesM * kTilesN));
  }
}

// Two scores to one word of an operand.
GPUSIM_DEVICE uint32 pack_pair(float low, float high) {
  return kAb == Element::bf16 ? pack_bf16(low, high) : pack_f16(low, high);
}

}  // namespace gpusim
