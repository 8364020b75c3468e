// Reads at random: out[i] = in[index[i]].
extern "C" __global__ void gather(const float* __restrict__ in, const int* __restrict__ index, float* __restrict__ out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[index[i]];
}
