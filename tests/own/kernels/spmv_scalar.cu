// A sparse matrix (CSR) times a vector, one thread a row.
extern "C" __global__ void spmv_scalar(const int* first, const int* columns, const float* values, const float* x, float* y,
                                       int rows) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0;
    for (int i = first[row]; i < first[row + 1]; ++i) sum += values[i] * x[columns[i]];
    y[row] = sum;
}
