// Two warps load blocks of 128 elements, two warps add them up. Two buffers in dynamic shared memory; a barrier with a
// number says that a buffer is full, another that it is free again, and only one side waits at each.
#include "ptx.cuh"

constexpr int kBlock = 128, kHalf = 64, kThreads = 128;  // kHalf threads load, kHalf threads add
constexpr int kFull = 1, kFree = 3;                      // barriers 1 and 2, 3 and 4

extern "C" __global__ void __launch_bounds__(kThreads) named_barriers(const int* in, int* out, int blocks) {
    extern __shared__ int buffers[];
    const int t = threadIdx.x % kHalf;
    in += blockIdx.x * blocks * kBlock;
    if (threadIdx.x < kHalf) {
        for (int block = 0; block < blocks; ++block) {
            const int buffer = block % 2;
            if (block >= 2) barrier_sync(kFree + buffer, kThreads);
            buffers[buffer * kBlock + t] = in[block * kBlock + t];
            buffers[buffer * kBlock + t + kHalf] = in[block * kBlock + t + kHalf];
            __threadfence_block();
            barrier_arrive(kFull + buffer, kThreads);
        }
    } else {
        int sum = 0;
        for (int block = 0; block < blocks; ++block) {
            const int buffer = block % 2;
            barrier_sync(kFull + buffer, kThreads);
            sum += buffers[buffer * kBlock + 2 * t] - 3 * buffers[buffer * kBlock + 2 * t + 1];
            if (block + 2 < blocks) barrier_arrive(kFree + buffer, kThreads);
        }
        out[blockIdx.x * kHalf + t] = sum;
    }
}
