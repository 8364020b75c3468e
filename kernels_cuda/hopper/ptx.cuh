// The PTX instructions of sm_90a that the kernels issue, one function each. Addresses in shared memory are 32 bits.
// A host build brings its own definitions (by defining GPUSIM_HOPPER_PTX_CUH), and those of wgmma.cuh.
#ifndef GPUSIM_HOPPER_PTX_CUH
#define GPUSIM_HOPPER_PTX_CUH

#include "hopper/config.cuh"
#include "hopper/params.cuh"

namespace gpusim {

extern "C" __shared__ __align__(1024) unsigned char gpusim_shared[];

GPUSIM_DEVICE uint32 shared_base() { return static_cast<uint32>(__cvta_generic_to_shared(gpusim_shared)); }

// The warp's index, known to the compiler to be the same in all its lanes.
GPUSIM_DEVICE int warp_index() { return __shfl_sync(0xffffffffu, int(threadIdx.x) / kWarpSize, 0); }

// Whether this lane is the one that a converged warp elects, always the same one.
GPUSIM_DEVICE bool elect_one() {
  uint32 elected;
  asm volatile("{\n .reg .pred p;\n elect.sync _|p, 0xffffffff;\n selp.b32 %0, 1, 0, p;\n}" : "=r"(elected));
  return elected;
}

template <int kRegisters>
GPUSIM_DEVICE void fewer_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
GPUSIM_DEVICE void more_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// Barriers of the warp, the CTA and the cluster.
GPUSIM_DEVICE void warp_barrier() { __syncwarp(); }
GPUSIM_DEVICE void cta_barrier() { __syncthreads(); }
GPUSIM_DEVICE void cluster_arrive_relaxed() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }
GPUSIM_DEVICE void cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
GPUSIM_DEVICE void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
template <int kBarrier, int kBarrierThreads>
GPUSIM_DEVICE void named_barrier() {
  asm volatile("bar.sync %0, %1;" ::"n"(kBarrier), "n"(kBarrierThreads) : "memory");
}

// Mbarriers.
GPUSIM_DEVICE void mbarrier_init(uint32 barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
GPUSIM_DEVICE void fence_barrier_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
GPUSIM_DEVICE bool mbarrier_try_wait(uint32 barrier, uint32 parity) {
  uint32 passed;
  asm volatile(
      "{\n .reg .pred p;\n mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n selp.b32 %0, 1, 0, p;\n}"
      : "=r"(passed)
      : "r"(barrier), "r"(parity)
      : "memory");
  return passed;
}
GPUSIM_DEVICE void mbarrier_wait(uint32 barrier, uint32 parity) {
  while (!mbarrier_try_wait(barrier, parity)) {
  }
}
GPUSIM_DEVICE void mbarrier_arrive(uint32 barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
// Arrive at the barrier with this address in the CTA of the cluster with a rank.
GPUSIM_DEVICE void mbarrier_arrive_remote(uint32 barrier, uint32 rank) {
  asm volatile(
      "{\n .reg .b32 remote;\n mapa.shared::cluster.u32 remote, %0, %1;\n"
      " mbarrier.arrive.shared::cluster.b64 _, [remote];\n}" ::"r"(barrier),
      "r"(rank)
      : "memory");
}
GPUSIM_DEVICE void mbarrier_arrive_expect(uint32 barrier, uint32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
GPUSIM_DEVICE void mbarrier_expect(uint32 barrier, uint32 bytes) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// TMA. The hint is an L2 policy: evict_normal.
constexpr uint64 kEvictNormal = 0x1000000000000000;

GPUSIM_DEVICE uint64 address_of(TensorMap const& map) { return reinterpret_cast<uint64>(&map); }
GPUSIM_DEVICE void prefetch_tensor_map(TensorMap const& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(address_of(map)) : "memory");
}
GPUSIM_DEVICE void tma_load(uint32 shared, TensorMap const& map, uint32 barrier, int x, int y, int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
      " [%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(shared),
      "l"(address_of(map)), "r"(barrier), "r"(x), "r"(y), "r"(z), "l"(kEvictNormal)
      : "memory");
}
GPUSIM_DEVICE void tma_load_multicast(uint32 shared, TensorMap const& map, uint32 barrier, uint32 mask, int x, int y,
                                      int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint"
      " [%0], [%1, {%4, %5, %6}], [%2], %3, %7;" ::"r"(shared),
      "l"(address_of(map)), "r"(barrier), "h"(static_cast<unsigned short>(mask)), "r"(x), "r"(y), "r"(z),
      "l"(kEvictNormal)
      : "memory");
}
GPUSIM_DEVICE void tma_store(TensorMap const& map, uint32 shared, int x, int y, int z) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(
                   address_of(map)),
               "r"(shared), "r"(x), "r"(y), "r"(z)
               : "memory");
}
GPUSIM_DEVICE void tma_store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int kPending>
GPUSIM_DEVICE void tma_store_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}
// What this thread wrote to shared memory is ordered before what TMA and wgmma read of it.
GPUSIM_DEVICE void fence_proxy_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// The epilogue's accesses to shared memory.
GPUSIM_DEVICE void stmatrix_x4(uint32 shared, uint32 const (&words)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared), "r"(words[0]),
               "r"(words[1]), "r"(words[2]), "r"(words[3])
               : "memory");
}
GPUSIM_DEVICE void ldmatrix_x4(uint32 (&words)[4], uint32 shared) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(shared)
               : "memory");
}
GPUSIM_DEVICE void store_shared(uint32 shared, uint32 first, uint32 second) {
  asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(shared), "r"(first), "r"(second) : "memory");
}
GPUSIM_DEVICE void load_shared(uint32& first, uint32& second, uint32 shared) {
  asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(first), "=r"(second) : "r"(shared) : "memory");
}
GPUSIM_DEVICE void store_shared_half(uint32 shared, uint32 value) {
  asm volatile("st.shared.b16 [%0], %1;" ::"r"(shared), "h"(static_cast<unsigned short>(value)) : "memory");
}
GPUSIM_DEVICE uint32 load_shared_half(uint32 shared) {
  unsigned short value;
  asm volatile("ld.shared.b16 %0, [%1];" : "=h"(value) : "r"(shared) : "memory");
  return value;
}

