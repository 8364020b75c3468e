// The PTX instructions the kernels issue, one function each. Knows no tiles. A host build brings its own definitions
// (by defining GPUSIM_PTX_CUH), so that everything else can be run and checked without a GPU.
#ifndef GPUSIM_PTX_CUH
#define GPUSIM_PTX_CUH

#include "platform.cuh"
#include "scenario.cuh"

namespace gpusim {

extern "C" __shared__ __align__(1024) unsigned char gpusim_shared[];

GPUSIM_DEVICE int thread_index() { return threadIdx.x; }
GPUSIM_DEVICE int block_x() { return blockIdx.x; }
GPUSIM_DEVICE int block_y() { return blockIdx.y; }
GPUSIM_DEVICE int block_z() { return blockIdx.z; }

// The warp's index, known to the compiler to be the same in all its lanes.
GPUSIM_DEVICE int warp_index() { return __shfl_sync(0xffffffffu, int(threadIdx.x) / kWarpSize, 0); }

// Shared-space byte address of the CTA's dynamic shared memory.
GPUSIM_DEVICE uint32 shared_base() {
  uint32 address;
  asm("{\n .reg .u64 wide;\n cvta.to.shared.u64 wide, %1;\n cvt.u32.u64 %0, wide;\n}"
      : "=r"(address)
      : "l"(gpusim_shared));
  return address;
}

// cp.async; an invalid one (`valid` is 0) leaves shared memory as it is.
template <int kBytes, CacheOperator kCache>
GPUSIM_DEVICE void copy_async(uint32 shared, void const* global, uint32 valid) {
  if constexpr (kCache == CacheOperator::cg) {
    asm volatile(
        "{\n .reg .pred p;\n setp.ne.b32 p, %0, 0;\n"
        " @p cp.async.cg.shared.global.L2::128B [%1], [%2], %3;\n}" ::"r"(valid),
        "r"(shared), "l"(global), "n"(kBytes));
  } else {
    asm volatile(
        "{\n .reg .pred p;\n setp.ne.b32 p, %0, 0;\n"
        " @p cp.async.ca.shared.global.L2::128B [%1], [%2], %3;\n}" ::"r"(valid),
        "r"(shared), "l"(global), "n"(kBytes));
  }
}

// cp.async; an invalid one reads nothing and writes zeros.
template <int kBytes, CacheOperator kCache>
GPUSIM_DEVICE void copy_async_zfill(uint32 shared, void const* global, uint32 valid) {
  int const source_bytes = valid ? kBytes : 0;
  if constexpr (kCache == CacheOperator::cg) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], %2, %3;" ::"r"(shared), "l"(global),
                 "n"(kBytes), "r"(source_bytes));
  } else {
    asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], %2, %3;" ::"r"(shared), "l"(global),
                 "n"(kBytes), "r"(source_bytes));
  }
}

GPUSIM_DEVICE void commit_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }

template <int kPending>
GPUSIM_DEVICE void wait_group() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

GPUSIM_DEVICE void barrier() { __syncthreads(); }

template <bool kTrans>
GPUSIM_DEVICE void ldmatrix_x4(uint32 (&registers)[4], uint32 shared) {
  if constexpr (kTrans) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])
                 : "r"(shared));
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])
                 : "r"(shared));
  }
}

GPUSIM_DEVICE void load_shared_word(uint32& word, uint32 shared) {
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(word) : "r"(shared));
}

// d += a * b. gpusim/element_types.py writes the instruction's name; there is one function for each number of registers.
#define GPUSIM_STRING_OF(text) #text
#define GPUSIM_STRING(text) GPUSIM_STRING_OF(text)
#define GPUSIM_MMA_SYNC "mma.sync.aligned." GPUSIM_STRING(GPUSIM_MMA)

