// Atomics in shared memory, alone and between other accesses to it, and stores to global memory between those.
#include "common.cuh"

enum Others { kNone = 0, kSts = 1, kLds = 2, kLdsm = 3 };
enum Between { kNothing = 0, kAtomic = 1, kStg = 2 };

constexpr u32 kOthers = 4, kWarps = 16;
constexpr u32 kWarpBytes = 2048;    // of shared memory of a warp, for its others
constexpr u32 kGlobalBytes = 8192;  // of global memory of a warp

// A trip is kOthers accesses of 512 bytes without a conflict, of a kind, and one of another kind: an atomic maximum of which
// `lanes` side by side are at one word, or a store of 16 bytes a lane to global memory.
template <int kKind, int kOne>
DEVICE void between(u64* spans, char* data, int trips, u32 lanes) {
    extern __shared__ __align__(128) char words[];
    for (u32 i = threadIdx.x * 4; i < kWarps * (kWarpBytes + 128); i += blockDim.x * 4) *reinterpret_cast<u32*>(words + i) = 0;
    __syncthreads();
    const u32 own = shared_address(words) + warp_id() * kWarpBytes + lane_id() * 16;
    const u32 word = shared_address(words) + kWarps * kWarpBytes + warp_id() * 128 + lane_id() / lanes * 4;
    const u64 to = __cvta_generic_to_global(data) + warp_id() * kGlobalBytes + lane_id() * 16;
    u32 found[kOthers][4], stored[4] = {lane_id(), lane_id() + 1, lane_id() + 2, lane_id() + 3}, at = 0;
#pragma unroll
    for (u32 i = 0; i < kOthers; ++i) found[i][0] = found[i][1] = found[i][2] = found[i][3] = 0;
    const u64 begin = cycles();
#pragma unroll 1
    for (int trip = 0; trip < trips; ++trip) {
#pragma unroll
        for (u32 i = 0; i < kOthers; ++i) {
            const u32 from = own + i * 512;
            if (kKind == kSts)
                asm volatile("st.volatile.shared.v4.u32 [%0], {%1,%2,%3,%4};" ::"r"(from), "r"(stored[0]), "r"(stored[1]), "r"(stored[2]), "r"(stored[3]) : "memory");
            if (kKind == kLds)
                asm volatile("ld.volatile.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(found[i][0]), "=r"(found[i][1]), "=r"(found[i][2]), "=r"(found[i][3]) : "r"(from) : "memory");
            if (kKind == kLdsm) ldmatrix_x4(found[i], from);
        }
        if (kOne == kAtomic) asm volatile("red.shared.max.s32 [%0], %1;" ::"r"(word), "r"(stored[0]) : "memory");
        if (kOne == kStg) {
            store_16(to + at, stored);
            at = (at + 512) % kGlobalBytes;
        }
    }
    const u32 result = fold(found);
    const u64 end = cycles();
    record(spans, begin, end, result);
}

#define BETWEEN(KIND, NAME, ONE, OF)                                                                                          \
    extern "C" __global__ void __launch_bounds__(512) NAME##_##OF(u64* spans, char* data, int trips, u32 lanes) {     \
        between<KIND, ONE>(spans, data, trips, lanes);                                                                        \
    }
#define BETWEEN_ALL(KIND, NAME) \
    BETWEEN(KIND, NAME, kNothing, nothing) BETWEEN(KIND, NAME, kAtomic, atomic) BETWEEN(KIND, NAME, kStg, stg)

BETWEEN_ALL(kNone, none) BETWEEN_ALL(kSts, sts) BETWEEN_ALL(kLds, lds) BETWEEN_ALL(kLdsm, ldmatrix)
