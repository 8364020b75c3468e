// Where each thread's cp.async writes an operand tile in shared memory. Mirrors gpusim/tile/shared_store.py.
#pragma once

#include "platform.cuh"
#include "scenario.cuh"

namespace gpusim {

// Base addresses with the swizzle already in them, then additions: along each dimension access i lies a constant away
// from access i mod (pointers of that dimension), the same in every thread. specialise.py finds the fewest pointers for
// which that holds.
template <class Operand>
struct SharedStoreIterator {
  using Map = typename Operand::Map;
  using Layout = typename Operand::Layout;
  static constexpr int kPointersContiguous = Operand::kStorePointersContiguous;
  static constexpr int kPointers = kPointersContiguous * Operand::kStorePointersStrided;
  static constexpr int kStageBytes = operand_bytes(Layout::kStageElements);

  uint32 pointer_[kPointers];  // shared-space byte addresses in the current stage

  GPUSIM_HOST_DEVICE static constexpr int offset(int thread, int access) {
    TileCoordinate const first = Map::initial_offset(thread), at = Map::access_offset(access);
    return Layout::offset(first.contiguous + at.contiguous, first.strided + at.strided);
  }

  // The pointer that serves an access, and the access that the pointer is the address of.
  GPUSIM_HOST_DEVICE static constexpr int pointer_of(int access) {
    int const contiguous = access % Map::kIterationsContiguous, strided = access / Map::kIterationsContiguous;
    return strided % Operand::kStorePointersStrided * kPointersContiguous + contiguous % kPointersContiguous;
  }
  GPUSIM_HOST_DEVICE static constexpr int access_of(int pointer) {
    return pointer / kPointersContiguous * Map::kIterationsContiguous + pointer % kPointersContiguous;
  }

  GPUSIM_HOST_DEVICE SharedStoreIterator(uint32 operand_base, int thread) {
    GPUSIM_UNROLL
    for (int pointer = 0; pointer < kPointers; ++pointer) {
      pointer_[pointer] = operand_base + operand_bytes(offset(thread, access_of(pointer)));
    }
  }

  GPUSIM_HOST_DEVICE uint32 get(int access, int vec) const {
    int const pointer = pointer_of(access);
    int const added = offset(0, access) - offset(0, access_of(pointer)) + vec * Operand::kElementsPerCopy;
    return pointer_[pointer] + operand_bytes(added);
  }

  // To the next slot of the ring; `wraps`: this was the last one.
  GPUSIM_HOST_DEVICE void advance(bool wraps) {
    GPUSIM_UNROLL
    for (int index = 0; index < kPointers; ++index) {
      pointer_[index] += wraps ? -(kStages - 1) * kStageBytes : kStageBytes;
    }
  }
};

}  // namespace gpusim
