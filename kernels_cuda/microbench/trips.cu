// Trips of published loops: chains of mma.sync or ldmatrix, a __syncwarp behind each trip. Compiled, never launched: what
// is wanted is how ptxas spaces the instructions (gpusim/lab/published/trips.py).
#include "mma_types.cuh"

// Trips of the loop, as in the published makefile: not a multiple of four, so that a loop unrolled by four has two ends.
constexpr int kTrips = 999;

template <class Type, int kChains>
DEVICE void mma_trips(u64* spans, const u32* operands) {
    u32 a[kChains][Type::kA], b[kChains][Type::kB];
    typename Type::Acc c[kChains][Type::kC];
    for (int chain = 0; chain < kChains; ++chain) {
        for (int i = 0; i < Type::kA; ++i) a[chain][i] = operands[(chain * Type::kA + i) * 32 + lane_id()];
        for (int i = 0; i < Type::kB; ++i) b[chain][i] = operands[(32 + chain * Type::kB + i) * 32 + lane_id()];
        for (int i = 0; i < Type::kC; ++i) c[chain][i] = 0;
    }
    __syncthreads();
    const u64 begin = cycles();
    for (int trip = 0; trip < kTrips; ++trip) {
#pragma unroll
        for (int chain = 0; chain < kChains; ++chain) Type::mma(c[chain], a[chain], b[chain]);
        __syncwarp();
    }
    const u64 end = cycles();
    record(spans, begin, end, fold(c));
}

template <int kMatrices, int kChains>
DEVICE void ldmatrix_trips(u64* spans, const u32* operands) {
    __shared__ __align__(128) u32 words[8192];
    for (u32 i = threadIdx.x; i < 8192; i += blockDim.x) words[i] = operands[i];
    __syncthreads();
    u32 address[kChains][1];
    for (int chain = 0; chain < kChains; ++chain) address[chain][0] = shared_address(words) + 16 * (32 * chain + lane_id());
    const u64 begin = cycles();
    for (int trip = 0; trip < kTrips; ++trip) {
#pragma unroll
        for (int chain = 0; chain < kChains; ++chain) {
            u32& at = address[chain][0];
            u32 r1, r2, r3;
            if (kMatrices == 1)
                asm volatile("ldmatrix.sync.aligned.x1.m8n8.shared.b16 {%0}, [%1];" : "=r"(at) : "r"(at));
            if (kMatrices == 2)
                asm volatile("ldmatrix.sync.aligned.x2.m8n8.shared.b16 {%0,%1}, [%2];" : "=r"(at), "=r"(r1) : "r"(at));
            if (kMatrices == 4)
                asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3}, [%4];"
                             : "=r"(at), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(at));
        }
        __syncwarp();
    }
    const u64 end = cycles();
    record(spans, begin, end, fold(address));
}

#define MMA_TRIPS(TYPE, CHAINS)                                                                       \
    extern "C" __global__ void mma_##TYPE##_##CHAINS(u64* spans, const u32* operands) {               \
        mma_trips<TYPE, CHAINS>(spans, operands);                                                     \
    }
#define MMA_TRIPS_OF(TYPE) MMA_TRIPS(TYPE, 2) MMA_TRIPS(TYPE, 3) MMA_TRIPS(TYPE, 4)

MMA_TRIPS_OF(F16K16) MMA_TRIPS_OF(F16K8) MMA_TRIPS_OF(F16K16H) MMA_TRIPS_OF(F16K8H) MMA_TRIPS_OF(TF32K8)
MMA_TRIPS_OF(TF32K4) MMA_TRIPS_OF(S8K32) MMA_TRIPS_OF(S8K16) MMA_TRIPS_OF(S8K16N8) MMA_TRIPS_OF(S4K64)
MMA_TRIPS_OF(S4K32) MMA_TRIPS_OF(B1K256) MMA_TRIPS_OF(B1K128)

#define LDMATRIX_TRIPS(MATRICES, CHAINS)                                                              \
    extern "C" __global__ void ldmatrix_x##MATRICES##_##CHAINS(u64* spans, const u32* operands) {     \
        ldmatrix_trips<MATRICES, CHAINS>(spans, operands);                                            \
    }
#define LDMATRIX_TRIPS_OF(MATRICES)                                                                   \
    LDMATRIX_TRIPS(MATRICES, 2) LDMATRIX_TRIPS(MATRICES, 3)                                           \
    LDMATRIX_TRIPS(MATRICES, 4) LDMATRIX_TRIPS(MATRICES, 5)

LDMATRIX_TRIPS_OF(1) LDMATRIX_TRIPS_OF(2) LDMATRIX_TRIPS_OF(4)
