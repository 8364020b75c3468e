// Kernels by the number of their barriers; barriers_sm75.cubin.gz and so on are this file, compiled with nvcc 13.0
// -cubin -std=c++17 -arch=sm_75, sm_80, sm_90. Those of CUDA 12 are its PTX, assembled by ptxas 12.9.
template <int Count>
__device__ void barriers() {
  if constexpr (Count > 0) {
    barriers<Count - 1>();
    asm volatile("barrier.sync %0, 32;" ::"n"(Count - 1) : "memory");
  }
}

#define BARRIERS(COUNT)                                  \
  extern "C" __global__ void barriers_##COUNT(int* out) { \
    barriers<COUNT>();                                   \
    out[threadIdx.x] = 1;                                \
  }
BARRIERS(0)
BARRIERS(1)
BARRIERS(5)
BARRIERS(16)

extern "C" __global__ void barrier_7_alone(int* out) {
  asm volatile("barrier.sync 7, 32;" ::: "memory");
  out[threadIdx.x] = 1;
}

extern "C" __global__ void barrier_of_register(int* out, int barrier) {
  asm volatile("barrier.sync %0, 32;" ::"r"(barrier) : "memory");
  out[threadIdx.x] = 1;
}
