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

// A float of shared memory becomes the greater of itself and `value`. As integers, floats of clear sign bit are ordered,
// and those of set sign bit are ordered the other way round and, unsigned, above all others.
GPUSIM_DEVICE void atomic_greatest(uint32 shared, float value) {
  int const bits = __float_as_int(value);
  if (bits >= 0) {
    asm volatile("red.shared.max.s32 [%0], %1;" ::"r"(shared), "r"(bits));
  } else {
    asm volatile("red.shared.min.u32 [%0], %1;" ::"r"(shared), "r"(bits));
  }
}

}  // namespace gpusim

#endif
