// How long bursts of memory instructions take while another warp of the SMSP multiplies without a pause.
#include "common.cuh"

enum What { kSts32 = 0, kSts64 = 1, kSts128 = 2, kLds32 = 3, kLdmatrix = 4, kStg128 = 5, kCopy = 6 };
enum Mma { kNone = 0, kF16K16 = 1, kF16K8 = 2, kS8K32 = 3, kHalfSums = 4 };

constexpr int kBursts = 24;
constexpr int kTimed = 4;        // warps, one on each SMSP; as many others multiply
constexpr int kSharedOfWarp = 8192;
constexpr int kGlobalOfWarp = 131072;
constexpr int kChains = 16;      // independent accumulators of mma.sync

template <int kWhat>
DEVICE void access(u32 (&r)[4], u32 shared, u64 global) {
    if (kWhat == kSts32) asm volatile("st.shared.u32 [%0], %1;" ::"r"(shared), "r"(r[0]) : "memory");
    if (kWhat == kSts64) asm volatile("st.shared.v2.u32 [%0], {%1,%2};" ::"r"(shared), "r"(r[0]), "r"(r[1]) : "memory");
    if (kWhat == kSts128)
        asm volatile("st.shared.v4.u32 [%0], {%1,%2,%3,%4};" ::"r"(shared), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
    if (kWhat == kLds32) asm volatile("ld.shared.u32 %0, [%1];" : "=r"(r[0]) : "r"(shared) : "memory");
    if (kWhat == kLdmatrix) ldmatrix_x4(r, shared);
    if (kWhat == kStg128)
        asm volatile("st.global.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(global), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
    if (kWhat == kCopy) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(global) : "memory");
}

template <int kMma, class Sum>
DEVICE void multiply(Sum (&c)[4], const u32 (&a)[8], int i) {
    const u32* m = a + i / 8 % 2 * 4;
    const u32* n = a + i % 4 * 2;
    if constexpr (kMma == kF16K16)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(m[0]), "r"(m[1]), "r"(m[2]), "r"(m[3]), "r"(n[0]), "r"(n[1]));
    if constexpr (kMma == kF16K8)
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(m[0]), "r"(m[1]), "r"(n[0]));
    if constexpr (kMma == kS8K32)
        asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(m[0]), "r"(m[1]), "r"(m[2]), "r"(m[3]), "r"(n[0]), "r"(n[1]));
    if constexpr (kMma == kHalfSums)  // two registers of sums for four
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
                     : "+r"(c[0]), "+r"(c[1]) : "r"(m[0]), "r"(m[1]), "r"(m[2]), "r"(m[3]), "r"(n[0]), "r"(n[1]));
}

// Trips of 128 mma.sync, with nothing but a branch between them; returns the cycles of all.
template <int kMma, class Sum>
DEVICE u64 multiply_all(int trips, u32& folded) {
    Sum sums[kChains][4] = {};
    u32 operands[8];
    random_fractions(operands, threadIdx.x);
    const u64 begin = cycles();
#pragma unroll 1
    for (int trip = 0; trip < trips; ++trip)
#pragma unroll
        for (int i = 0; i < 128; ++i) multiply<kMma>(sums[i % kChains], operands, i);
    folded = fold(sums);
    return cycles() - begin;
}

// A burst is kCount accesses, of which none conflicts. clocks: for each timed warp and burst the cycles until the last one
// has issued, and until all have been done: behind stores a barrier and a load, for copies a wait. Then, for each
// multiplying warp, the cycles of its trips.
template <int kWhat, int kCount, int kMma>
DEVICE void gaps(u32* clocks, char* data, int trips) {
    extern __shared__ __align__(128) char words[];
    const u32 own = shared_address(words), warp = warp_id(), lane = lane_id();
    for (u32 i = threadIdx.x; i < kTimed * kSharedOfWarp / 4; i += blockDim.x) reinterpret_cast<u32*>(words)[i] = 0;
    u32 folded = 0;
    __syncthreads();
    if (warp >= kTimed) {
        u64 all = 0;
        if constexpr (kMma == kS8K32 || kMma == kHalfSums) all = multiply_all<kMma, u32>(trips, folded);
        else if constexpr (kMma != kNone) all = multiply_all<kMma, float>(trips, folded);
        if (lane == 0) clocks[kTimed * kBursts * 2 + warp - kTimed] = static_cast<u32>(all);
        if (folded == 0x9e3779b9u) clocks[0] = folded;
        return;
    }
    constexpr u32 kLane = kWhat == kSts32 || kWhat == kLds32 ? 4 : kWhat == kSts64 ? 8 : 16;
    constexpr bool kStores = kWhat <= kSts128 || kWhat == kStg128;
    u32 r[kCount ? kCount : 1][4];
#pragma unroll
    for (int i = 0; i < (kCount ? kCount : 1); ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) r[i][j] = threadIdx.x * (i + 3) + j * trips;
    const u32 shared = own + warp * kSharedOfWarp + lane * kLane;
    const u64 global = __cvta_generic_to_global(data) + warp * kGlobalOfWarp + lane * 16;
#pragma unroll 1
    for (int burst = 0; burst < kBursts; ++burst) {
        const u64 from = cycles();
        while (cycles() - from < 700 + burst * 37) {}
        asm volatile("bar.sync 1, 128;" ::: "memory");
        const u32 begin = static_cast<u32>(cycles());
#pragma unroll
        for (int i = 0; i < kCount; ++i) access<kWhat>(r[i], shared + i * 512, global + i * 512);
        const u32 issued = static_cast<u32>(cycles()) - begin;
        u32 value = 0, landed = 1;
        if (kWhat == kCopy) asm volatile("cp.async.wait_all;" ::: "memory");
        if (kStores) {
            asm volatile("bar.sync 1, 128;" ::: "memory");
            asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(own) : "memory");
        }
        if (kWhat == kLds32 || kWhat == kLdmatrix) {
#pragma unroll
            for (int i = 0; i < kCount; ++i) value ^= kWhat == kLds32 ? r[i][0] : r[i][0] ^ r[i][1] ^ r[i][2] ^ r[i][3];
        }
        folded ^= value;
        // The clock is read behind a branch on the value: nothing else makes it wait for a load.
        if (folded != 0x1234567u) landed = static_cast<u32>(cycles()) - begin;
        if (lane == 0) clocks[(warp * kBursts + burst) * 2] = issued, clocks[(warp * kBursts + burst) * 2 + 1] = landed;
    }
    if (folded == 0x9e3779b9u) clocks[0] = folded;
}

#define GAPS(WHAT, COUNT, MMA)                                                                                     \
    extern "C" __global__ void __launch_bounds__(256) gaps_##WHAT##_##COUNT##_##MMA(u32* c, char* d, int trips) {    \
        gaps<WHAT, COUNT, MMA>(c, d, trips);                                                                         \
    }
#define BESIDE(WHAT, COUNT) GAPS(WHAT, COUNT, 0) GAPS(WHAT, COUNT, 1) GAPS(WHAT, COUNT, 2) GAPS(WHAT, COUNT, 3) GAPS(WHAT, COUNT, 4)
#define BURSTS(WHAT) BESIDE(WHAT, 0) BESIDE(WHAT, 2) BESIDE(WHAT, 4) BESIDE(WHAT, 8)
BURSTS(0) BURSTS(1) BURSTS(2) BURSTS(3) BURSTS(4) BURSTS(5) BURSTS(6)
