// A histogram in which the lanes of a warp that have one bin find each other, and the first of them adds for all.
extern "C" __global__ void histogram_matched(const int* in, unsigned* bins, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;  // n is a multiple of the warp's size
    const int bin = in[i], lane = threadIdx.x % 32;
    const unsigned alike = __match_any_sync(0xffffffffu, bin);
    if (lane == __ffs(alike) - 1) atomicAdd(&bins[bin], static_cast<unsigned>(__popc(alike)));
}