GPUSIM_DEVICE void mma_sync(float (&d)[4], uint32 const (&a)[4], uint32 const (&b)[2]) {
  asm volatile(GPUSIM_MMA_SYNC " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
GPUSIM_DEVICE void mma_sync(float (&d)[4], uint32 const (&a)[2], uint32 const (&b)[1]) {
  asm volatile(GPUSIM_MMA_SYNC " {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(b[0]));
}
GPUSIM_DEVICE void mma_sync(uint32 (&d)[4], uint32 const (&a)[4], uint32 const (&b)[2]) {
  asm volatile(GPUSIM_MMA_SYNC " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
GPUSIM_DEVICE void mma_sync(uint32 (&d)[2], uint32 const (&a)[4], uint32 const (&b)[2]) {
  asm volatile(GPUSIM_MMA_SYNC " {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
               : "+r"(d[0]), "+r"(d[1])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
GPUSIM_DEVICE void mma_sync(uint32 (&d)[2], uint32 const (&a)[2], uint32 const (&b)[1]) {
  asm volatile(GPUSIM_MMA_SYNC " {%0, %1}, {%2, %3}, {%4}, {%0, %1};"
               : "+r"(d[0]), "+r"(d[1])
               : "r"(a[0]), "r"(a[1]), "r"(b[0]));
}
GPUSIM_DEVICE void mma_sync(uint32 (&d)[2], uint32 const (&a)[1], uint32 const (&b)[1]) {
  asm volatile(GPUSIM_MMA_SYNC " {%0, %1}, {%2}, {%3}, {%0, %1};" : "+r"(d[0]), "+r"(d[1]) : "r"(a[0]), "r"(b[0]));
}

GPUSIM_DEVICE void store_shared_v4(uint32 shared, uint32 first, uint32 second, uint32 third, uint32 fourth) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(shared), "r"(first), "r"(second), "r"(third),
               "r"(fourth));
}

GPUSIM_DEVICE void store_shared(uint32 shared, uint32 const (&words)[1]) {
  asm volatile("st.shared.b32 [%0], %1;" ::"r"(shared), "r"(words[0]));
}
GPUSIM_DEVICE void store_shared(uint32 shared, float const (&values)[2]) {
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(shared), "f"(values[0]), "f"(values[1]));
}
GPUSIM_DEVICE void store_shared(uint32 shared, uint32 const (&words)[2]) {
  asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(shared), "r"(words[0]), "r"(words[1]));
}

// kBytes of shared memory as words (2 bytes: the low half of one).
template <int kBytes>
GPUSIM_DEVICE void load_shared(uint32* words, uint32 shared) {
  static_assert(kBytes == 2 || kBytes == 4 || kBytes == 8 || kBytes == 16, "ld.shared moves 2, 4, 8 or 16 bytes");
  if constexpr (kBytes == 16) {
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(shared));
  } else if constexpr (kBytes == 8) {
    asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(words[0]), "=r"(words[1]) : "r"(shared));
  } else if constexpr (kBytes == 4) {
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(words[0]) : "r"(shared));
  } else {
    asm volatile("{\n .reg .b16 half;\n ld.shared.b16 half, [%1];\n cvt.u32.u16 %0, half;\n}"
                 : "=r"(words[0])
                 : "r"(shared));
  }
}

// kBytes of global memory as words, which an invalid access leaves zero.
template <int kBytes>
GPUSIM_DEVICE void load_global_or_zero(uint32 (&words)[ceil_div(kBytes, 4)], void const* global, uint32 valid) {
  static_assert(kBytes == 16 || kBytes == 8 || kBytes == 4, "ld.global moves 1, 2 or 4 words here");
  if constexpr (kBytes == 16) {
    asm volatile(
        "{\n .reg .pred p;\n setp.ne.b32 p, %5, 0;\n"
        " mov.b32 %0, 0;\n mov.b32 %1, 0;\n mov.b32 %2, 0;\n mov.b32 %3, 0;\n"
        " @p ld.global.L2::128B.v4.b32 {%0, %1, %2, %3}, [%4];\n}"
        : "=&r"(words[0]), "=&r"(words[1]), "=&r"(words[2]), "=&r"(words[3])
        : "l"(global), "r"(valid));
  } else if constexpr (kBytes == 8) {
    asm volatile(
        "{\n .reg .pred p;\n setp.ne.b32 p, %3, 0;\n mov.b32 %0, 0;\n mov.b32 %1, 0;\n"
        " @p ld.global.L2::128B.v2.b32 {%0, %1}, [%2];\n}"
        : "=&r"(words[0]), "=&r"(words[1])
        : "l"(global), "r"(valid));
  } else {
    asm volatile(
        "{\n .reg .pred p;\n setp.ne.b32 p, %2, 0;\n mov.b32 %0, 0;\n @p ld.global.L2::128B.b32 %0, [%1];\n}"
        : "=&r"(words[0])
        : "l"(global), "r"(valid));
  }
}

