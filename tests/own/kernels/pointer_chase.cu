// Each warp follows a ring of indices: every load waits for the one before.
extern "C" __global__ void pointer_chase(const int* next, int* out, int steps) {
    const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int at = warp * 97;
    for (int i = 0; i < steps; ++i) at = next[at];
    if (threadIdx.x % 32 == 0) out[warp] = at;
}
