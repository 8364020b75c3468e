// A problem's extents, leading dimensions and tiles: compiled in, or given at the launch of a build that serves every
// problem of its configuration. Knows no operand.
#pragma once

#include "platform.cuh"
#include "scenario.cuh"
#include "threadblock_swizzle.cuh"

namespace gpusim {

#if defined(GPUSIM_RUN_TIME_EXTENTS)

// The kernel's second parameter; gpusim/families/gemm/specialise.py gives the values in this order.
struct Extents {
  int m, n, k;
  int leading_a, leading_b, leading_c;  // elements from a row or column to the next; C's of what this kernel stores
  int tiles_m, tiles_n;
  int log_tile;      // of the threadblock swizzle
  int slice_length;  // elements along K of a split-K slice
};

#else

struct Extents {
  static constexpr int m = GPUSIM_EXTENT_M, n = GPUSIM_EXTENT_N;
  static constexpr int leading_c = GPUSIM_LDC;
  static constexpr int tiles_m = ceil_div(m, kTileM), tiles_n = ceil_div(n, kTileN);
  static constexpr int log_tile = ThreadblockSwizzle::log_tile(tiles_n);
#if defined(GPUSIM_GEMM_K)
  static constexpr int k = GPUSIM_GEMM_K, leading_a = GPUSIM_GEMM_LDA, leading_b = GPUSIM_GEMM_LDB;
  static constexpr int slice_length = ceil_div(ceil_div(k, kTileK), kSplitKSlices) * kTileK;
#endif
};

#endif

// Elements from one slice's partial sums to the next's.
GPUSIM_HOST_DEVICE constexpr int64 partial_stride(Extents const& extents) { return int64(extents.m) * extents.n; }

GPUSIM_HOST_DEVICE bool exists(Tile const& tile, Extents const& extents) {
  return tile.m < extents.tiles_m && tile.n < extents.tiles_n;
}

// Position in launch order, x fastest.
GPUSIM_HOST_DEVICE int linear_block(Extents const& extents, int x, int y, int z) {
  int const grid_x = ThreadblockSwizzle::grid_x(extents.tiles_m, extents.tiles_n, extents.log_tile);
  int const grid_y = ThreadblockSwizzle::grid_y(extents.tiles_m, extents.tiles_n, extents.log_tile);
  return x + grid_x * (y + grid_y * z);
}

}  // namespace gpusim
