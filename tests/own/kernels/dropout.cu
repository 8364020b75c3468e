// Dropout with the counter-based generator Philox 4x32 of ten rounds: a counter gives four random words for four elements.
extern "C" __global__ void dropout(const float4* in, float4* out, unsigned seed, unsigned kept_below, float scale, int vectors) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= vectors) return;
    unsigned c0 = i, c1 = 0, c2 = 0, c3 = 0, key0 = seed, key1 = 0;
#pragma unroll
    for (int round = 0; round < 10; ++round) {
        const unsigned high0 = __umulhi(0xD2511F53u, c0), low0 = 0xD2511F53u * c0;
        const unsigned high1 = __umulhi(0xCD9E8D57u, c2), low1 = 0xCD9E8D57u * c2;
        c0 = high1 ^ c1 ^ key0;
        c1 = low1;
        c2 = high0 ^ c3 ^ key1;
        c3 = low0;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    const float4 x = in[i];
    out[i] = make_float4(c0 < kept_below ? x.x * scale : 0, c1 < kept_below ? x.y * scale : 0,
                         c2 < kept_below ? x.z * scale : 0, c3 < kept_below ? x.w * scale : 0);
}
