// Events of many loads at once, each of a line of its own: the cycles of every one.
#include "common.cuh"

// One CTA, a warp for each line of an event; addresses[event][warp], cycles_of[event][warp]. An event begins when all
// warps are there and some cycles have passed. The words are zero, so that each address can wait for the load before it.
extern "C" __global__ void __launch_bounds__(1024)
    together(u32* cycles_of, const char* data, const u64* addresses, int events, int pause) {
    const u32 warps = blockDim.x / 32;
    const u64 base = __cvta_generic_to_global(data);
    u32 zero = 0;
#pragma unroll 1
    for (int event = 0; event < events; ++event) {
        const u64 place = static_cast<u64>(event) * warps + warp_id();
        const u64 address = base + addresses[place];
        __syncthreads();
        const u64 before = cycles();
        while (cycles() - before < static_cast<u64>(pause)) {}
        __syncthreads();
        if (lane_id() == 0) {
            u64 begin;
            cycles_of[place] = load_cycles(address, zero, begin);
        }
    }
}
