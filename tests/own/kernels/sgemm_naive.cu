// C = A B, all row-major, one thread for each element of C. Neighbouring threads have neighbouring rows, so nothing coalesces.
extern "C" __global__ void sgemm_naive(const float* a, const float* b, float* c, int m, int n, int k) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    const int column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || column >= n) return;
    float sum = 0;
    for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + column];
    c[row * n + column] = sum;
}
