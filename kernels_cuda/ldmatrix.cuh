// Which rows each lane supplies to the ldmatrix.x4 of a K-contiguous operand. Mirrors gpusim/tile/ldmatrix.py.
#pragma once

#include "platform.cuh"
#include "scenario.cuh"

namespace gpusim {

// An x4 loads 16 rows of the operand and one k group: 2 x 2 matrices of 8 x 8. Those of A follow one another along M
// first, those of B along K first, so that the registers come out in the order mma.sync wants.
template <class Operand>
struct WarpIterator {
  using Layout = typename Operand::Layout;
  static constexpr int kRows = 16;                                      // along M or N, of one instruction
  static constexpr int kInstructions = Operand::kWarpExtent / kRows;    // of one k group
  static constexpr int kStageBytes = Layout::kStageElements * kElementBytes;

  uint32 pointer_;  // shared-space byte address in the current stage: of the lane's row, or (Walk::layout) of the stage
  int k_, row_;     // Walk::layout: the lane's first element along K, and its row

  GPUSIM_HOST_DEVICE WarpIterator(uint32 operand_base, int first_row, int lane) {
    int const matrix = lane / 8, row = lane % 8;
    bool const is_a = Operand::kId == OperandA::kId;
    k_ = (is_a ? matrix / 2 : matrix % 2) * kVectorElements;
    row_ = first_row + (is_a ? matrix % 2 : matrix / 2) * 8 + row;
    pointer_ = operand_base + (Operand::kWalk == Walk::layout ? 0 : Layout::offset(k_, row_) * kElementBytes);
  }

  GPUSIM_HOST_DEVICE uint32 get(int k_group, int instruction) const {
    int const k = k_group * kInstructionK, row = instruction * kRows;
    if constexpr (Operand::kWalk == Walk::add) {
      return pointer_ + Layout::offset(k, row) * kElementBytes;
    } else if constexpr (Operand::kWalk == Walk::exclusive_or) {
      return (pointer_ ^ Layout::offset(k, 0) * kElementBytes) + Layout::offset(0, row) * kElementBytes;
    } else {
      return pointer_ + Layout::offset(k_ + k, row_ + row) * kElementBytes;
    }
  }

  // To the next slot of the ring; `wraps`: this was the last one.
  GPUSIM_HOST_DEVICE void advance(bool wraps) {
    pointer_ += wraps ? -(kStages - 1) * kStageBytes : kStageBytes;
  }
};

}  // namespace gpusim
