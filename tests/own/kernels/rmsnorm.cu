// Normalisation by the root mean square, one warp a row, 16 bytes a lane. Columns are a multiple of 128.
constexpr float kEpsilon = 1e-6f;

extern "C" __global__ void rmsnorm(const float4* in, const float4* scale, float4* out, int rows, int columns) {
    const int lane = threadIdx.x % 32, row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, vectors = columns / 4;
    if (row >= rows) return;
    in += row * vectors;
    out += row * vectors;
    float square = 0;
    for (int i = lane; i < vectors; i += 32) {
        const float4 x = in[i];
        square += x.x * x.x + x.y * x.y + x.z * x.z + x.w * x.w;
    }
#pragma unroll
    for (int step = 16; step > 0; step /= 2) square += __shfl_xor_sync(0xffffffffu, square, step);
    const float inverse = rsqrtf(square / columns + kEpsilon);
    for (int i = lane; i < vectors; i += 32) {
        const float4 x = in[i], s = scale[i];
        out[i] = make_float4(x.x * inverse * s.x, x.y * inverse * s.y, x.z * inverse * s.z, x.w * inverse * s.w);
    }
}
