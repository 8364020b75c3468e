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

// The warp-raked map of a K-contiguous operand: a row is covered by as many lanes as it has 128-bit vectors, the warp's
// other lanes take the next rows, and every warp owns a block of rows.
template <int kContiguous, int kStrided, int kThreadCount>
struct ThreadMap {
  static constexpr int kElementsPerAccess = kVectorElements;
  static constexpr int kLanesContiguous = kContiguous / kElementsPerAccess;
  static constexpr int kLanesStrided = kWarpSize / kLanesContiguous;
  static constexpr int kMapWarps = kThreadCount / kWarpSize;
  static constexpr int kAccesses = kStrided / kLanesStrided / kMapWarps;
  static constexpr int kDeltaStrided = kLanesStrided;  // rows between neighbouring accesses of one thread

  static_assert(kLanesContiguous * kLanesStrided == kWarpSize, "lanes cover whole rows");
  static_assert(kAccesses * kMapWarps * kLanesStrided == kStrided, "warps cover the tile");

  // First access of a thread.
  GPUSIM_HOST_DEVICE static constexpr TileCoordinate initial_offset(int thread) {
    int const warp = thread / kWarpSize, lane = thread % kWarpSize;
    return {lane % kLanesContiguous * kElementsPerAccess,
            warp * kLanesStrided * kAccesses + lane / kLanesContiguous};
  }
};

// OutputTileOptimalThreadMap with one cluster and one tile. One epilogue step stores 8 rows of every warp row of the
// CTA ("group"); a group's warps split its rows.
template <int kColumns, int kGroups, int kGroupRows, int kThreadCount, int kVector, int kOutputBytes>
struct OutputThreadMap {
  static constexpr int kRows = 8;  // of one warp in one step: a row of 8x8 matrices
  static constexpr int kRowBytesWanted = 256;
  static constexpr int kWarpsPerGroup = kThreadCount / kWarpSize / kGroups;
  static constexpr bool k2D = kWarpsPerGroup < kRows;
  static constexpr int kWarpRows = greatest(1, kRows / kWarpsPerGroup);
  static constexpr int kWanted = kRowBytesWanted / (kVector * kOutputBytes);
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
