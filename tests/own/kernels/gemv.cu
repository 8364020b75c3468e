// y = A x, one warp a row, 16 bytes a lane. Columns are a multiple of 4.
extern "C" __global__ void gemv(const float4* a, const float4* x, float* y, int rows, int columns) {
    const int lane = threadIdx.x % 32, row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, vectors = columns / 4;
    if (row >= rows) return;
    float sum = 0;
    for (int i = lane; i < vectors; i += 32) {
        const float4 p = a[row * vectors + i], q = x[i];
        sum += p.x * q.x + p.y * q.y + p.z * q.z + p.w * q.w;
    }
#pragma unroll
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (lane == 0) y[row] = sum;
}
