// The column of each row's largest value, the first of several: one warp a row, values and columns shuffled together.
extern "C" __global__ void argmax_rows(const float* in, int* out, int rows, int columns) {
    const int lane = threadIdx.x % 32, row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (row >= rows) return;
    in += row * columns;
    float largest = -3.4e38f;
    int where = columns;
    for (int i = lane; i < columns; i += 32)
        if (in[i] > largest) {
            largest = in[i];
            where = i;
        }
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
        const float other = __shfl_xor_sync(0xffffffffu, largest, step);
        const int there = __shfl_xor_sync(0xffffffffu, where, step);
        if (other > largest || (other == largest && there < where)) {
            largest = other;
            where = there;
        }
    }
    if (lane == 0) out[row] = where;
}
