// The largest float of each of 64 groups, by compare-and-swap.
__device__ void raise(unsigned* to, float value) {
    unsigned seen = *to;
    while (__uint_as_float(seen) < value) {
        const unsigned before = atomicCAS(to, seen, __float_as_uint(value));
        if (before == seen) break;
        seen = before;
    }
}

extern "C" __global__ void atomic_max_float(const float* in, unsigned* largest, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) raise(&largest[i / 32 % 64], in[i]);
}
