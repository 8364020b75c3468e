// A sparse matrix (CSR) times a vector, one warp a row.
extern "C" __global__ void spmv_vector(const int* first, const int* columns, const float* values, const float* x, float* y,
                                       int rows) {
    const int lane = threadIdx.x % 32, row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (row >= rows) return;
    float sum = 0;
    for (int i = first[row] + lane; i < first[row + 1]; i += 32) sum += values[i] * x[columns[i]];
#pragma unroll
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
    if (lane == 0) y[row] = sum;
}
