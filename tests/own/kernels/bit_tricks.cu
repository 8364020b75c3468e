// Instructions on bits: reversed order, leading zeros, lowest bit, rotation, bytes in another order, interleaved bits.
__device__ unsigned spread(unsigned x) {
    x &= 0xffff;
    x = (x | x << 8) & 0x00ff00ff;
    x = (x | x << 4) & 0x0f0f0f0f;
    x = (x | x << 2) & 0x33333333;
    return (x | x << 1) & 0x55555555;
}

extern "C" __global__ void bit_tricks(const unsigned* in, unsigned* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned x = in[i];
    unsigned hash = __brev(x);
    hash ^= __clz(x) << 8;
    hash += __ffs(x);
    hash = __funnelshift_l(hash, hash, x & 31);
    hash ^= __byte_perm(x, hash, 0x5017);
    hash += spread(x) | spread(x >> 16) << 1;
    out[i] = hash;
}
