// Tiles of Q, K and V in shared memory: their layouts, and their copies from global memory by a thread map.
#pragma once

#include "attention/shape.cuh"
#include "layout.cuh"
#include "platform.cuh"
#include "ptx.cuh"
#include "record.cuh"
#include "thread_map.cuh"

namespace gpusim {

// A GEMM operand as OperandOf is one: what WarpIterator and Recorder ask for.
template <int kOperandId, bool kContiguousAlongK, int kWarpMn, class LayoutOfTile, int kSlotElements, Walk kWalkKind>
struct AttentionOperand {
  static constexpr int kId = kOperandId;  // 1 a, 2 b: of its own GEMM
  static constexpr bool kKContiguous = kContiguousAlongK;
  static constexpr int kWarpExtent = kWarpMn;
  static constexpr Walk kWalk = kWalkKind;
  static constexpr CacheOperator kCache = CacheOperator::cg;
  static constexpr int kVecs = 1;
  using Layout = LayoutOfTile;
  static constexpr int kSlotBytes = kSlotElements * kElementBytes;  // from a k tile to the next
  static constexpr int kSharedBytes = Layout::kElements * kElementBytes;
};

// Q (operand 1) and K (2): crosswise k tiles of kDepth along head_dim, each in a slot of its own. The first k tile is the
// residue.
template <int kOperandId, int kRowCount, int kDepth, int kWarpMn,
          class LayoutOfTile = CrosswiseLayout<kDepth, kRowCount, ceil_div(kHeadDim, kDepth)>>
struct TileQk : AttentionOperand<kOperandId, true, kWarpMn, LayoutOfTile, LayoutOfTile::kStageElements,
                                 Walk::exclusive_or> {
  static constexpr int kKTiles = ceil_div(kHeadDim, kDepth);
  static constexpr int kResidue = kHeadDim % kDepth ? kHeadDim % kDepth : kDepth;
  static constexpr int kCopyRows = kRowCount, kCopyColumns = kDepth;
  static constexpr int64 kRowStride = kRowQk;
  using Map = ThreadMap<kCopyColumns, kCopyRows, kThreads, kDepth / kVectorElements>;

  // Where k tile `fetch` begins in the slots, and in a row of the tensor.
  GPUSIM_HOST_DEVICE static constexpr TileCoordinate in_slots(int fetch) { return {fetch * kDepth, 0}; }
  GPUSIM_HOST_DEVICE static constexpr TileCoordinate in_tensor(int fetch) {
    return {fetch ? kResidue + (fetch - 1) * kDepth : 0, 0};
  }
  GPUSIM_HOST_DEVICE static constexpr int columns(int fetch) { return fetch ? kDepth : kResidue; }
};

// V: congruous k tiles of kDepth keys; kColumns of a row, of which kUsedColumns at most exist.
template <int kKeyCount, int kColumns, int kDepth, int kWarpMn,
          class LayoutOfTile = CongruousLayout<kColumns, kDepth, kKeyCount / kDepth>>
struct TileV : AttentionOperand<2, false, kWarpMn, LayoutOfTile, LayoutOfTile::kStageElements, Walk::exclusive_or> {
  static constexpr int kKTiles = kKeyCount / kDepth;
  static constexpr int kCopyRows = kDepth, kCopyColumns = kColumns;
  static constexpr int64 kRowStride = kRowV;
  using Map = ThreadMap<kCopyColumns, kCopyRows, kThreads, kLineVectors>;

  GPUSIM_HOST_DEVICE static constexpr TileCoordinate in_slots(int fetch) { return {0, fetch * kDepth}; }
  GPUSIM_HOST_DEVICE static constexpr TileCoordinate in_tensor(int fetch) { return {0, fetch * kDepth}; }
};

// What the CTA's threads copy of a tile. Addresses of all accesses follow from the first by constants, but for a
// swizzle's two ways (kPointers).
template <class Tile>
struct TileCopy {
  using Map = typename Tile::Map;
  static constexpr int kPointers = least(Map::kIterationsStrided, 8 / least(8, Map::kDeltaStrided));

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
    global = this->tensor + (offset + row * Tile::kRowStride + column) * kElementBytes;
    GPUSIM_UNROLL
    for (int index = 0; index < kPointers; ++index) {
      shared[index] = base + Tile::Layout::offset(column, row + index * Map::kDeltaStrided) * kElementBytes;
    }
  }

  GPUSIM_DEVICE void advance(int rows) { global += rows * Tile::kRowStride * kElementBytes; }

  // One k tile. `rows` of the tile and `columns` of this k tile exist, all of them where the template says so; what does
  // not is not read and becomes zero.
  template <bool kAllRows, bool kAllColumns>
  GPUSIM_DEVICE void fetch(Recorder& recorder, int fetch, int rows, int columns) const {
    TileCoordinate const slot = Tile::in_slots(fetch), place = Tile::in_tensor(fetch);
    GPUSIM_UNROLL
    for (int access = 0; access < Map::kAccesses; ++access) {
      TileCoordinate const from = Map::access_offset(access);
      int const strided = access / Map::kIterationsContiguous;
      int const turn = strided / kPointers * kPointers * Map::kDeltaStrided;
      uint32 const to = shared[strided % kPointers] +
                        Tile::Layout::offset(from.contiguous, turn) * kElementBytes + fetch * Tile::kSlotBytes;
      int64 const moved = (place.strided + from.strided) * Tile::kRowStride + place.contiguous + from.contiguous;
      char const* const at = global + moved * kElementBytes;
      bool const valid = (kAllRows || row + from.strided + place.strided < rows) &&
                         (kAllColumns || column + from.contiguous < columns);
      GPUSIM_RECORD(copy_async<Tile>(fetch, access, 0, fetch, true, to - base, at - tensor, valid));
      if constexpr (kAllRows && kAllColumns) {
        copy_async<kVectorBytes, CacheOperator::cg>(to, at, 1);
      } else {
        copy_async_zfill<kVectorBytes, CacheOperator::cg>(to, at, valid);
      }
    }
  }

  // K tile `fetch` of Q or K.
  template <bool kAllRows>
  GPUSIM_DEVICE void fetch_qk(Recorder& recorder, int number, int rows) const {
    if (Tile::columns(number) == Tile::kCopyColumns) {
      fetch<kAllRows, true>(recorder, number, rows, 0);
    } else {
      fetch<kAllRows, false>(recorder, number, rows, Tile::columns(number));
    }
  }
};

}  // namespace gpusim
