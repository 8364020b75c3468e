// Which rows each lane supplies to the ldmatrix.x4 of a K-contiguous operand. Mirrors gpusim/tile/ldmatrix.py.
#pragma once

#include "platform.cuh"
#include "scenario.cuh"

namespace gpusim {

// An x4 loads four matrices of 8 rows by 16 bytes: 2 x 2 where a k group is two vectors deep, else 4 along M or N. Those
// of A follow one another along M first, those of B along K first, so that the registers come out in the order mma.sync
// wants.
template <class Operand>
struct WarpIterator {
  using Layout = typename Operand::Layout;
  static constexpr int kMatricesK = kInstructionK / kVectorElements;
  static constexpr int kRows = 32 / kMatricesK;                       // along M or N, of one instruction
  static constexpr int kInstructions = Operand::kWarpExtent / kRows;  // of one k group
  static constexpr int kStageBytes = operand_bytes(Layout::kStageElements);

  static_assert(kMatricesK == 1 || kMatricesK == 2, "a k group is one vector deep or two");
  static_assert(Operand::kWarpExtent % kRows == 0, "warp tiles are whole ldmatrix.x4");

  uint32 pointer_;  // shared-space byte address in the current stage: of the lane's row, or (Walk::layout) of the stage
  int k_, row_;     // Walk::layout: the lane's first element along K, and its row

  GPUSIM_HOST_DEVICE WarpIterator(uint32 operand_base, int first_row, int lane) {
    int const matrix = lane / 8, row = lane % 8;
    bool const is_a = Operand::kId == OperandA::kId;
    int const matrix_k = kMatricesK == 1 ? 0 : is_a ? matrix / 2 : matrix % 2;
    int const matrix_row = kMatricesK == 1 ? matrix : is_a ? matrix % 2 : matrix / 2;
    k_ = matrix_k * kVectorElements;
    row_ = first_row + matrix_row * 8 + row;
    pointer_ = operand_base + (Operand::kWalk == Walk::layout ? 0 : operand_bytes(Layout::offset(k_, row_)));
  }

  GPUSIM_HOST_DEVICE uint32 get(int k_group, int instruction) const {
    int const k = k_group * kInstructionK, row = instruction * kRows;
    if constexpr (Operand::kWalk == Walk::add) {
      return pointer_ + operand_bytes(Layout::offset(k, row));
    } else if constexpr (Operand::kWalk == Walk::exclusive_or) {
      return (pointer_ ^ operand_bytes(Layout::offset(k, 0))) + operand_bytes(Layout::offset(0, row));
    } else {
      return pointer_ + operand_bytes(Layout::offset(k_ + k, row_ + row));
    }
  }

  // To the next slot of the ring; `wraps`: this was the last one.
  GPUSIM_HOST_DEVICE void advance(bool wraps) {
    pointer_ += wraps ? -(kStages - 1) * kStageBytes : kStageBytes;
  }
};

}  // namespace gpusim
