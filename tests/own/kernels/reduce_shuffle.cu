// Sums of 512 elements, unrolled: shared memory down to 64 partial sums, shuffles within the first warp after that.
constexpr int kThreads = 256;

template <class Number>
__device__ void reduce(const Number* in, Number* out, int n) {
    __shared__ Number partial[kThreads];
    const int t = threadIdx.x, i = blockIdx.x * 2 * kThreads + t;
    partial[t] = (i < n ? in[i] : 0) + (i + kThreads < n ? in[i + kThreads] : 0);
    __syncthreads();
    if (t < 128) partial[t] += partial[t + 128];
    __syncthreads();
    if (t < 64) partial[t] += partial[t + 64];
    __syncthreads();
    if (t < 32) {
        Number sum = partial[t] + partial[t + 32];
#pragma unroll
        for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
        if (t == 0) out[blockIdx.x] = sum;
    }
}

extern "C" __global__ void reduce_shuffle_int(const int* in, int* out, int n) { reduce(in, out, n); }
extern "C" __global__ void reduce_shuffle_float(const float* in, float* out, int n) { reduce(in, out, n); }
