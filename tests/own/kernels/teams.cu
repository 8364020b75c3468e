// Two teams of four warps work apart in one CTA, each with a barrier of its own: one adds up 256 elements in a tree, the other
// finds the largest in twice as many steps.
#include "ptx.cuh"

constexpr int kTeam = 128;

extern "C" __global__ void teams(const int* in, int* sums, int* largest) {
    __shared__ int values[2 * kTeam];
    const int t = threadIdx.x % kTeam;
    in += blockIdx.x * 2 * kTeam;
    int* own = values + threadIdx.x / kTeam * kTeam;
    if (threadIdx.x < kTeam) {
        own[t] = in[t] + in[t + kTeam];
        for (int step = kTeam / 2; step > 0; step /= 2) {
            barrier_sync(1, kTeam);
            if (t < step) own[t] += own[t + step];
        }
        if (t == 0) sums[blockIdx.x] = own[0];
    } else {
        own[t] = max(in[t], in[t + kTeam]);
        for (int step = 1; step < kTeam; step *= 2) {
            barrier_sync(2, kTeam);
            const int other = own[(t + step) % kTeam];
            barrier_sync(2, kTeam);
            own[t] = max(own[t], other);
        }
        if (t == 0) largest[blockIdx.x] = own[0];
    }
}
