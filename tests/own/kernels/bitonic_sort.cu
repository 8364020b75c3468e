// Sorts blocks of 512 integers by a bitonic network in shared memory, 256 threads with two elements each.
constexpr int kElements = 512, kThreads = 256;

extern "C" __global__ void bitonic_sort(const unsigned* in, unsigned* out) {
    __shared__ unsigned keys[kElements];
    const int t = threadIdx.x, first = blockIdx.x * kElements;
    keys[t] = in[first + t];
    keys[t + kThreads] = in[first + t + kThreads];
    for (int size = 2; size <= kElements; size *= 2)
        for (int step = size / 2; step > 0; step /= 2) {
            __syncthreads();
            const int low = 2 * t - (t & (step - 1)), high = low + step;
            const bool ascending = (low & size) == 0;
            const unsigned a = keys[low], b = keys[high];
            if ((a > b) == ascending) {
                keys[low] = b;
                keys[high] = a;
            }
        }
    __syncthreads();
    out[first + t] = keys[t];
    out[first + t + kThreads] = keys[t + kThreads];
}
