// Sums of 256 elements, interleaved, with the active threads side by side: no divergence, but bank conflicts.
constexpr int kThreads = 256;

template <class Number>
__device__ void reduce(const Number* in, Number* out, int n) {
    __shared__ Number partial[kThreads];
    const int t = threadIdx.x, i = blockIdx.x * kThreads + t;
    partial[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int step = 1; step < kThreads; step *= 2) {
        const int own = 2 * step * t;
        if (own < kThreads) partial[own] += partial[own + step];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = partial[0];
}

extern "C" __global__ void reduce_strided_int(const int* in, int* out, int n) { reduce(in, out, n); }
extern "C" __global__ void reduce_strided_float(const float* in, float* out, int n) { reduce(in, out, n); }
