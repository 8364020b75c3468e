// Where each thread's cp.async writes an operand tile in shared memory. Mirrors gpusim/tile/shared_store.py.
#pragma once

#include "platform.cuh"
#include "scenario.cuh"

namespace gpusim {

// Base addresses with the swizzle already in them, then additions: access i lies a constant away from access
// i mod kStorePointers, the same in every thread. specialise.py finds the fewest pointers for which that holds.
template <class Operand>
struct SharedStoreIterator {
  using Map = typename Operand::Map;
  using Layout = typename Operand::Layout;
  static constexpr int kPointers = Operand::kStorePointers;
  static constexpr int kStageBytes = operand_bytes(Layout::kStageElements);

  uint32 pointer_[kPointers];  // shared-space byte addresses in the current stage

  GPUSIM_HOST_DEVICE static constexpr int offset(int thread, int access) {
    TileCoordinate const first = Map::initial_offset(thread);
    return Layout::offset(first.contiguous, first.strided + access * Map::kDeltaStrided);
  }

  GPUSIM_HOST_DEVICE SharedStoreIterator(uint32 operand_base, int thread) {
    GPUSIM_UNROLL
    for (int access = 0; access < kPointers; ++access) {
      pointer_[access] = operand_base + operand_bytes(offset(thread, access));
    }
  }

  GPUSIM_HOST_DEVICE uint32 get(int access, int vec) const {
    int const added = offset(0, access) - offset(0, access % kPointers) + vec * Operand::kElementsPerCopy;
    return pointer_[access % kPointers] + operand_bytes(added);
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
