// CTAs that an SM holds at once, by the barriers of a kernel: barriers 0 to kBarriers - 1, by constants or by a register.
#include "common.cuh"

// Only the first warp of a CTA syncs at the barriers. The SM allocates them for the CTA all the same.
template <int kBarriers>
DEVICE void constant_barriers() {
    if constexpr (kBarriers > 0) {
        constant_barriers<kBarriers - 1>();
        asm volatile("barrier.sync %0, 32;" ::"n"(kBarriers - 1) : "memory");
    }
}

DEVICE void register_barriers(int barriers) {
#pragma unroll 1
    for (int barrier = 0; barrier < barriers; ++barrier) asm volatile("barrier.sync %0, 32;" ::"r"(barrier) : "memory");
}

// residents[sm]: CTAs that are on the SM now; most[sm]: the most so far. Each CTA stays for `stay` cycles, so that the SM fills
// up before the first one exits. The fence performs the subtraction before the exit, so that no CTA counts twice.
template <int kBarriers, bool kRegister>
DEVICE void reside(int* residents, int* most, int barriers, int stay) {
    const u32 sm = sm_id();
    if (threadIdx.x == 0) atomicMax(most + sm, atomicAdd(residents + sm, 1) + 1);
    if (threadIdx.x < 32) {
        if (kRegister) register_barriers(barriers);
        else constant_barriers<kBarriers>();
    }
    const u64 begin = cycles();
    while (cycles() - begin < static_cast<u64>(stay)) {}
    if (threadIdx.x == 0) {
        atomicSub(residents + sm, 1);
        __threadfence();
    }
}

#define RESIDENTS(BARRIERS)                                                                                                   \
    extern "C" __global__ void __launch_bounds__(128)                                                                         \
        residents_constant_##BARRIERS(int* residents, int* most, int barriers, int stay) {                                    \
        reside<BARRIERS, false>(residents, most, barriers, stay);                                                             \
    }
RESIDENTS(0)
RESIDENTS(1)
RESIDENTS(2)
RESIDENTS(3)
RESIDENTS(4)
RESIDENTS(5)
RESIDENTS(8)
RESIDENTS(12)
RESIDENTS(16)

extern "C" __global__ void __launch_bounds__(128) residents_register(int* residents, int* most, int barriers, int stay) {
    reside<0, true>(residents, most, barriers, stay);
}
