// A histogram of bytes by atomic additions to shared memory, one histogram a CTA of 256 threads.
constexpr int kBins = 256;

extern "C" __global__ void histogram_shared(const unsigned char* in, unsigned* bins, int n) {
    __shared__ unsigned own[kBins];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[in[i]], 1u);
    __syncthreads();
    if (own[threadIdx.x] != 0) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}
