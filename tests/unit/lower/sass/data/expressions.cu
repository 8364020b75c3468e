// Values that the emulator must compute, each seen as the address of a store: out + value, in the order below.
// expressions_sm75.cubin.gz and so on are this file, compiled with nvcc 13.0 -cubin -arch=sm_75, sm_80, sm_86, sm_89, sm_90.
struct Params {
  unsigned char* out;
  int divisor;
  unsigned modulus;
  long long wide;
  int few;
  float zero;
};

__device__ __forceinline__ void show(unsigned char* out, unsigned value) {
  asm volatile("st.global.u8 [%0], %1;" ::"l"(out + value), "r"(0) : "memory");
}

extern "C" __global__ void __launch_bounds__(128) gpusim_kernel(Params p) {
  int const thread = threadIdx.x, lane = thread % 32;
  int const s = thread * 7919 - 300000;
  unsigned const u = thread * 2654435761u + blockIdx.x;
  show(p.out, s / p.divisor);
  show(p.out, s % p.divisor);
  show(p.out, u / p.modulus);
  show(p.out, u % p.modulus);
  show(p.out, s / 13);
  show(p.out, u % 17u);
  show(p.out, __umulhi(u, p.modulus));
  show(p.out, __mulhi(s, p.divisor));
  long long const w = p.wide * s + u;
  show(p.out, unsigned(w));
  show(p.out, unsigned(w >> 32));
  show(p.out, unsigned((w << p.few) >> 32));
  show(p.out, unsigned(w >> p.few));
  show(p.out, unsigned((w - p.divisor) >> 32));
  show(p.out, w < p.wide ? 1u : 0u);
  show(p.out, (unsigned long long)w >= (unsigned long long)p.wide ? 3u : 2u);
  show(p.out, min(max(s, p.divisor), 5000));
  show(p.out, abs(s));
  show(p.out, __popc(u));
  show(p.out, __clz(u));
  show(p.out, __ffs(s));
  show(p.out, __brev(u));
  show(p.out, __byte_perm(u, s, 0x7250 + p.few));
  show(p.out, u << p.few);
  show(p.out, s >> p.few);
  show(p.out, __funnelshift_l(u, s, thread));
  show(p.out, (u & s) | (~u & p.divisor) ^ s);
  show(p.out, __shfl_sync(~0u, u, lane / 2));
  show(p.out, __shfl_up_sync(~0u, u, 3));
  show(p.out, __shfl_down_sync(~0u, u, 5));
  show(p.out, __shfl_xor_sync(~0u, u, 9));
  show(p.out, __ballot_sync(~0u, u & 4));
  show(p.out, __any_sync(~0u, s == 0) * 2 + __all_sync(~0u, s < 0));
  long long const far = s * (long long)p.few + 0x300000081ll;  // up to sm_89 the compiler keeps this number in bank 2
  show(p.out, unsigned(far));
  show(p.out, unsigned(far >> 32));
  unsigned spilled[4] = {u, u + 1, u + 2, u + 3};
  show(p.out, spilled[(thread + p.few) & 3]);
  unsigned collatz = lane + 1, steps = 0;
  while (collatz != 1) {
    collatz = collatz % 2 ? 3 * collatz + 1 : collatz / 2;
    ++steps;
  }
  show(p.out, steps);
  if (lane % 3 == 0) {
    show(p.out, lane * 5);
  } else if (p.zero != 0.0f) {
    show(p.out, 77);
  } else {
    show(p.out, lane * 7);
  }
  __syncwarp();
}
