// The transpose of a matrix, one thread for each element: reads coalesce, writes do not.
extern "C" __global__ void transpose_naive(const float* in, float* out, int rows, int columns) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < columns) out[column * rows + row] = in[row * columns + column];
}
