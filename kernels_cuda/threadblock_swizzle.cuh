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

// GemmIdentityThreadblockSwizzle<width>: up to `width` tiles of a row stand side by side; split-K slices are z.
struct IdentitySwizzle {
  static constexpr int kWidth = GPUSIM_SWIZZLE_WIDTH;
  static constexpr int kLogTile = kWidth >= 8 && kTilesN >= 6   ? 3
                                  : kWidth >= 4 && kTilesN >= 3 ? 2
                                  : kWidth >= 2 && kTilesN >= 2 ? 1
                                                                : 0;
  static constexpr int kSide = 1 << kLogTile;
  static constexpr int kGridX = kTilesM * kSide, kGridY = ceil_div(kTilesN, kSide), kGridZ = kSplitKSlices;

  GPUSIM_HOST_DEVICE static Tile tile_of_block(int x, int y, int z) {
    return {x >> kLogTile, (y << kLogTile) + (x & (kSide - 1)), kSplitKSlices > 1 ? z : 0};
  }

  // Position in launch order, x fastest.
  GPUSIM_HOST_DEVICE static int linear(int x, int y, int z) { return x + kGridX * (y + kGridY * z); }
};

}  // namespace gpusim
