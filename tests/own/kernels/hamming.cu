// Distances of codes of 128 bits from one code: the number of bits that differ.
extern "C" __global__ void hamming(const uint4* codes, const uint4* query, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const uint4 a = codes[i], b = *query;
    out[i] = __popc(a.x ^ b.x) + __popc(a.y ^ b.y) + __popc(a.z ^ b.z) + __popc(a.w ^ b.w);
}
