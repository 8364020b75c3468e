// CTAs that rest where they lie, so that others find no room on their SMs.
#include "common.cuh"

constexpr u32 kPauseNs = 20000;
constexpr u64 kLongestNs = 3000000000;  // whoever waits for them, and fails, does not wait for ever

// Counts itself, and rests until it is told to end.
extern "C" __global__ void rest(const volatile int* told, int* resting) {
    if (threadIdx.x == 0) atomicAdd(resting, 1);
    u64 begin, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    do {
        asm volatile("nanosleep.u32 %0;" ::"r"(kPauseNs));
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (!*told && now - begin < kLongestNs);
}
