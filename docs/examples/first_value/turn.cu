// Turns a matrix by tiles of 32 x 32, with two faults.
extern "C" __global__ void turn(const float* in, float* out, int n) {
    __shared__ float tile[32][32];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32;
    for (int row = threadIdx.y; row < 32; row += blockDim.y)
        tile[row][threadIdx.x] = in[(y + row) * n + x];
    // A race: no __syncthreads() lies between the stores above and the loads below.
    for (int row = threadIdx.y; row < 32; row += blockDim.y)
        out[(blockIdx.x * 32 + row) * n + y + threadIdx.x] = tile[threadIdx.x][row];  // 32-way bank conflict
}
