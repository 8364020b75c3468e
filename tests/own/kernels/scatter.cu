// Writes at random: out[index[i]] = in[i], where index is a permutation.
extern "C" __global__ void scatter(const float* in, const int* index, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[index[i]] = in[i];
}
