// The sum of all elements: a loop over the grid, shuffles in each warp, then one atomic addition a CTA.
constexpr int kThreads = 256;

template <class Number>
__device__ void reduce(const Number* in, Number* out, int n) {
    __shared__ Number of_warp[kThreads / 32];
    const int t = threadIdx.x;
    Number sum = 0;
    for (int i = blockIdx.x * kThreads + t; i < n; i += gridDim.x * kThreads) sum += in[i];
#pragma unroll
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (t % 32 == 0) of_warp[t / 32] = sum;
    __syncthreads();
    if (t == 0) {
        sum = of_warp[0];
        for (int warp = 1; warp < kThreads / 32; ++warp) sum += of_warp[warp];
        atomicAdd(out, sum);
    }
}

extern "C" __global__ void reduce_grid_stride_int(const int* in, int* out, int n) { reduce(in, out, n); }
extern "C" __global__ void reduce_grid_stride_float(const float* in, float* out, int n) { reduce(in, out, n); }
