// Quantises rows of 128 floats to signed bytes, one warp a row: the largest magnitude becomes 127. Scales are powers of two,
// so that every machine has the same bytes.
extern "C" __global__ void quantise(const float4* in, unsigned* out, float* scales, int rows) {
    const int lane = threadIdx.x % 32, row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (row >= rows) return;
    const float4 x = in[row * 32 + lane];
    float most = fmaxf(fmaxf(fabsf(x.x), fabsf(x.y)), fmaxf(fabsf(x.z), fabsf(x.w)));
#pragma unroll
    for (int step = 16; step > 0; step /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, step));
    const unsigned exponent = __float_as_uint(most) >> 23;             // of 2^e <= most
    const float scale = __uint_as_float((127 + 127 + 6 - exponent) << 23);  // most * scale is 64 to less than 128
    const float values[4] = {x.x, x.y, x.z, x.w};
    unsigned packed = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const float rounded = fminf(fmaxf(rintf(values[i] * scale), -127.0f), 127.0f);
        packed |= (static_cast<unsigned>(static_cast<int>(rounded)) & 255) << 8 * i;
    }
    out[row * 32 + lane] = packed;
    if (lane == 0) scales[row] = floorf(most) + scale;
}
