// One warp's fragments, and the mma.sync that multiply them. Mirrors gpusim/tile/mma.py.
#pragma once

#include "ldmatrix.cuh"
#include "platform.cuh"
#include "ptx.cuh"
#include "scenario.cuh"

namespace gpusim {

constexpr int kMmaTilesM = kWarpM / kInstructionM, kMmaTilesN = kWarpN / kInstructionN;

// The registers of one k group: what each ldmatrix.x4 delivers. Of A one tile of 16 rows, of B two of 8 columns.
template <class Operand>
struct Fragment {
  uint32 registers[WarpIterator<Operand>::kInstructions][4];
};

struct Accumulators {
  float registers[kMmaTilesN][kMmaTilesM][4];

  GPUSIM_DEVICE Accumulators() {
    GPUSIM_UNROLL
    for (int n = 0; n < kMmaTilesN; ++n) {
      GPUSIM_UNROLL
      for (int m = 0; m < kMmaTilesM; ++m) {
        GPUSIM_UNROLL
        for (int element = 0; element < 4; ++element) registers[n][m][element] = 0.0f;
      }
    }
  }
};

// The n of the `step`-th instruction in row m: along N, turning back on odd rows.
GPUSIM_HOST_DEVICE constexpr int serpentine(int m, int step) { return m % 2 ? kMmaTilesN - 1 - step : step; }

GPUSIM_DEVICE void mma_tile(Accumulators& accumulators, Fragment<OperandA> const& a, Fragment<OperandB> const& b, int m,
                            int step) {
  int const n = serpentine(m, step);
  uint32 const(&pair)[4] = b.registers[n / 2];
  mma_sync(accumulators.registers[n][m], a.registers[m], pair[n % 2 * 2], pair[n % 2 * 2 + 1]);
}

}  // namespace gpusim
