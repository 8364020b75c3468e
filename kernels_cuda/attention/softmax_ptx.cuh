// The instructions of a softmax that no GEMM issues. A host build brings its own (by defining GPUSIM_ATTENTION_PTX_CUH).
#ifndef GPUSIM_ATTENTION_PTX_CUH
#define GPUSIM_ATTENTION_PTX_CUH

#include "platform.cuh"
#include "ptx.cuh"

namespace gpusim {

// 2 to the power of `value`, subnormal results flushed to 0: one MUFU.
GPUSIM_DEVICE float exp2_approximate(float value) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(value));
  return result;
}

GPUSIM_DEVICE float log2_approximate(float value) {
  float result;
  asm("lg2.approx.f32 %0, %1;" : "=f"(result) : "f"(value));
  return result;
}

GPUSIM_DEVICE float reciprocal(float value) { return __frcp_rn(value); }

GPUSIM_DEVICE float greater_of(float left, float right) { return fmaxf(left, right); }

// The value of the lane whose number differs by `mask`.
GPUSIM_DEVICE float shuffle_xor(float value, int mask) { return __shfl_xor_sync(0xffffffffu, value, mask); }

GPUSIM_DEVICE float load_shared_float(uint32 shared) {
  float value;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(value) : "r"(shared));
  return value;
}

GPUSIM_DEVICE void store_shared_float(uint32 shared, float value) {
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(shared), "f"(value));
}

// Floats as integers of the same order, so that one integer atomic takes a maximum: those of set sign bit are turned over.
GPUSIM_DEVICE int ordered_bits(float value) {
  int const bits = __float_as_int(value);
  return bits ^ ((bits >> 31) & 0x7fffffff);
}
GPUSIM_DEVICE float of_ordered_bits(int bits) { return __int_as_float(bits ^ ((bits >> 31) & 0x7fffffff)); }

GPUSIM_DEVICE void atomic_greatest(uint32 shared, int value) {
  asm volatile("red.shared.max.s32 [%0], %1;" ::"r"(shared), "r"(value) : "memory");
}

}  // namespace gpusim

#endif
