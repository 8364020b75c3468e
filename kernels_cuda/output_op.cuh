// What becomes of accumulators on their way to the output: scaled, added to, activated, converted. Mirrors
// gpusim/numerics/output_op.py; knows no addresses.
#pragma once

#include "platform.cuh"
#include "ptx.cuh"
#include "scenario.cuh"

namespace gpusim {

GPUSIM_HOST_DEVICE constexpr int words_of(int elements, Element element) { return ceil_div(elements * bits_of(element), 32); }

// One element of packed words, as f32.
template <Element kElement>
GPUSIM_DEVICE float as_float(uint32 const* words, int element) {
  constexpr int kBits = bits_of(kElement), kOfWord = 32 / kBits;
  uint32 const word = words[element / kOfWord];
  if constexpr (kElement == Element::f32) {
    return word_as_float(word);
  } else if constexpr (kElement == Element::f16) {
    return unpack_f16(word, element % kOfWord);
  } else if constexpr (kElement == Element::bf16) {
    return unpack_bf16(word, element % kOfWord);
  } else {
    constexpr bool kSigned = kElement != Element::u8 && kElement != Element::u4;
    uint32 const top = word << (32 - kBits - element % kOfWord * kBits);
    return to_float(kSigned ? int(top) >> (32 - kBits) : int(top >> (32 - kBits)));
  }
}

// kCount f32 as packed words; what lies beyond kCount in the last word is 0.
template <Element kElement, int kCount>
GPUSIM_DEVICE void pack(uint32* words, float const (&values)[kCount]) {
  constexpr int kOfWord = 32 / bits_of(kElement);
  GPUSIM_UNROLL
  for (int word = 0; word < words_of(kCount, kElement); ++word) {
    if constexpr (kElement == Element::f32) {
      words[word] = float_as_word(values[word]);
    } else if constexpr (kElement == Element::s32) {
      words[word] = uint32(to_integer(values[word]));
    } else if constexpr (kElement == Element::f16 || kElement == Element::bf16) {
      float const high = kCount > 1 ? values[least(2 * word + 1, kCount - 1)] : 0.0f;
      words[word] = kElement == Element::f16 ? pack_f16(values[2 * word], high) : pack_bf16(values[2 * word], high);
    } else {
      words[word] = 0;
      GPUSIM_UNROLL
      for (int pair = kOfWord / 2 - 1; pair >= 0; --pair) {
        int const first = word * kOfWord + 2 * pair;
        if (first < kCount) {
          int const high = first + 1 < kCount ? to_integer(values[least(first + 1, kCount - 1)]) : 0;
          words[word] = pack_integers<kElement>(to_integer(values[first]), high, words[word]);
        }
      }
    }
  }
}

// D = relu(alpha * accumulator + beta * source + bias) on kCount elements, in packed words of their types.
template <int kCount, bool kReadsSource, bool kReadsBias, bool kWithRelu>
struct OutputOp {
  static constexpr bool kWithSource = kReadsSource, kWithBias = kReadsBias;
  static constexpr int kWords = words_of(kCount, kOutput);
  static constexpr int kAccumulatorWords = words_of(kCount, kAccumulator);

  float const alpha, beta;

  GPUSIM_DEVICE void operator()(uint32 (&result)[kWords], uint32 const (&accumulators)[kAccumulatorWords],
                                uint32 const* source, uint32 const* bias) const {
    if constexpr (kCompute == Element::f32) {
      in_f32(result, accumulators, source, bias);
    } else {
      static_assert(kWords == kAccumulatorWords, "f16 and s32 stay what they are");
      GPUSIM_UNROLL
      for (int word = 0; word < kWords; ++word) {
        if constexpr (kCompute == Element::f16) {
          result[word] = in_f16(accumulators[word], kWithSource ? source[word] : 0, kWithBias ? bias[word] : 0);
        } else {
          result[word] = in_s32(accumulators[word], kWithSource ? source[word] : 0, kWithBias ? bias[word] : 0);
        }
      }
    }
  }

  GPUSIM_DEVICE void in_f32(uint32 (&result)[kWords], uint32 const (&accumulators)[kAccumulatorWords],
                            uint32 const* source, uint32 const* bias) const {
    float values[kCount];
    GPUSIM_UNROLL
    for (int element = 0; element < kCount; ++element) {
      float const accumulator = as_float<kAccumulator>(accumulators, element);
      if constexpr (kWithSource) {
        values[element] = fused_multiply_add(alpha, accumulator, multiply(beta, as_float<kOutput>(source, element)));
      } else {
        values[element] = multiply(alpha, accumulator);
      }
      if constexpr (kWithBias) values[element] = add(values[element], as_float<kOutput>(bias, element));
      if constexpr (kWithRelu) values[element] = not_negative(values[element]);
    }
    pack<kOutput>(result, values);
  }

  GPUSIM_DEVICE uint32 in_f16(uint32 accumulator, uint32 source, uint32 bias) const {
    uint32 const scale = pack_f16(alpha, alpha);
    uint32 value = kWithSource
                       ? fused_multiply_add_f16x2(scale, accumulator, multiply_f16x2(pack_f16(beta, beta), source))
                       : multiply_f16x2(scale, accumulator);
    if constexpr (kWithBias) value = add_f16x2(value, bias);
    return kWithRelu ? not_negative_f16x2(value) : value;
  }

  GPUSIM_DEVICE uint32 in_s32(uint32 accumulator, uint32 source, uint32 bias) const {
    uint32 value = uint32(to_integer(alpha)) * accumulator;
    if constexpr (kWithSource) value += uint32(to_integer(beta)) * source;
    if constexpr (kWithBias) value += bias;
    return kWithRelu && int(value) < 0 ? 0 : value;
  }
};

}  // namespace gpusim
