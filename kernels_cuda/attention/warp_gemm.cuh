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

// The fragment of one k group of a k tile, whose slot lies `k_tile` stages from the iterator's.
template <class Operand, int kLoads>
GPUSIM_DEVICE void load_fragment(Recorder& recorder, uint32 (&fragment)[kLoads][4],
                                 WarpIterator<Operand> const& iterator, int k_tile, int k_group, uint32 base) {
  static_assert(kLoads == WarpIterator<Operand>::kInstructions, "a fragment is what its iterator loads");
  GPUSIM_UNROLL
  for (int instruction = 0; instruction < kLoads; ++instruction) {
    uint32 const shared = iterator.get(k_group, instruction) + k_tile * Operand::kSlotBytes;
    GPUSIM_RECORD(fragment_load<Operand>(k_tile, k_group, instruction, k_tile, shared - base));
    ldmatrix_x4<WarpIterator<Operand>::kTrans>(fragment[instruction], shared);
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

// All k tiles of a warp's GEMM, which lie in shared memory, the fragments one k group ahead. `a.load(k_tile, k_group)`
// brings those of operand A, `a.fragment(k_tile, k_group)` has them.
template <int kKTiles, int kGroups, class OperandOfB, int kTilesM, int kTilesN, class FragmentsOfA>
GPUSIM_DEVICE void resident_gemm(Recorder& recorder, WarpTile<kTilesM, kTilesN>& tile, FragmentsOfA& a,
                                 WarpIterator<OperandOfB> const& iterator, uint32 base) {
  uint32 b[2][kTilesN / 2][4];
  a.load(0, 0);
  load_fragment<OperandOfB>(recorder, b[0], iterator, 0, 0, base);
  GPUSIM_UNROLL
  for (int group = 0; group < kKTiles * kGroups; ++group) {
    int const next = group + 1;
    if (next < kKTiles * kGroups) {
      a.load(next / kGroups, next % kGroups);
      load_fragment<OperandOfB>(recorder, b[next % 2], iterator, next / kGroups, next % kGroups, base);
    }
    warp_mma(tile, a.fragment(group / kGroups, group % kGroups), b[group % 2]);
    GPUSIM_RECORD(warp_mma(group / kGroups, group % kGroups, kTilesM * kTilesN));
  }
}

// Two scores to one word of an operand.
GPUSIM_DEVICE uint32 pack_pair(float low, float high) {
  return kAb == Element::bf16 ? pack_bf16(low, high) : pack_f16(low, high);
}

}  // namespace gpusim
