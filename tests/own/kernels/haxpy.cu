// y += a x in half precision, eight elements a thread.
#include "ptx.cuh"

extern "C" __global__ void haxpy(const uint4* x, uint4* y, float a, int vectors) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= vectors) return;
    const u32 both = halves_of(a, a);
    const uint4 of_x = x[i];
    uint4 of_y = y[i];
    of_y.x = fma_halves(both, of_x.x, of_y.x);
    of_y.y = fma_halves(both, of_x.y, of_y.y);
    of_y.z = fma_halves(both, of_x.z, of_y.z);
    of_y.w = fma_halves(both, of_x.w, of_y.w);
    y[i] = of_y;
}