// kBytes of global memory as words (2 bytes or 1: the low part of one); an invalid access leaves `words`.
template <int kBytes>
GPUSIM_DEVICE void load_global(uint32* words, void const* global, bool valid) {
  if constexpr (kBytes == 16) {
    asm volatile(
        "{\n .reg .pred p;\n setp.ne.b32 p, %5, 0;\n @p ld.global.L2::128B.v4.b32 {%0, %1, %2, %3}, [%4];\n}"
        : "+r"(words[0]), "+r"(words[1]), "+r"(words[2]), "+r"(words[3])
        : "l"(global), "r"(int(valid)) : "memory");
  } else if constexpr (kBytes == 8) {
    asm volatile("{\n .reg .pred p;\n setp.ne.b32 p, %3, 0;\n @p ld.global.L2::128B.v2.b32 {%0, %1}, [%2];\n}"
                 : "+r"(words[0]), "+r"(words[1])
                 : "l"(global), "r"(int(valid)) : "memory");
  } else if constexpr (kBytes == 4) {
    asm volatile("{\n .reg .pred p;\n setp.ne.b32 p, %2, 0;\n @p ld.global.L2::128B.b32 %0, [%1];\n}"
                 : "+r"(words[0])
                 : "l"(global), "r"(int(valid)) : "memory");
  } else if constexpr (kBytes == 2) {
    asm volatile(
        "{\n .reg .pred p;\n .reg .b16 half;\n setp.ne.b32 p, %2, 0;\n mov.b16 half, 0;\n"
        " @p ld.global.L2::128B.b16 half, [%1];\n cvt.u32.u16 %0, half;\n}"
        : "+r"(words[0])
        : "l"(global), "r"(int(valid)) : "memory");
  } else {
    static_assert(kBytes == 1, "ld.global moves 1, 2, 4, 8 or 16 bytes");
    asm volatile("{\n .reg .pred p;\n setp.ne.b32 p, %2, 0;\n @p ld.global.L2::128B.u8 %0, [%1];\n}"
                 : "+r"(words[0])
                 : "l"(global), "r"(int(valid)) : "memory");
  }
}

template <int kBytes>
GPUSIM_DEVICE void store_global(void* global, uint32 const (&words)[ceil_div(kBytes, 4)], bool valid) {
  if constexpr (kBytes == 16) {
    asm volatile("{\n .reg .pred p;\n setp.ne.b32 p, %5, 0;\n @p st.global.v4.b32 [%0], {%1, %2, %3, %4};\n}" ::"l"(
                     global),
                 "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]), "r"(int(valid)) : "memory");
  } else if constexpr (kBytes == 8) {
    asm volatile("{\n .reg .pred p;\n setp.ne.b32 p, %3, 0;\n @p st.global.v2.b32 [%0], {%1, %2};\n}" ::"l"(global),
                 "r"(words[0]), "r"(words[1]), "r"(int(valid)) : "memory");
  } else if constexpr (kBytes == 4) {
    asm volatile("{\n .reg .pred p;\n setp.ne.b32 p, %2, 0;\n @p st.global.b32 [%0], %1;\n}" ::"l"(global),
                 "r"(words[0]), "r"(int(valid)) : "memory");
  } else if constexpr (kBytes == 2) {
    asm volatile(
        "{\n .reg .pred p;\n .reg .b16 half;\n setp.ne.b32 p, %2, 0;\n cvt.u16.u32 half, %1;\n"
        " @p st.global.b16 [%0], half;\n}" ::"l"(global), "r"(words[0]), "r"(int(valid)) : "memory");
  } else {
    static_assert(kBytes == 1, "st.global moves 1, 2, 4, 8 or 16 bytes");
    asm volatile("{\n .reg .pred p;\n setp.ne.b32 p, %2, 0;\n @p st.global.u8 [%0], %1;\n}" ::"l"(global),
                 "r"(words[0]), "r"(int(valid)) : "memory");
  }
}

// Two f32 to packed f16, rounded to nearest even; `low` is the element at the lower address.
GPUSIM_DEVICE uint32 pack_f16(float low, float high) {
  uint32 packed;
#if __CUDA_ARCH__ >= 800
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
#else
  asm("{\n .reg .b16 first, second;\n cvt.rn.f16.f32 first, %1;\n cvt.rn.f16.f32 second, %2;\n"
      " mov.b32 %0, {first, second};\n}"
      : "=r"(packed)
      : "f"(low), "f"(high));
#endif
  return packed;
}

// The low or high half of a word as f32.
GPUSIM_DEVICE float unpack_f16(uint32 packed, int half) {
  float value;
  asm("{\n .reg .b16 half;\n cvt.u16.u32 half, %1;\n cvt.f32.f16 %0, half;\n}"
      : "=f"(value)
      : "r"(packed >> 16 * half));
  return value;
}

GPUSIM_DEVICE float word_as_float(uint32 word) { return __uint_as_float(word); }
GPUSIM_DEVICE uint32 float_as_word(float value) { return __float_as_uint(value); }

GPUSIM_DEVICE float multiply(float left, float right) { return __fmul_rn(left, right); }
GPUSIM_DEVICE float fused_multiply_add(float left, float right, float added) { return __fmaf_rn(left, right, added); }
GPUSIM_DEVICE float add(float left, float right) { return __fadd_rn(left, right); }
GPUSIM_DEVICE float not_negative(float value) { return fmaxf(value, 0.0f); }

// A bf16 is the upper half of an f32.
GPUSIM_DEVICE uint32 pack_bf16(float low, float high) {
  uint32 packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}
GPUSIM_DEVICE float unpack_bf16(uint32 packed, int half) { return __uint_as_float(packed >> 16 * half << 16); }

GPUSIM_DEVICE float to_float(int value) { return __int2float_rn(value); }
GPUSIM_DEVICE int to_integer(float value) { return __float2int_rn(value); }  // clamped to the range of s32

// Two integers, clamped to kElement, in the low bits, the earlier one lowest; `above` moves up to make room for them.
template <Element kElement>
GPUSIM_DEVICE uint32 pack_integers(int low, int high, uint32 above) {
  uint32 packed;
  if constexpr (kElement == Element::s8) {
    asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, %3;" : "=r"(packed) : "r"(high), "r"(low), "r"(above));
  } else if constexpr (kElement == Element::u8) {
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(packed) : "r"(high), "r"(low), "r"(above));
  } else if constexpr (kElement == Element::s4) {
    asm("cvt.pack.sat.s4.s32.b32 %0, %1, %2, %3;" : "=r"(packed) : "r"(high), "r"(low), "r"(above));
  } else {
    static_assert(kElement == Element::u4, "integers of 8 or 4 bits");
    asm("cvt.pack.sat.u4.s32.b32 %0, %1, %2, %3;" : "=r"(packed) : "r"(high), "r"(low), "r"(above));
  }
  return packed;
}

