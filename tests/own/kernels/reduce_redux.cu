// Sum, largest and all bits of 32 integers, each by one instruction of the warp.
extern "C" __global__ void reduce_redux(const int* in, int* sums, int* largest, unsigned* bits, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;  // n is a multiple of the warp's size
    if (i >= n) return;
    const int value = in[i];
    const int sum = __reduce_add_sync(0xffffffffu, value);
    const int most = __reduce_max_sync(0xffffffffu, value);
    const unsigned any = __reduce_or_sync(0xffffffffu, static_cast<unsigned>(value));
    if (threadIdx.x % 32 == 0) {
        sums[i / 32] = sum;
        largest[i / 32] = most;
        bits[i / 32] = any;
    }
}
