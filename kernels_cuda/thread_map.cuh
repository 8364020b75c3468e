// Which vectors of an operand tile, and of the output tile, each thread touches. Mirrors gpusim/tile/thread_map.py and
// output_thread_map.py; knows no tensors.
#pragma once

#include "layout.cuh"
#include "platform.cuh"

namespace gpusim {

struct TileCoordinate {
  int contiguous;
  int strided;
};

// The warp-raked map: lanes of a warp form a rectangle of 128-bit vectors, warps stand along the strided dimension first,
// and every warp owns a block of the tile. Accesses walk the contiguous dimension first.
template <int kContiguous, int kStrided, int kThreadCount, int kLanesContiguous>
struct ThreadMap {
  static constexpr int kElementsPerAccess = kVectorElements;
  static constexpr int kLanesStrided = kWarpSize / kLanesContiguous;
  static constexpr int kWarpAccessesContiguous = kContiguous / kElementsPerAccess / kLanesContiguous;
  static constexpr int kWarpAccessesStrided = kStrided / kLanesStrided;
  static constexpr int kMapWarps = kThreadCount / kWarpSize;
  static constexpr int kWarpsStrided = least(kMapWarps, kWarpAccessesStrided);
  static constexpr int kWarpsContiguous = kMapWarps / kWarpsStrided;
  static constexpr int kIterationsContiguous = kWarpAccessesContiguous / kWarpsContiguous;
  static constexpr int kIterationsStrided = kWarpAccessesStrided / kWarpsStrided;
  static constexpr int kAccesses = kIterationsContiguous * kIterationsStrided;
  static constexpr int kDeltaContiguous = kLanesContiguous * kElementsPerAccess;  // between accesses of one thread
  static constexpr int kDeltaStrided = kLanesStrided;

  static_assert(kLanesContiguous * kLanesStrided == kWarpSize, "lanes cover whole rows");
  static_assert(kIterationsContiguous * kWarpsContiguous * kDeltaContiguous == kContiguous, "warps cover the tile");
  static_assert(kIterationsStrided * kWarpsStrided * kLanesStrided == kStrided, "warps cover the tile");
  static_assert(kWarpsContiguous * kWarpsStrided == kMapWarps, "warps form a rectangle");

  // First access of a thread.
  GPUSIM_HOST_DEVICE static constexpr TileCoordinate initial_offset(int thread) {
    int const warp = thread / kWarpSize, lane = thread % kWarpSize;
    int const warp_contiguous = warp % kWarpsContiguous, warp_strided = warp / kWarpsContiguous;
    return {warp_contiguous * kIterationsContiguous * kDeltaContiguous + lane % kLanesContiguous * kElementsPerAccess,
            warp_strided * kIterationsStrided * kLanesStrided + lane / kLanesContiguous};
  }

  // An access relative to the first.
  GPUSIM_HOST_DEVICE static constexpr TileCoordinate access_offset(int access) {
    return {access % kIterationsContiguous * kDeltaContiguous, access / kIterationsContiguous * kDeltaStrided};
  }
};

// OutputTileOptimalThreadMap with one cluster and one tile. One epilogue step stores 8 rows of every warp row of the
// CTA ("group"); a group's warps split its rows.
template <int kColumns, int kGroups, int kGroupRows, int kThreadCount, int kVector, int kOutputBits>
struct OutputThreadMap {
  static constexpr int kRows = 8;  // of one warp in one step: a row of 8x8 matrices
  static constexpr int kRowBitsWanted = 2048;
  static constexpr int kWarpsPerGroup = kThreadCount / kWarpSize / kGroups;
  static constexpr bool k2D = kWarpsPerGroup < kRows;
  static constexpr int kWarpRows = greatest(1, kRows / kWarpsPerGroup);
  static constexpr int kWanted = kRowBitsWanted / (kVector * kOutputBits);
  static constexpr int kAccessWidth = !k2D ? kWarpSize
                                      : kWarpSize / kWanted > kWarpRows
                                          ? kWarpSize / kWarpRows
                                          : least(kColumns / kVector, least(kWarpSize, kWanted));
  static constexpr int kAccessRows = least(kRows, kWarpSize / kAccessWidth);
  static constexpr int kIterationsRow = k2D ? kWarpRows / kAccessRows : 1;
  static constexpr int kIterationsColumn = kColumns / kVector / kAccessWidth;
  static constexpr int kAccesses = kIterationsRow * kIterationsColumn;
  static constexpr int kDeltaRow = k2D ? kAccessRows : 1;
  static constexpr int kDeltaColumn = kAccessWidth * kVector;
  static constexpr int kSteps = kGroupRows / kRows;

  static_assert(kAccessWidth * kAccessRows == kWarpSize, "lanes form a rectangle");
  static_assert(kAccessWidth * kVector * kIterationsColumn == kColumns, "accesses cover the columns");
  static_assert(kAccessRows * kIterationsRow * kWarpsPerGroup == kRows, "warps cover the rows");

  GPUSIM_HOST_DEVICE static constexpr int group(int thread) { return thread / kWarpSize / kWarpsPerGroup; }

  // Row within the group's 8, and column, of a thread's first access.
  GPUSIM_HOST_DEVICE static constexpr int row_in_group(int thread) {
    return thread / kWarpSize % kWarpsPerGroup * kIterationsRow * kAccessRows + thread % kWarpSize / kAccessWidth;
  }
  GPUSIM_HOST_DEVICE static constexpr int column(int thread) { return thread % kWarpSize % kAccessWidth * kVector; }

  // Access relative to the first, columns fastest.
  GPUSIM_HOST_DEVICE static constexpr int access_row(int access) { return access / kIterationsColumn * kDeltaRow; }
  GPUSIM_HOST_DEVICE static constexpr int access_column(int access) {
    return access % kIterationsColumn * kDeltaColumn;
  }
};

}  // namespace gpusim
