// One warp's fragments, and the mma.sync that multiply them. Mirrors gpusim/tile/mma.py.
#pragma once

#include "ldmatrix.cuh"
#include "platform.cuh"
#include "ptx.cuh"
#include "scenario.cuh"

namespace gpusim {

constexpr int kMmaTilesM = kWarpM / kInstructionM, kMmaTilesN = kWarpN / kInstructionN;

// A target that walks a warp tile's instructions along M, reusing B, walks it along N from sm_80 on, but for sm_89.
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ < 800 || __CUDA_ARCH__ == 890)
constexpr bool kVertical = true;
#else
constexpr bool kVertical = false;
#endif
constexpr int kMmaOuter = kVertical ? kMmaTilesN : kMmaTilesM, kMmaInner = kVertical ? kMmaTilesM : kMmaTilesN;

// Registers of one instruction tile: of A and B one for each matrix of 8 rows by 16 bytes; two 16-bit accumulators share
// one.
constexpr int kRegistersA = kInstructionM * kInstructionK * kElementBits / 32 / kWarpSize;
constexpr int kRegistersB = kInstructionN * kInstructionK * kElementBits / 32 / kWarpSize;
constexpr int kRegistersC = kInstructionM * kInstructionN * bits_of(kAccumulator) / 32 / kWarpSize;

// The registers of one k group: what each load delivers, which is fragment after fragment.
template <class Operand>
struct Fragment {
  static constexpr int kOfLoad = WarpIterator<Operand>::kRegisters;

  uint32 registers[WarpIterator<Operand>::kInstructions][kOfLoad];

  // The fragment of one instruction tile.
  template <int kCount>
  GPUSIM_DEVICE void tile(uint32 (&of_tile)[kCount], int index) const {
    GPUSIM_UNROLL
    for (int element = 0; element < kCount; ++element) {
      int const at = index * kCount + element;
      of_tile[element] = registers[at / kOfLoad][at % kOfLoad];
    }
  }
};

template <Element kElement>
struct AccumulatorRegisterOf {
  using Type = uint32;
};
template <>
struct AccumulatorRegisterOf<Element::f32> {
  using Type = float;
};
using AccumulatorRegister = AccumulatorRegisterOf<kAccumulator>::Type;

struct Accumulators {
  AccumulatorRegister registers[kMmaTilesN][kMmaTilesM][kRegistersC];

  GPUSIM_DEVICE Accumulators() {
    GPUSIM_UNROLL
    for (int n = 0; n < kMmaTilesN; ++n) {
      GPUSIM_UNROLL
      for (int m = 0; m < kMmaTilesM; ++m) {
        GPUSIM_UNROLL
        for (int element = 0; element < kRegistersC; ++element) registers[n][m][element] = 0;
      }
    }
  }
};

// The instruction of step `inner` in row (vertical: column) `outer`: back and forth, turning on odd ones.
GPUSIM_DEVICE void mma_tile(Accumulators& accumulators, Fragment<OperandA> const& a, Fragment<OperandB> const& b,
                            int outer, int inner) {
  int const turned = outer % 2 ? kMmaInner - 1 - inner : inner;
  int const m = kVertical ? turned : outer, n = kVertical ? outer : turned;
  uint32 of_a[kRegistersA], of_b[kRegistersB];
  a.tile(of_a, m);
  b.tile(of_b, n);
  mma_sync(accumulators.registers[n][m], of_a, of_b);
}

}  // namespace gpusim
