// Layer normalisation, one CTA a row: mean, variance about the mean, then scale and shift.
constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr float kEpsilon = 1e-5f;

// The sum over the CTA, for every thread. of_warp is free again at the next barrier.
__device__ float sum_cta(float value, float* of_warp) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(0xffffffffu, value, step);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int warp = 0; warp < kWarps; ++warp) sum += of_warp[warp];
    return sum;
}

extern "C" __global__ void layernorm(const float* in, const float* scale, const float* shift, float* out, int columns) {
    __shared__ float sums[kWarps], squares[kWarps];
    in += blockIdx.x * columns;
    out += blockIdx.x * columns;
    float sum = 0;
    for (int i = threadIdx.x; i < columns; i += kThreads) sum += in[i];
    const float mean = sum_cta(sum, sums) / columns;
    float square = 0;
    for (int i = threadIdx.x; i < columns; i += kThreads) square += (in[i] - mean) * (in[i] - mean);
    const float inverse = rsqrtf(sum_cta(square, squares) / columns + kEpsilon);
    for (int i = threadIdx.x; i < columns; i += kThreads) out[i] = (in[i] - mean) * inverse * scale[i] + shift[i];
}
