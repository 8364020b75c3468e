// Keeps the positive elements of each block of 256 in their order: ranks by ballots within warps, sums over the warps before.
constexpr int kThreads = 256, kWarps = kThreads / 32;

extern "C" __global__ void compact(const int* in, int* out, int* counts, int n) {
    __shared__ int of_warp[kWarps];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, i = blockIdx.x * kThreads + t;
    const int value = i < n ? in[i] : 0;
    const unsigned kept = __ballot_sync(0xffffffffu, value > 0);
    if (lane == 0) of_warp[warp] = __popc(kept);
    __syncthreads();
    int before = 0, all = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
        if (w < warp) before += of_warp[w];
        all += of_warp[w];
    }
    if (value > 0) out[blockIdx.x * kThreads + before + __popc(kept & ((1u << lane) - 1))] = value;
    if (t == 0) counts[blockIdx.x] = all;
}
