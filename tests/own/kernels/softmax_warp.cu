// Softmax of each row of 256 columns, one warp a row, which it keeps in registers.
constexpr int kColumns = 256, kOwn = kColumns / 32, kWarps = 4;

extern "C" __global__ void softmax_warp(const float* in, float* out, int rows) {
    const int lane = threadIdx.x % 32, row = blockIdx.x * kWarps + threadIdx.x / 32;
    if (row >= rows) return;
    float value[kOwn];
#pragma unroll
    for (int i = 0; i < kOwn; ++i) value[i] = in[row * kColumns + i * 32 + lane];
    float largest = value[0];
#pragma unroll
    for (int i = 1; i < kOwn; ++i) largest = fmaxf(largest, value[i]);
#pragma unroll
    for (int step = 16; step > 0; step /= 2) largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, step));
    float sum = 0;
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
        value[i] = expf(value[i] - largest);
        sum += value[i];
    }
#pragma unroll
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
#pragma unroll
    for (int i = 0; i < kOwn; ++i) out[row * kColumns + i * 32 + lane] = value[i] / sum;
}
