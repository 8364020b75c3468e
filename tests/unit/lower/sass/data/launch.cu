// Values that depend on the launch, on narrow memory and on conversions, each seen as the address of a store: out + value.
// launch_sm75.cubin.gz and so on are this file, compiled with nvcc 13.0 -cubin -arch=sm_75, sm_80, sm_86, sm_89, sm_90.
struct Params {
  unsigned char* out;
  int few;
  unsigned large;
  signed char bytes[32];
  unsigned short halves[32];
};

__device__ __forceinline__ void show(unsigned char* out, unsigned value) {
  asm volatile("st.global.u8 [%0], %1;" ::"l"(out + value), "r"(0) : "memory");
}

extern "C" __global__ void __launch_bounds__(128) gpusim_kernel(Params p) {
  int const thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  int const s = thread * 7919 - 300000;
  unsigned const u = thread * 2654435761u + p.large;
  show(p.out, threadIdx.x);
  show(p.out, threadIdx.y);
  show(p.out, threadIdx.z);
  show(p.out, blockDim.x * 10000 + blockDim.y * 100 + blockDim.z);
  show(p.out, thread);
  show(p.out, __float_as_uint(__int2float_rn(s * 30011)));
  show(p.out, __float_as_uint(__int2float_rz(s * 30011)));
  show(p.out, __float_as_uint(__int2float_rd(s * 30011)));
  show(p.out, __float_as_uint(__int2float_ru(s * 30011)));
  show(p.out, __float_as_uint(__uint2float_rn(u)));
  show(p.out, __float_as_uint(__uint2float_rz(u)));
  show(p.out, p.bytes[(thread + p.few) & 31]);
  show(p.out, p.halves[(thread + p.few) & 31]);
  unsigned char bytes[8];
  short halves[8];
  for (int i = 0; i < 8; ++i) {
    bytes[i] = u >> 3 * i;
    halves[i] = u >> 2 * i;
  }
  show(p.out, bytes[(thread + p.few) & 7]);
  show(p.out, halves[(thread + p.few) & 7]);
}
