// Inclusive prefix sums of blocks of 256 integers by Hillis and Steele, in two buffers.
constexpr int kThreads = 256;

extern "C" __global__ void scan_hillis_steele(const int* in, int* out, int n) {
    __shared__ int buffers[2][kThreads];
    const int t = threadIdx.x, i = blockIdx.x * kThreads + t;
    int now = 0;
    buffers[now][t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int step = 1; step < kThreads; step *= 2) {
        buffers[now ^ 1][t] = buffers[now][t] + (t >= step ? buffers[now][t - step] : 0);
        now ^= 1;
        __syncthreads();
    }
    if (i < n) out[i] = buffers[now][t];
}
