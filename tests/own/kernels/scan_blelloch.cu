// Exclusive prefix sums of blocks of 512 integers by Blelloch: up a tree of sums and down again.
constexpr int kElements = 512;  // two for each thread

extern "C" __global__ void scan_blelloch(const int* in, int* out, int n) {
    __shared__ int tree[kElements];
    const int t = threadIdx.x, first = blockIdx.x * kElements + 2 * t;
    tree[2 * t] = first < n ? in[first] : 0;
    tree[2 * t + 1] = first + 1 < n ? in[first + 1] : 0;
    int step = 1;
    for (int nodes = kElements / 2; nodes > 0; nodes /= 2) {
        __syncthreads();
        if (t < nodes) tree[step * (2 * t + 2) - 1] += tree[step * (2 * t + 1) - 1];
        step *= 2;
    }
    if (t == 0) tree[kElements - 1] = 0;
    for (int nodes = 1; nodes < kElements; nodes *= 2) {
        step /= 2;
        __syncthreads();
        if (t < nodes) {
            const int left = step * (2 * t + 1) - 1, right = step * (2 * t + 2) - 1;
            const int before = tree[left];
            tree[left] = tree[right];
            tree[right] += before;
        }
    }
    __syncthreads();
    if (first < n) out[first] = tree[2 * t];
    if (first + 1 < n) out[first + 1] = tree[2 * t + 1];
}
