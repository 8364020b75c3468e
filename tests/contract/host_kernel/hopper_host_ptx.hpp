// The PTX instructions of kernels_cuda/hopper on a CPU, one thread after another: every wait returns at once, nothing is
// moved. What is left is which instructions a thread issues, in which order and with which operands.
#pragma once

#include "standard.hpp"

#define GPUSIM_HOPPER_PTX_CUH
#define GPUSIM_HOPPER_WGMMA_PTX_CUH
#define __global__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __grid_constant__

#include "hopper/accumulators.cuh"
#include "hopper/params.cuh"

struct Index {
  int x, y, z;
};
inline Index threadIdx, blockIdx, gridDim;

namespace gpusim {

// Where dynamic shared memory begins; the bits above are a CTA's rank in its cluster.
inline uint32 shared_base() { return 0x05000400; }
inline int warp_index() { return threadIdx.x / kWarpSize; }
inline bool elect_one() { return threadIdx.x % kWarpSize == 0; }
template <int>
void fewer_registers() {}
template <int>
void more_registers() {}
inline void warp_barrier() {}
inline void cta_barrier() {}
inline void cluster_arrive_relaxed() {}
inline void cluster_arrive() {}
inline void cluster_wait() {}
template <int, int>
void named_barrier() {}

inline void mbarrier_init(uint32, int) {}
inline void fence_barrier_init() {}
inline bool mbarrier_try_wait(uint32, uint32) { return true; }
inline void mbarrier_wait(uint32, uint32) {}
inline void mbarrier_arrive(uint32) {}
inline void mbarrier_arrive_remote(uint32, uint32) {}
inline void mbarrier_arrive_expect(uint32, uint32) {}
inline void mbarrier_expect(uint32, uint32) {}

inline void prefetch_tensor_map(TensorMap const&) {}
inline void tma_load(uint32, TensorMap const&, uint32, int, int, int) {}
inline void tma_load_multicast(uint32, TensorMap const&, uint32, uint32, int, int, int) {}
inline void tma_store(TensorMap const&, uint32, int, int, int) {}
inline void tma_store_commit() {}
template <int>
void tma_store_wait_read() {}
inline void fence_proxy_async() {}

inline void stmatrix_x4(uint32, uint32 const (&)[4]) {}
inline void ldmatrix_x4(uint32 (&words)[4], uint32) { words[0] = words[1] = words[2] = words[3] = 0; }
inline void store_shared(uint32, uint32, uint32) {}
inline void load_shared(uint32& first, uint32& second, uint32) { first = second = 0; }
inline void store_shared_half(uint32, uint32) {}
inline uint32 load_shared_half(uint32) { return 0; }
inline void store_global(void*, uint32, uint32) {}
inline void store_global(void*, uint32) {}
inline void store_global_half(void*, uint32) {}

inline uint32 multiply_high(uint32 left, uint32 right) { return uint64(left) * right >> 32; }
inline uint32 float_as_word(float) { return 0; }
inline float word_as_float(uint32) { return 0.0f; }
inline float to_float(int value) { return float(value); }
inline int to_integer(float value) { return int(value); }
inline float fused_multiply_add(float left, float right, float added) { return left * right + added; }
inline uint32 pack_f16(float, float) { return 0; }
inline uint32 pack_bf16(float, float) { return 0; }
inline uint32 pack_s8(float, float) { return 0; }
inline float unpack_f16(uint32, int) { return 0.0f; }
inline float unpack_bf16(uint32, int) { return 0.0f; }
inline float unpack_s8(uint32, int) { return 0.0f; }

template <bool>
void wgmma(Accumulator (&)[kAccumulators], uint64, uint64) {}
inline void wgmma_fence() {}
inline void wgmma_commit() {}
template <int>
void wgmma_wait() {}
inline void hold(Accumulators& d) { d[0][0] = d[0][0]; }

}  // namespace gpusim
