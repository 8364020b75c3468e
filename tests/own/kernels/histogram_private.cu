// A histogram of bytes with one histogram in shared memory for each warp, four bytes a load, and a sum over the warps.
constexpr int kBins = 256, kThreads = 256, kWarps = kThreads / 32;

extern "C" __global__ void histogram_private(const unsigned* in, unsigned* bins, int words) {
    __shared__ unsigned own[kWarps][kBins];
    const int t = threadIdx.x;
    for (int warp = 0; warp < kWarps; ++warp) own[warp][t] = 0;
    __syncthreads();
    unsigned* mine = own[t / 32];
    for (int i = blockIdx.x * kThreads + t; i < words; i += gridDim.x * kThreads) {
        const unsigned word = in[i];
#pragma unroll
        for (int byte = 0; byte < 4; ++byte) atomicAdd(&mine[word >> 8 * byte & 255], 1u);
    }
    __syncthreads();
    unsigned sum = 0;
#pragma unroll
    for (int warp = 0; warp < kWarps; ++warp) sum += own[warp][t];
    if (sum != 0) atomicAdd(&bins[t], sum);
}
