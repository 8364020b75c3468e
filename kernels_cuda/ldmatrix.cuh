// Which rows each lane supplies to ldmatrix.x4, or which words it loads where ldmatrix cannot bring them: the fragments of
// one k group. Mirrors gpusim/tile/ldmatrix.py.
#pragma once

#include "platform.cuh"
#include "scenario.cuh"

namespace gpusim {

// An x4 loads four matrices of 8 rows by 16 bytes: 2 x 2 where a k group is two matrices deep, else 4 along M or N. Those
// of A follow one another along M first, those of B along K first, so that the registers come out in the order mma.sync
// wants. Rows run along K; of an operand contiguous along M or N they lie along that dimension, and .trans turns 16-bit
// matrices over. Elements of 32 bits are then loaded one by one, each register of the fragment in its order.
template <class Operand>
struct WarpIterator {
  using Layout = typename Operand::Layout;
  static constexpr bool kIsA = Operand::kId == 1;
  static constexpr bool kTrans = !Operand::kKContiguous && kElementBits == 16;
  static constexpr bool kWords = !Operand::kKContiguous && kElementBits == 32;
  static constexpr int kMatrixRows = 8;                                     // of 16 bytes
  static constexpr int kMatrixK = kTrans ? kMatrixRows : kVectorElements;  // depth of a matrix along K
  static constexpr int kMatricesK = kInstructionK / kMatrixK;
  static constexpr int kTile = kIsA ? kInstructionM : kInstructionN;  // along M or N, of an instruction of mma.sync
  static constexpr int kTileRegisters = kTile * kInstructionK * kElementBits / 32 / kWarpSize;
  static constexpr int kRegisters = kWords ? 1 : 4;                      // that one load fills
  static constexpr int kRows = kWords ? kTile : 32 / kMatricesK;         // along M or N, of one ldmatrix, or of a tile
  static constexpr int kLoadsOfRows = kWords ? kTileRegisters : 1;       // loads of those rows
  static constexpr int kInstructions = Operand::kWarpExtent / kRows * kLoadsOfRows;  // of one k group
  static constexpr int kLineElements = kLineVectors * kVectorElements;
  static constexpr int kStageBytes = operand_bytes(Layout::kStageElements);

  static_assert(Operand::kKContiguous || kTrans || kWords, "8- and 4-bit elements lie along K");
  static_assert(kMatricesK == 1 || kMatricesK == 2, "a k group is one matrix deep or two");
  static_assert(Operand::kWarpExtent % kRows == 0, "warp tiles are whole instructions");

  uint32 pointer_;  // shared-space byte address in the current stage: the lane's, or (Walk::layout) of the stage
  TileCoordinate first_;  // Walk::layout: what the lane addresses in its first load

  GPUSIM_HOST_DEVICE static constexpr TileCoordinate coordinate(int mn, int k) {
    return Operand::kKContiguous ? TileCoordinate{k, mn} : TileCoordinate{mn, k};
  }

  // What a lane addresses in its first load, relative to the warp's first row.
  GPUSIM_HOST_DEVICE static constexpr TileCoordinate lane_offset(int first_mn, int lane) {
    int const matrix = lane / kMatrixRows, row = lane % kMatrixRows;
    int const matrix_k = kMatricesK == 1 ? 0 : kIsA ? matrix / 2 : matrix % 2;
    int const matrix_mn = kMatricesK == 1 ? matrix : kIsA ? matrix % 2 : matrix / 2;
    if (kWords) return coordinate(first_mn + lane / 4, lane % 4);
    if (kTrans) return coordinate(first_mn + matrix_mn * kMatrixRows, matrix_k * kMatrixK + row);
    return coordinate(first_mn + matrix_mn * kMatrixRows + row, matrix_k * kMatrixK);
  }

  // From a lane's first load to another, the same for all lanes.
  GPUSIM_HOST_DEVICE static constexpr TileCoordinate step(int k_group, int instruction) {
    int const rows = instruction / kLoadsOfRows * kRows, k = k_group * kInstructionK;
    // Registers of a tile follow one another like matrices of 8 by 4: those of A along M first, those of B along K.
    int const within = instruction % kLoadsOfRows, blocks = kTile / kMatrixRows;
    return coordinate(rows + within % blocks * kMatrixRows, k + within / blocks * kVectorElements);
  }

  GPUSIM_HOST_DEVICE WarpIterator(uint32 operand_base, int first_mn, int lane) {
    first_ = lane_offset(first_mn, lane);
    int const offset = Operand::kWalk == Walk::layout ? 0 : Layout::offset(first_.contiguous, first_.strided);
    pointer_ = operand_base + operand_bytes(offset);
  }

  GPUSIM_HOST_DEVICE uint32 get(int k_group, int instruction) const {
    TileCoordinate const to = step(k_group, instruction);
    if constexpr (Operand::kWalk == Walk::add) {
      return pointer_ + operand_bytes(Layout::offset(to.contiguous, to.strided));
    } else if constexpr (Operand::kWalk == Walk::exclusive_or) {
      int const in_line = to.contiguous % kLineElements;
      return (pointer_ ^ operand_bytes(Layout::offset(in_line, 0))) +
             operand_bytes(Layout::offset(to.contiguous - in_line, to.strided));
    } else {
      return pointer_ + operand_bytes(Layout::offset(first_.contiguous + to.contiguous, first_.strided + to.strided));
    }
  }

  // To the next slot of the ring; `wraps`: this was the last one.
  GPUSIM_HOST_DEVICE void advance(bool wraps) {
    pointer_ += wraps ? -(kStages - 1) * kStageBytes : kStageBytes;
  }
};

}  // namespace gpusim
