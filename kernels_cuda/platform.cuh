// Integer types and function qualifiers that nvcc, NVRTC and a host compiler share. Knows nothing of tiles.
#pragma once

#if defined(__CUDACC__)
#define GPUSIM_HOST_DEVICE __host__ __device__ __forceinline__
#define GPUSIM_DEVICE __device__ __forceinline__
#define GPUSIM_UNROLL _Pragma("unroll")
#define GPUSIM_NO_UNROLL _Pragma("unroll 1")
#else
#define GPUSIM_HOST_DEVICE inline
#define GPUSIM_DEVICE inline
#define GPUSIM_UNROLL
#define GPUSIM_NO_UNROLL
#endif

namespace gpusim {

using uint32 = unsigned int;
using int64 = long long;

// The integer that holds offsets up to `kLargest` either way: 32 bits where they do.
template <bool kNarrow>
struct IndexOf {
  using Type = int;
};
template <>
struct IndexOf<false> {
  using Type = int64;
};
template <int64 kLargest>
using Index = typename IndexOf<(kLargest < int64(1) << 31)>::Type;

constexpr int kWarpSize = 32;
constexpr int kVectorBytes = 16;  // one 128-bit vector: a cp.async at its widest, a row of an ldmatrix matrix
constexpr int kLineBytes = 128;   // one line of shared memory: all 32 banks once

GPUSIM_HOST_DEVICE constexpr int ceil_div(int numerator, int denominator) {
  return (numerator + denominator - 1) / denominator;
}

GPUSIM_HOST_DEVICE constexpr int least(int left, int right) { return left < right ? left : right; }

GPUSIM_HOST_DEVICE constexpr int greatest(int left, int right) { return left > right ? left : right; }

}  // namespace gpusim
