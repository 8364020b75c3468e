// Tiles of Q, K, V and O in shared memory: their layouts, and their copies from global memory by a thread map.
#pragma once

#include "attention/shape.cuh"
#include "layout.cuh"
#include "platform.cuh"
#include "ptx.cuh"
#include "record.cuh"
#include "thread_map.cuh"

namespace gpusim {

// kColumns of a tensor's row, in panels of kPanelColumns, that lie in shared memory like the stages of a crosswise
// operand. An operand of either GEMM as OperandOf is one: what WarpIterator and Recorder ask for.
template <int kOperandId, bool kContiguousAlongK, int kRowCount, int kColumnCount, int kPanelColumns, int kWarpMn>
struct TileOf {
  static constexpr int kId = kOperandId;  // 1 Q, 2 K, 3 V: what a trace record says
  static constexpr bool kKContiguous = kContiguousAlongK;
  static constexpr int kWarpExtent = kWarpMn;
  static constexpr Walk kWalk = Walk::exclusive_or;
  static constexpr CacheOperator kCache = CacheOperator::cg;
  static constexpr int kVecs = 1;

  static constexpr int kRows = kRowCount, kColumns = kColumnCount, kPanel = kPanelColumns;
  static constexpr int kPanels = ceil_div(kColumns, kPanel);
  static constexpr int kPadded = kPanels * kPanel;

  using Layout = CrosswiseLayout<kPanel, kRows, kPanels>;
  static constexpr int kSharedBytes = Layout::kElements * kElementBytes;

  static_assert(kPanel == 32 || kPanel == 64, "a panel is a whole line or half of one");
};

GPUSIM_HOST_DEVICE constexpr int panel_of(int columns) { return columns > 32 ? 64 : 32; }

// What the CTA's threads copy at once of a tile: kCopyRows by kCopyColumns of it. Addresses of all its accesses follow
// from the first by constants, but for a swizzle's two ways (kPointers).
template <class Tile, int kCopyRows, int kCopyColumns, int64 kRowStride>
struct TileCopy {
  using Map = ThreadMap<kCopyColumns, kCopyRows, kThreads, Tile::kPanel / kVectorElements>;
  static constexpr int kPointers = least(Map::kIterationsStrided, 8 / least(8, Map::kDeltaStrided));
  static constexpr bool kWhole = Tile::kPadded == Tile::kColumns;  // no column beyond the tensor's

  char const* tensor;
  char const* global;  // of the thread's first access
  uint32 base;
  uint32 shared[kPointers];
  int const row, column;  // of the thread's first access

  // `offset` is of the tile's first element in the tensor.
  GPUSIM_DEVICE TileCopy(void const* tensor, int64 offset, uint32 base, int thread)
      : tensor(static_cast<char const*>(tensor)),
        base(base),
        row(Map::initial_offset(thread).strided),
        column(Map::initial_offset(thread).contiguous) {
    global = this->tensor + (offset + row * kRowStride + column) * kElementBytes;
    GPUSIM_UNROLL
    for (int index = 0; index < kPointers; ++index) {
      shared[index] = base + Tile::Layout::offset(column, row + index * Map::kDeltaStrided) * kElementBytes;
    }
  }

  GPUSIM_DEVICE void advance(int rows) { global += rows * kRowStride * kElementBytes; }

  // The part that begins at (first_row, first_column), both constants. `rows` and `columns` of the tile exist, all of
  // them where the template says so; what does not is not read and becomes zero. `number` is the tile's among its kind.
  template <bool kAllRows, bool kAllColumns = kWhole>
  GPUSIM_DEVICE void copy(Recorder& recorder, int number, int part, int first_row, int first_column, int rows,
                          int columns = Tile::kColumns) const {
    GPUSIM_UNROLL
    for (int access = 0; access < Map::kAccesses; ++access) {
      TileCoordinate const from = Map::access_offset(access);
      int const strided = access / Map::kIterationsContiguous;
      int const turn = strided / kPointers * kPointers * Map::kDeltaStrided;
      int const c = first_column + from.contiguous, r = first_row + from.strided;
      uint32 const to = shared[strided % kPointers] +
                        Tile::Layout::offset(c, first_row + turn) * kElementBytes;
      char const* const at = global + (r * kRowStride + c) * kElementBytes;
      bool const valid = (kAllRows || row + r < rows) && (kAllColumns || column + c < columns);
      GPUSIM_RECORD(copy_async<Tile>(number, part * Map::kAccesses + access, 0, 0, true, to - base, at - tensor, valid));
      if constexpr (kAllRows && kAllColumns) {
        copy_async<kVectorBytes, CacheOperator::cg>(to, at, 1);
      } else {
        copy_async_zfill<kVectorBytes, CacheOperator::cg>(to, at, valid);
      }
    }
  }
};

}  // namespace gpusim
