// Which CTA computes which output tile. Mirrors gpusim/tile/threadblock_swizzle.py.
#pragma once

#include "platform.cuh"
#include "scenario.cuh"

namespace gpusim {

constexpr int kTilesM = ceil_div(kExtentM, kTileM), kTilesN = ceil_div(kExtentN, kTileN);

struct Tile {
  int m;
  int n;
  int slice;

  GPUSIM_HOST_DEVICE bool exists() const { return m < kTilesM && n < kTilesN; }
};

// GemmIdentityThreadblockSwizzle<kWidth>: up to `kWidth` tiles of a row stand side by side; split-K slices are z.
template <int kWidth>
struct IdentitySwizzle {
  static constexpr int kLogTile = kWidth >= 8 && kTilesN >= 6   ? 3
                                  : kWidth >= 4 && kTilesN >= 3 ? 2
                                  : kWidth >= 2 && kTilesN >= 2 ? 1
                                                                : 0;
  static constexpr int kSide = 1 << kLogTile;
  static constexpr int kGridX = kTilesM * kSide, kGridY = ceil_div(kTilesN, kSide);

  GPUSIM_HOST_DEVICE static Tile tile_of_block(int x, int y, int z) {
    return {x >> kLogTile, (y << kLogTile) + (x & (kSide - 1)), kSplitKSlices > 1 ? z : 0};
  }
};

// GemmHorizontalThreadblockSwizzle: x walks N, y walks M; split-K slices are z.
struct HorizontalSwizzle {
  static constexpr int kGridX = kTilesN, kGridY = kTilesM;

  GPUSIM_HOST_DEVICE static Tile tile_of_block(int x, int y, int z) { return {y, x, kSplitKSlices > 1 ? z : 0}; }
};

using ThreadblockSwizzle = GPUSIM_THREADBLOCK_SWIZZLE;

// Position in launch order, x fastest.
GPUSIM_HOST_DEVICE int linear_block(int x, int y, int z) {
  return x + ThreadblockSwizzle::kGridX * (y + ThreadblockSwizzle::kGridY * z);
}

}  // namespace gpusim
