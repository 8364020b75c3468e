// Smallest, largest, all bits, common bits and parity of 32 groups, by atomics of every kind, in shared and global memory.
extern "C" __global__ void atomic_kinds(const int* in, int* smallest, int* largest, unsigned* bits, unsigned* common,
                                        unsigned* parity, int n) {
    __shared__ int least[32];
    __shared__ unsigned any[32];
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (t < 32) {
        least[t] = 0x7fffffff;
        any[t] = 0;
    }
    __syncthreads();
    if (i < n) {
        const int value = in[i], group = (value >> 8) & 31;
        atomicMin(&least[group], value);
        atomicOr(&any[group], static_cast<unsigned>(value));
        atomicMax(&largest[group], value);
        atomicAnd(&common[group], static_cast<unsigned>(value));
        atomicXor(&parity[group], static_cast<unsigned>(value));
    }
    __syncthreads();
    if (t < 32) {
        atomicMin(&smallest[t], least[t]);
        atomicOr(&bits[t], any[t]);
    }
}
