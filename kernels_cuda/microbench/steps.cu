// The steps of an epilogue: shared memory is stored to, a barrier, loads, arithmetic, stores to global memory, a barrier.
#include "common.cuh"

enum Stored { kNothing = 0, kOther = 1, kLoaded = 2, kScaled = 3 };

constexpr int kSteps = 8;
constexpr int kPitch = 4096;  // bytes from one row of the output to the next
constexpr u32 kOwn = 4096;    // bytes of shared memory of a warp

// kPuts st.shared.v2, kLoads ld.shared.v4, and as many st.global.v4 as loads: of nothing, of other registers, of what was
// loaded, or of that times a factor. kRow: bytes of a row of the output.
// stamps[warp][step]: when its loads have been issued; the last pass counts, in which code and data are warm.
template <int kPuts, int kLoads, int kStored, int kRow>
DEVICE void steps(u64* stamps, char* output, float factor) {
    extern __shared__ __align__(128) char words[];
    const u32 own = shared_address(words) + warp_id() * kOwn;
    const u32 put = own + lane_id() * 8, load = own + lane_id() * 16;
    constexpr u32 kEach = kRow / 16;  // lanes of a row
    constexpr int kStep = 32 / kEach * kPitch;
    u64 to = __cvta_generic_to_global(output) + warp_id() * (kSteps * kLoads * kStep) + lane_id() / kEach * kPitch + lane_id() % kEach * 16;
    const u32 value = threadIdx.x;
    u64 then[kSteps];
    u32 left = 0;
#pragma unroll 1
    for (int pass = 0; pass < 3; ++pass) {
        __syncthreads();
#pragma unroll
        for (int step = 0; step < kSteps; ++step) {
            u32 loaded[kLoads][4];
#pragma unroll
            for (int i = 0; i < kPuts; ++i) asm volatile("st.shared.v2.u32 [%0], {%1,%1};" ::"r"(put + i * 256), "r"(value) : "memory");
            asm volatile("bar.sync 0;" ::: "memory");
#pragma unroll
            for (int i = 0; i < kLoads; ++i)
                asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(loaded[i][0]), "=r"(loaded[i][1]), "=r"(loaded[i][2]), "=r"(loaded[i][3]) : "r"(load + i * 512) : "memory");
            then[step] = cycles();
#pragma unroll
            for (int i = 0; i < kLoads; ++i) {
                u32(&of)[4] = loaded[i];
                if (kStored == kScaled) {
#pragma unroll
                    for (int j = 0; j < 4; ++j) of[j] = __float_as_uint(__uint_as_float(of[j]) * factor);
                }
                if (kStored == kOther) asm volatile("st.global.v4.u32 [%0], {%1,%1,%1,%1};" ::"l"(to + (step * kLoads + i) * kStep), "r"(value) : "memory");
                if (kStored >= kLoaded) asm volatile("st.global.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(to + (step * kLoads + i) * kStep), "r"(of[0]), "r"(of[1]), "r"(of[2]), "r"(of[3]) : "memory");
            }
            left ^= fold(loaded);
            asm volatile("bar.sync 0;" ::: "memory");
        }
    }
    if (lane_id() == 0) {
#pragma unroll
        for (int step = 0; step < kSteps; ++step) stamps[warp_id() * kSteps + step] = then[step];
    }
    // Never true, which ptxas does not know: so it keeps what is loaded.
    if (then[0] == then[1]) stamps[0] = left;
}

#define STEPS(PUTS, LOADS, STORED, ROW)                                                                    \
    extern "C" __global__ void __launch_bounds__(256) steps_##PUTS##_##LOADS##_##STORED##_##ROW(u64* s, char* o, float f) { \
        steps<PUTS, LOADS, STORED, ROW>(s, o, f);                                                          \
    }
#define ALL_STORED(PUTS, LOADS, ROW) STEPS(PUTS, LOADS, 0, ROW) STEPS(PUTS, LOADS, 1, ROW) STEPS(PUTS, LOADS, 2, ROW) STEPS(PUTS, LOADS, 3, ROW)
ALL_STORED(4, 2, 256) ALL_STORED(8, 4, 256) ALL_STORED(8, 2, 256) ALL_STORED(4, 1, 256) ALL_STORED(4, 2, 512) ALL_STORED(0, 2, 256)
