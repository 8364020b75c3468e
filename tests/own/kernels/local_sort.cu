// Medians of 15 elements by insertion into an array that each thread has in local memory.
constexpr int kElements = 15;

extern "C" __global__ void local_sort(const int* in, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int sorted[kElements];
#pragma unroll 1
    for (int count = 0; count < kElements; ++count) {
        const int value = in[count * n + i];
        int at = count;
        while (at > 0 && sorted[at - 1] > value) {
            sorted[at] = sorted[at - 1];
            --at;
        }
        sorted[at] = value;
    }
    out[i] = sorted[kElements / 2];
}