// Pairs of f16, each operation rounded.
GPUSIM_DEVICE uint32 multiply_f16x2(uint32 left, uint32 right) {
  uint32 result;
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(result) : "r"(left), "r"(right));
  return result;
}
GPUSIM_DEVICE uint32 fused_multiply_add_f16x2(uint32 left, uint32 right, uint32 added) {
  uint32 result;
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(result) : "r"(left), "r"(right), "r"(added));
  return result;
}
GPUSIM_DEVICE uint32 add_f16x2(uint32 left, uint32 right) {
  uint32 result;
  asm("add.rn.f16x2 %0, %1, %2;" : "=r"(result) : "r"(left), "r"(right));
  return result;
}
GPUSIM_DEVICE uint32 not_negative_f16x2(uint32 value) {
#if __CUDA_ARCH__ >= 800
  uint32 result;
  asm("max.f16x2 %0, %1, %2;" : "=r"(result) : "r"(value), "r"(0));
  return result;
#else
  return pack_f16(not_negative(unpack_f16(value, 0)), not_negative(unpack_f16(value, 1)));
#endif
}

GPUSIM_DEVICE void warp_barrier() { __syncwarp(); }

GPUSIM_DEVICE int load_acquire(int const* flag) {
  int value;
  asm volatile("ld.global.acquire.gpu.b32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
}

// Adds to a flag, after everything this thread and those it has synchronised with did, and returns what it held.
GPUSIM_DEVICE int add_release(int* flag, int added) {
  int value;
  asm volatile("atom.global.acq_rel.gpu.add.s32 %0, [%1], %2;" : "=r"(value) : "l"(flag), "r"(added) : "memory");
  return value;
}

GPUSIM_DEVICE void store_relaxed(int* flag, int value) {
  asm volatile("st.global.relaxed.gpu.b32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}

GPUSIM_DEVICE uint32 clock_low() {
  uint32 cycles;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(cycles)::"memory");
  return cycles;
}

GPUSIM_DEVICE int64 clock_wide() {
  int64 cycles;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(cycles)::"memory");
  return cycles;
}

GPUSIM_DEVICE int64 global_timer() {
  int64 nanoseconds;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds)::"memory");
  return nanoseconds;
}

GPUSIM_DEVICE int sm_index() {
  int index;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(index));
  return index;
}

}  // namespace gpusim

#endif
