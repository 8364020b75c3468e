// Copies to shared memory that copies before them are still filling: whose data is left.
#include "common.cuh"

// left[lane]: what is left of `copies` copies of 512 bytes by one warp to the same bytes, each from its own 512 bytes, some
// cycles apart.
extern "C" __global__ void __launch_bounds__(32) again(u32* left, const char* data, int copies, int gap) {
    __shared__ __align__(128) char target[512];
    const u32 shared = shared_address(target) + lane_id() * 16;
    const u64 from = __cvta_generic_to_global(data) + lane_id() * 16;
#pragma unroll 1
    for (int i = 0; i < copies; ++i) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from + i * 512) : "memory");
        const u64 issued = cycles();
        while (cycles() - issued < gap) {}
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    left[lane_id()] = *reinterpret_cast<volatile u32*>(target + lane_id() * 16);
}
