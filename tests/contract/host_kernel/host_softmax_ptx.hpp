// The instructions of kernels_cuda/attention/softmax_ptx.cuh on a CPU.
#pragma once

#include "host_ptx.hpp"

#define GPUSIM_ATTENTION_PTX_CUH  // these definitions stand in for kernels_cuda/attention/softmax_ptx.cuh

namespace host {

inline float& shared_float(std::uint32_t address) { return *reinterpret_cast<float*>(shared_at(address, 4)); }

}  // namespace host

namespace gpusim {

inline float exp2_approximate(float value) { return std::exp2(value); }
inline float log2_approximate(float value) { return std::log2(value); }
inline float reciprocal(float value) { return 1.0f / value; }
inline float greater_of(float left, float right) { return std::fmax(left, right); }

inline float shuffle_xor(float value, int mask) {
  host::Warp& warp = host::warp();
  warp.addresses[host::lane()] = float_as_word(value);
  host::meet(warp.together, 32, [] {});
  float const other = word_as_float(warp.addresses[host::lane() ^ mask]);
  host::meet(warp.together, 32, [] {});
  return other;
}

inline float load_shared_float(uint32 shared) { return host::shared_float(shared); }
inline void store_shared_float(uint32 shared, float value) { host::shared_float(shared) = value; }

inline int ordered_bits(float value) {
  int const bits = int(float_as_word(value));
  return bits ^ ((bits >> 31) & 0x7fffffff);
}
inline float of_ordered_bits(int bits) { return word_as_float(uint32(bits ^ ((bits >> 31) & 0x7fffffff))); }

inline void atomic_greatest(uint32 shared, int value) {
  int& held = *reinterpret_cast<int*>(host::shared_at(shared, 4));
  if (value > held) held = value;
}

}  // namespace gpusim
