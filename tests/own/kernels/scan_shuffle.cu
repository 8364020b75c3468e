// Inclusive prefix sums of blocks of 256 integers: shuffles in each warp, then a scan of the warps' sums by the first one.
constexpr int kThreads = 256, kWarps = kThreads / 32;

__device__ int scan_warp(int value, int lane) {
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        const int before = __shfl_up_sync(0xffffffffu, value, step);
        if (lane >= step) value += before;
    }
    return value;
}

extern "C" __global__ void scan_shuffle(const int* in, int* out, int n) {
    __shared__ int of_warp[kWarps];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, i = blockIdx.x * kThreads + t;
    int value = scan_warp(i < n ? in[i] : 0, lane);
    if (lane == 31) of_warp[warp] = value;
    __syncthreads();
    if (warp == 0) {
        const int sum = scan_warp(lane < kWarps ? of_warp[lane] : 0, lane);
        if (lane < kWarps) of_warp[lane] = sum;
    }
    __syncthreads();
    if (warp > 0) value += of_warp[warp - 1];
    if (i < n) out[i] = value;
}
