// The registers of a thread's accumulators. Knows no instructions.
#pragma once

#include "hopper/config.cuh"

namespace gpusim {

// A thread's registers of the accumulators of 64 rows: f32 and s32 one an element, f16 two elements.
constexpr int kAccumulators = GPUSIM_ACCUMULATORS;
enum class Sums { f32, s32, f16 };
constexpr Sums kSums = Sums::GPUSIM_ACCUMULATOR;
template <Sums>
struct AccumulatorOf {
  using Type = uint32;
};
template <>
struct AccumulatorOf<Sums::f32> {
  using Type = float;
};
using Accumulator = AccumulatorOf<kSums>::Type;
using Accumulators = Accumulator[kMBlocks][kAccumulators];

}  // namespace gpusim
