// Which CTA computes which output tile. Mirrors gpusim/tile/threadblock_swizzle.py.
#pragma once

#include "platform.cuh"
#include "scenario.cuh"

namespace gpusim {

struct Tile {
  int m;
  int n;
  int slice;
};

// GemmIdentityThreadblockSwizzle<kWidth>: up to `kWidth` tiles of a row stand side by side; split-K slices are z.
template <int kWidth>
struct IdentitySwizzle {
  GPUSIM_HOST_DEVICE static constexpr int log_tile(int tiles_n) {
    return kWidth >= 8 && tiles_n >= 6 ? 3 : kWidth >= 4 && tiles_n >= 3 ? 2 : kWidth >= 2 && tiles_n >= 2 ? 1 : 0;
  }
  GPUSIM_HOST_DEVICE static constexpr int grid_x(int tiles_m, int, int log_tile) { return tiles_m << log_tile; }
  GPUSIM_HOST_DEVICE static constexpr int grid_y(int, int tiles_n, int log_tile) {
    return ceil_div(tiles_n, 1 << log_tile);
  }

  GPUSIM_HOST_DEVICE static Tile tile_of_block(int log_tile, int x, int y, int z) {
    return {x >> log_tile, (y << log_tile) + (x & ((1 << log_tile) - 1)), kSplitKSlices > 1 ? z : 0};
  }
};

// GemmHorizontalThreadblockSwizzle: x walks N, y walks M; split-K slices are z.
struct HorizontalSwizzle {
  GPUSIM_HOST_DEVICE static constexpr int log_tile(int) { return 0; }
  GPUSIM_HOST_DEVICE static constexpr int grid_x(int, int tiles_n, int) { return tiles_n; }
  GPUSIM_HOST_DEVICE static constexpr int grid_y(int tiles_m, int, int) { return tiles_m; }

  GPUSIM_HOST_DEVICE static Tile tile_of_block(int, int x, int y, int z) { return {y, x, kSplitKSlices > 1 ? z : 0}; }
};

using ThreadblockSwizzle = GPUSIM_THREADBLOCK_SWIZZLE;

}  // namespace gpusim
