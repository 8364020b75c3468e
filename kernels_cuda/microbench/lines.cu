// Loads of lines one after the other, each waited for, by one lane of some SMs: what each takes, and when.
#include "common.cuh"

constexpr int kMostLines = 8320;

// The CTA on SM `only` loads (all CTAs, if it is negative, each a list of its own), or stores whole lines if `writes` is not 0.
// lines[list][i]: line numbers. begins and cycles_of are shaped alike. The words are zero, so that each address can
// wait for the load before it.
extern "C" __global__ void in_turn(u64* begins, u32* cycles_of, char* data, const u32* lines, int count, int only, int writes) {
    __shared__ u32 list[kMostLines];
    const int sm = sm_id();
    if (only >= 0 && sm != only) return;
    const u64 own = only >= 0 ? 0 : static_cast<u64>(sm) * count;
    for (int i = threadIdx.x; i < count; i += blockDim.x) list[i] = lines[own + i];
    __syncthreads();
    if (threadIdx.x != 0 && !writes) return;
    const u64 base = __cvta_generic_to_global(data);
    u32 zero = 0;
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
        const u64 address = base + static_cast<u64>(list[i]) * 128 + zero;
        if (writes) {  // the whole line
            asm volatile("st.global.u32 [%0], %1;" ::"l"(address + threadIdx.x * 4), "r"(zero) : "memory");
            continue;
        }
        u64 begin;
        cycles_of[own + i] = load_cycles(address, zero, begin);
        begins[own + i] = begin;
    }
    asm volatile("membar.gl;" ::: "memory");
}
