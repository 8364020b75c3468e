// The matrix descriptors of the blocks that wgmma reads. Mirrors gpusim/families/hopper/program/descriptors.py.
#pragma once

#include "hopper/config.cuh"
#include "hopper/wgmma_ptx.cuh"

namespace gpusim {

// The low word of the descriptor of a ring's first block. The bits of an address above those of a CTA's shared memory
// are its rank in the cluster; start addresses of later blocks never reach the field above theirs.
template <class Operand>
GPUSIM_DEVICE uint32 first_descriptor(uint32 base) {
  return Operand::kLow + (base >> 4 & 0x3fff);
}
template <class Operand>
GPUSIM_DEVICE uint64 descriptor(uint32 first, int stage, int block, int k_block) {
  uint32 const along_k =
      k_block / Operand::kKOfAtom * Operand::kAtomStep + k_block % Operand::kKOfAtom * Operand::kKStep;
  uint32 const low = first + stage * (Operand::kBytes >> 4) + block * Operand::kMStep + along_k;
  return uint64(Operand::kHigh) << 32 | low;
}

}  // namespace gpusim
