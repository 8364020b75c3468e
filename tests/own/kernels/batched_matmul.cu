// Products of many pairs of 16 x 16 matrices, one pair for each 256 threads.
constexpr int kSide = 16;

extern "C" __global__ void batched_matmul(const float* a, const float* b, float* c) {
    __shared__ float of_a[kSide][kSide + 1], of_b[kSide][kSide];
    const int x = threadIdx.x % kSide, y = threadIdx.x / kSide, first = blockIdx.x * kSide * kSide;
    of_a[y][x] = a[first + threadIdx.x];
    of_b[y][x] = b[first + threadIdx.x];
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int i = 0; i < kSide; ++i) sum += of_a[y][i] * of_b[i][x];
    c[first + threadIdx.x] = sum;
}
