// Element types, by the names that scenarios give them, and their widths. Mirrors gpusim/element_types.py; knows no tiles.
#pragma once

#include "platform.cuh"

namespace gpusim {

enum class Element { f16, bf16, tf32, f32, s8, u8, s4, u4, s32 };

GPUSIM_HOST_DEVICE constexpr int bits_of(Element element) {
  switch (element) {
    case Element::f16:
    case Element::bf16:
      return 16;
    case Element::s8:
    case Element::u8:
      return 8;
    case Element::s4:
    case Element::u4:
      return 4;
    default:
      return 32;
  }
}

// Bytes of an offset in elements; several 4-bit ones share a byte.
GPUSIM_HOST_DEVICE constexpr int64 bytes_of(int64 elements, Element element) {
  return bits_of(element) < 8 ? elements / 2 : elements * (bits_of(element) / 8);
}

constexpr Element kAb = Element::GPUSIM_AB;  // of both operands
constexpr Element kAccumulator = Element::GPUSIM_ACCUMULATOR;

constexpr int kElementBits = bits_of(kAb);
constexpr int kVectorElements = 8 * kVectorBytes / kElementBits;  // elements of an operand in a 128-bit vector

// Bytes of so many elements of an operand. Of 4-bit ones every offset is even: an access has eight at least.
template <class Integer>
GPUSIM_HOST_DEVICE constexpr Integer operand_bytes(Integer elements) {
  return kElementBits < 8 ? elements >> 1 : elements * (kElementBits / 8);
}

template <class Integer>
GPUSIM_HOST_DEVICE constexpr Integer operand_elements(Integer bytes) {
  return kElementBits < 8 ? bytes * 2 : bytes / (kElementBits / 8);
}

}  // namespace gpusim