GPUSIM_DEVICE void store_global(void* to, uint32 first, uint32 second) {
  *static_cast<uint2*>(to) = make_uint2(first, second);
}
GPUSIM_DEVICE void store_global(void* to, uint32 word) { *static_cast<uint32*>(to) = word; }
GPUSIM_DEVICE void store_global_half(void* to, uint32 value) {
  *static_cast<unsigned short*>(to) = static_cast<unsigned short>(value);
}

GPUSIM_DEVICE uint32 multiply_high(uint32 left, uint32 right) { return __umulhi(left, right); }
GPUSIM_DEVICE uint32 float_as_word(float value) { return __float_as_uint(value); }
GPUSIM_DEVICE float word_as_float(uint32 word) { return __uint_as_float(word); }
GPUSIM_DEVICE float to_float(int value) { return __int2float_rn(value); }
GPUSIM_DEVICE int to_integer(float value) { return __float2int_rn(value); }  // clamped to the range of s32
GPUSIM_DEVICE float fused_multiply_add(float left, float right, float added) { return __fmaf_rn(left, right, added); }

// Two values in one word, the first in its low half.
GPUSIM_DEVICE uint32 pack_f16(float first, float second) {
  uint32 packed;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(second), "f"(first));
  return packed;
}
GPUSIM_DEVICE uint32 pack_bf16(float first, float second) {
  uint32 packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(second), "f"(first));
  return packed;
}
GPUSIM_DEVICE uint32 pack_s8(float first, float second) {
  uint32 packed;
  asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, 0;"
      : "=r"(packed)
      : "r"(to_integer(second)), "r"(to_integer(first)));
  return packed;
}
GPUSIM_DEVICE float unpack_f16(uint32 packed, int half) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(static_cast<unsigned short>(packed >> 16 * half)));
  return value;
}
GPUSIM_DEVICE float unpack_bf16(uint32 packed, int half) { return word_as_float(packed >> 16 * half << 16); }
GPUSIM_DEVICE float unpack_s8(uint32 packed, int byte) {
  return static_cast<float>(static_cast<signed char>(packed >> 8 * byte));
}

}  // namespace gpusim

#endif  // GPUSIM_HOPPER_PTX_CUH
