// Looks up rows of a table, one warp a token, 16 bytes a lane. A negative token gives zeros.
extern "C" __global__ void embedding(const int* tokens, const float4* table, float4* out, int count, int vectors) {
    const int lane = threadIdx.x % 32, number = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (number >= count) return;
    const int token = tokens[number];
    for (int i = lane; i < vectors; i += 32)
        out[number * vectors + i] = token < 0 ? make_float4(0, 0, 0, 0) : table[token * vectors + i];
}
