// Events of many loads at once, each of a line of its own: the cycles of every one.
#include "common.cuh"

// One CTA, a warp for each line of an event; addresses, begin_of and cycles_of are indexed [event][warp]. An event begins
// when all warps are there and pauses[event] cycles have passed. The words are zero, so that each address can wait for the
// load before it.
extern "C" __global__ void __launch_bounds__(1024)
    together(u64* begin_of, u32* cycles_of, const char* data, const u64* addresses, const u32* pauses, int events) {
    const u32 warps = blockDim.x / 32;
    const u64 base = __cvta_generic_to_global(data);
    u32 zero = 0;
#pragma unroll 1
    for (int event = 0; event < events; ++event) {
        const u64 place = static_cast<u64>(event) * warps + warp_id();
        const u64 address = base + addresses[place];
        const u64 pause = pauses[event];
        __syncthreads();
        const u64 before = cycles();
        while (cycles() - before < pause) {}
        __syncthreads();
        if (lane_id() == 0) {
            u64 begin;
            cycles_of[place] = load_cycles(address, zero, begin);
            begin_of[place] = begin;
        }
    }
}
