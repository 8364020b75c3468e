// What accesses of a few warps cost those of others that keep the data stage busy: copies beside stores, loads beside ldmatrix.
#include "common.cuh"

enum Most { kSts16 = 0, kSts8 = 1, kSts4 = 2, kLds16 = 3, kLdsm = 4 };
enum Few { kNothing = 0, kCopies = 1, kLoads = 2, kLds = 3, kWideLds = 4, kSts = 5, kStg = 6, kMatrix = 7, kZeros = 8 };

constexpr u32 kMostWarps = 16, kFewWarps = 4, kEach = 4;
constexpr u32 kMostBytes = kEach * 512;        // of shared memory of a warp of the most
constexpr u32 kFewBytes = 4 * kEach * 512;     // of one of the few: groups of copies fill it in turn
constexpr u32 kGlobalBytes = 16384;            // of global memory of one of the few

// For `window` cycles 16 warps access shared memory without a conflict, and 4 do something else, kEach instructions at a time
// and those `gap` cycles apart at least. counts[warp]: the instructions that it has issued.
template <int kMost, int kFew>
DEVICE void crossed(u64* counts, char* data, u32 window, u32 gap) {
    extern __shared__ __align__(128) char words[];
    const u32 base = shared_address(words), lane = lane_id();
    u32 left = 0, value[kEach][4];
#pragma unroll
    for (u32 i = 0; i < kEach; ++i) value[i][0] = value[i][1] = value[i][2] = value[i][3] = lane + i;
    u64 count = 0;
    __syncthreads();
    const u64 begin = cycles();
    if (warp_id() < kMostWarps) {
        const u32 own = base + warp_id() * kMostBytes;
#pragma unroll 1
        while (cycles() - begin < window) {
#pragma unroll
            for (u32 i = 0; i < kEach; ++i) {
                const u32 at = own + i * 512;
                u32(&v)[4] = value[i];
                if (kMost == kSts16) asm volatile("st.volatile.shared.v4.u32 [%0], {%1,%2,%3,%4};" ::"r"(at + lane * 16), "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]) : "memory");
                if (kMost == kSts8) asm volatile("st.volatile.shared.v2.u32 [%0], {%1,%2};" ::"r"(at + lane * 8), "r"(v[0]), "r"(v[1]) : "memory");
                if (kMost == kSts4) asm volatile("st.volatile.shared.u32 [%0], %1;" ::"r"(at + lane * 4), "r"(v[0]) : "memory");
                if (kMost == kLds16) asm volatile("ld.volatile.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(at + lane * 16) : "memory");
                if (kMost == kLdsm) ldmatrix_x4(v, at + lane * 16);
                if (kMost == kLds16 || kMost == kLdsm) left += v[0] ^ v[3];
            }
            count += kEach;
        }
    } else {
        const u32 few = warp_id() - kMostWarps, own = base + kMostWarps * kMostBytes + few * kFewBytes;
        const u64 global = __cvta_generic_to_global(data) + few * kGlobalBytes + lane * 16;
        u32 offset = 0, at = 0;
        u64 next = begin;
#pragma unroll 1
        while (kFew != kNothing && cycles() - begin < window) {
            wait_until(next);
            next += gap;
#pragma unroll
            for (u32 i = 0; i < kEach; ++i) {
                const u32 to = own + offset + i * 512;
                const u64 from = global + at + i * 512;
                u32(&v)[4] = value[i];
                if (kFew == kCopies) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + lane * 16), "l"(from) : "memory");
                if (kFew == kZeros) asm volatile("cp.async.cg.shared.global [%0], [%1], 16, 0;" ::"r"(to + lane * 16), "l"(from) : "memory");
                if (kFew == kLoads) asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "l"(from) : "memory");
                if (kFew == kLds) asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(v[0]) : "r"(to + lane * 4) : "memory");
                if (kFew == kWideLds) asm volatile("ld.volatile.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(to + lane * 16) : "memory");
                if (kFew == kSts) asm volatile("st.volatile.shared.v4.u32 [%0], {%1,%2,%3,%4};" ::"r"(to + lane * 16), "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]) : "memory");
                if (kFew == kStg) store_16(from, v);
                if (kFew == kMatrix) ldmatrix_x4(v, to + lane * 16);
                if (kFew == kLoads || kFew == kLds || kFew == kWideLds || kFew == kMatrix) left += v[0] ^ v[3];
            }
            if (kFew == kCopies || kFew == kZeros) {
                asm volatile("cp.async.commit_group;\ncp.async.wait_group 3;" ::: "memory");
                offset = (offset + kEach * 512) % kFewBytes;
            }
            at = (at + kEach * 512) % kGlobalBytes;
            count += kEach;
        }
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    if (lane == 0) counts[warp_id()] = count + (left == 0x9e3779b9u ? 1 : 0);
}

#define CROSSED(MOST, NAME, FEW, OF)                                                                                        \
    extern "C" __global__ void __launch_bounds__(640)                                             \
        NAME##_##OF(u64* counts, char* data, u32 window, u32 gap) {                                                         \
        crossed<MOST, FEW>(counts, data, window, gap);                                                                      \
    }
#define FEW(MOST, NAME)                                                                                                     \
    CROSSED(MOST, NAME, kNothing, nothing) CROSSED(MOST, NAME, kCopies, copies) CROSSED(MOST, NAME, kLoads, loads)          \
    CROSSED(MOST, NAME, kLds, lds4) CROSSED(MOST, NAME, kWideLds, lds16) CROSSED(MOST, NAME, kSts, sts16)                   \
    CROSSED(MOST, NAME, kStg, stg) CROSSED(MOST, NAME, kMatrix, ldmatrix) CROSSED(MOST, NAME, kZeros, zeros)
FEW(kSts16, sts16) FEW(kSts8, sts8) FEW(kSts4, sts4) FEW(kLds16, lds16) FEW(kLdsm, ldmatrix)
