// The linear combination: alpha * sum, + beta * C, as the output's elements. Knows no shared memory.
#pragma once

#include "hopper/accumulators.cuh"
#include "hopper/params.cuh"
#include "hopper/ptx.cuh"

namespace gpusim {

// Scales and sums are computed in f32, or in s32 for s32 outputs with whole scales.
constexpr bool kIntegers = GPUSIM_COMPUTES_INTEGERS;
template <bool>
struct ValueOf {
  using Type = float;
};
template <>
struct ValueOf<true> {
  using Type = int;
};
using Value = ValueOf<kIntegers>::Type;

// The four sums of a thread in eight columns of 64 rows: two neighbours of a row, and two of the row eight below.
GPUSIM_DEVICE Value sum_of(Accumulator const (&d)[kAccumulators], int column_block, int value) {
  if constexpr (kSums == Sums::f16) return unpack_f16(d[2 * column_block + value / 2], value % 2);
  if constexpr (kSums == Sums::s32 && kIntegers) return int(d[4 * column_block + value]);
  if constexpr (kSums == Sums::s32 && !kIntegers) return to_float(int(d[4 * column_block + value]));
  if constexpr (kSums == Sums::f32) return d[4 * column_block + value];
}

struct LinearCombination {
  Value alpha;
  Value beta;

  GPUSIM_DEVICE explicit LinearCombination(Params const& params)
      : alpha(static_cast<Value>(params.alpha)), beta(static_cast<Value>(params.beta)) {}
  GPUSIM_DEVICE Value operator()(Value sum) const { return alpha * sum; }
  GPUSIM_DEVICE Value operator()(Value sum, Value source) const {
    if constexpr (kIntegers) return alpha * sum + beta * source;
    if constexpr (!kIntegers) return fused_multiply_add(alpha, sum, beta * source);
  }
};

// Two neighbours as they are stored: one word, or two for 32-bit elements.
constexpr int kPairWords = kOutputBytes == 4 ? 2 : 1;

GPUSIM_DEVICE void pack_pair(uint32 (&words)[kPairWords], Value first, Value second) {
  if constexpr (kOutput == Element::f16) words[0] = pack_f16(first, second);
  if constexpr (kOutput == Element::bf16) words[0] = pack_bf16(first, second);
  if constexpr (kOutput == Element::s8) words[0] = pack_s8(first, second);
  if constexpr (kOutput == Element::f32) {
    words[0] = float_as_word(first);
    words[kPairWords - 1] = float_as_word(second);
  }
  if constexpr (kOutput == Element::s32) {
    words[0] = kIntegers ? int(first) : to_integer(first);
    words[kPairWords - 1] = kIntegers ? int(second) : to_integer(second);
  }
}
GPUSIM_DEVICE void unpack_pair(Value (&values)[2], uint32 const (&words)[kPairWords]) {
  GPUSIM_UNROLL
  for (int i = 0; i < 2; ++i) {
    if constexpr (kOutput == Element::f16) values[i] = unpack_f16(words[0], i);
    if constexpr (kOutput == Element::bf16) values[i] = unpack_bf16(words[0], i);
    if constexpr (kOutput == Element::s8) values[i] = unpack_s8(words[0], i);
    if constexpr (kOutput == Element::f32) values[i] = word_as_float(words[i]);
    if constexpr (kOutput == Element::s32) values[i] = static_cast<Value>(int(words[i]));
  }
}

}  // namespace gpusim
