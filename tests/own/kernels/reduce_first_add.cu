// Sums of 512 elements: each thread adds two elements as it loads them.
constexpr int kThreads = 256;

template <class Number>
__device__ void reduce(const Number* in, Number* out, int n) {
    __shared__ Number partial[kThreads];
    const int t = threadIdx.x, i = blockIdx.x * 2 * kThreads + t;
    partial[t] = (i < n ? in[i] : 0) + (i + kThreads < n ? in[i + kThreads] : 0);
    __syncthreads();
    for (int step = kThreads / 2; step > 0; step /= 2) {
        if (t < step) partial[t] += partial[t + step];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = partial[0];
}

extern "C" __global__ void reduce_first_add_int(const int* in, int* out, int n) { reduce(in, out, n); }
extern "C" __global__ void reduce_first_add_float(const float* in, float* out, int n) { reduce(in, out, n); }
