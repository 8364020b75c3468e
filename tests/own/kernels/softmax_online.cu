// Softmax of each row, one CTA a row, in two passes: the first keeps the largest value so far and a sum that is scaled with it.
constexpr int kThreads = 128, kWarps = kThreads / 32;

struct Partial {
    float largest, sum;
};

__device__ Partial join(Partial a, Partial b) {
    const float largest = fmaxf(a.largest, b.largest);
    return {largest, a.sum * expf(a.largest - largest) + b.sum * expf(b.largest - largest)};
}

extern "C" __global__ void softmax_online(const float* in, float* out, int columns) {
    __shared__ Partial of_warp[kWarps];
    const int t = threadIdx.x;
    in += blockIdx.x * columns;
    out += blockIdx.x * columns;
    Partial own = {in[t], 1};  // a row has at least kThreads columns
    for (int i = t + kThreads; i < columns; i += kThreads) own = join(own, {in[i], 1});
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
        const float largest = __shfl_xor_sync(0xffffffffu, own.largest, step);
        const float sum = __shfl_xor_sync(0xffffffffu, own.sum, step);
        own = join(own, {largest, sum});
    }
    if (t % 32 == 0) of_warp[t / 32] = own;
    __syncthreads();
    own = of_warp[0];
#pragma unroll
    for (int warp = 1; warp < kWarps; ++warp) own = join(own, of_warp[warp]);
    const float scale = 1 / own.sum;
    for (int i = t; i < columns; i += kThreads) out[i] = expf(in[i] - own.largest) * scale;
}
