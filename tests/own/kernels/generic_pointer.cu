// A function that is called, not inlined, sums through a pointer that leads to shared or to global memory.
__device__ __noinline__ float sum_of(const float* from, int count) {
    float sum = 0;
#pragma unroll 1
    for (int i = 0; i < count; ++i) sum = sum * 0.5f + from[i];
    return sum;
}

extern "C" __global__ void generic_pointer(const float* in, float* out, int n) {
    __shared__ float tile[256 + 8];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    tile[t] = i < n ? 2 * in[i] : 0;
    if (t < 8) tile[256 + t] = i + 256 < n ? 2 * in[i + 256] : 0;
    __syncthreads();
    if (i + 8 >= n) return;
    const float* from = t % 64 < 40 ? tile + t : in + i;
    out[i] = sum_of(from, 4 + t % 4);
}
