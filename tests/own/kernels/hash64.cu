// Mixes 64-bit integers by multiplications, high halves of products and shifts.
extern "C" __global__ void hash64(const unsigned long long* in, unsigned long long* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long x = in[i];
#pragma unroll 1
    for (int round = 0; round < 4; ++round) {
        x ^= x >> 30;
        x *= 0xbf58476d1ce4e5b9ull;
        x ^= x >> 27;
        x = (x << 23 | x >> 41) + __umul64hi(x, 0x94d049bb133111ebull);
    }
    out[i] = x;
}
