// mma.sync: interval and latency by shape and type, independent accumulators, operand reuse, and whole warp tiles.
#include "mma_types.cuh"

// Bits of small finite numbers in every type, different in every register.
DEVICE u32 operand_bits(u32 seed, u32 number) { return 0x3c003c00u ^ ((seed + number * 0x9e37u + lane_id()) & 0x03ff03ffu); }

// How the accumulators of one round share operands.
enum Reuse { kSameAB = 0, kSameA = 1, kDistinct = 2 };

// ILP chains of dependent mma; each chain's accumulator is its only dependence.
template <class Type, int kIlp, int kReuse, int kRounds>
DEVICE void mma_chains(u64* spans, int iterations, u32 seed, int smsps) {
    constexpr int kAs = kReuse == kDistinct ? kIlp : 1;
    constexpr int kBs = kReuse == kSameAB ? 1 : kIlp;
    u32 a[kAs][Type::kA], b[kBs][Type::kB];
    typename Type::Acc c[kIlp][Type::kC];
#pragma unroll
    for (int i = 0; i < kAs * Type::kA; ++i) a[i / Type::kA][i % Type::kA] = operand_bits(seed, i);
#pragma unroll
    for (int i = 0; i < kBs * Type::kB; ++i) b[i / Type::kB][i % Type::kB] = operand_bits(seed, 64 + i);
#pragma unroll
    for (int i = 0; i < kIlp * Type::kC; ++i) c[i / Type::kC][i % Type::kC] = 0;
    __syncthreads();
    if (!takes_part(smsps)) return;
    const u64 begin = cycles();
#pragma unroll 1
    for (int iteration = 0; iteration < iterations; ++iteration) {
#pragma unroll
        for (int round = 0; round < kRounds; ++round) {
#pragma unroll
            for (int i = 0; i < kIlp; ++i) Type::mma(c[i], a[kAs > 1 ? i : 0], b[kBs > 1 ? i : 0]);
        }
    }
    const u64 end = cycles();
    record(spans, begin, end, fold(c));
}

DEVICE void ldmatrix_x4(u32& r0, u32& r1, u32& r2, u32& r3, u32 address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(address) : "memory");
}

// Orders of a warp tile's mma: serpentine over N on odd rows (CUTLASS on sm_80 and later), plain rows, or columns
// (the same B over consecutive mma with different A, serpentine over M).
enum Order { kSerpentine = 0, kRows = 1, kColumns = 2 };
// Where a k group's ldmatrix stand: nowhere, before its mma, or spread among them.
enum Loads { kNoLoads = 0, kLoadsFirst = 1, kLoadsSpread = 2 };

// One k group of an MT x NT warp tile after the other, fragments double-buffered as a mainloop has them.
template <class Type, int kM, int kN, int kOrder, int kLoads>
DEVICE void mma_tile(u64* spans, int iterations, u32 seed, int smsps) {
    static_assert(kLoads == kNoLoads || (Type::kA == 4 && Type::kB == 2),
                  "a fragment of A is one ldmatrix.x4, two of B are another");
    __shared__ __align__(128) u32 rows[4096];
    for (u32 i = threadIdx.x; i < 4096; i += blockDim.x) rows[i] = operand_bits(seed, i);
    const u32 address = shared_address(rows) + lane_id() * 16;
    u32 a[2][kM][Type::kA], b[2][kN][Type::kB];
    typename Type::Acc c[kM * kN][Type::kC];
#pragma unroll
    for (int buffer = 0; buffer < 2; ++buffer) {
#pragma unroll
        for (int i = 0; i < kM * Type::kA; ++i)
            a[buffer][i / Type::kA][i % Type::kA] = operand_bits(seed, 128 * buffer + i);
#pragma unroll
        for (int i = 0; i < kN * Type::kB; ++i)
            b[buffer][i / Type::kB][i % Type::kB] = operand_bits(seed, 128 * buffer + 64 + i);
    }
#pragma unroll
    for (int i = 0; i < kM * kN * Type::kC; ++i) c[i / Type::kC][i % Type::kC] = 0;
    __syncthreads();
    if (!takes_part(smsps)) return;
    constexpr int kInstructions = kM + kN / 2;
    constexpr int kMma = kM * kN;
    const u64 begin = cycles();
#pragma unroll 1
    for (int iteration = 0; iteration < iterations; ++iteration) {
#pragma unroll
        for (int group = 0; group < 2; ++group) {
            const int next = 1 - group;
            auto load = [&](int i) {
                const u32 at = address + (next * kInstructions + i) * 512;
                if constexpr (kLoads != kNoLoads) {
                    if (i < kM) ldmatrix_x4(a[next][i][0], a[next][i][1], a[next][i][2], a[next][i][3], at);
                    else {
                        const int n = 2 * (i - kM);
                        ldmatrix_x4(b[next][n][0], b[next][n][1], b[next][n + 1][0], b[next][n + 1][1], at);
                    }
                }
            };
            if (kLoads == kLoadsFirst) {
#pragma unroll
                for (int i = 0; i < kInstructions; ++i) load(i);
            }
#pragma unroll
            for (int i = 0; i < kMma; ++i) {
                // The last quarter of the group is left without loads, so that they have arrived at its end.
                if (kLoads == kLoadsSpread && i % 2 == 0 && i / 2 < kInstructions) load(i / 2);
                int m = i / kN, n = i % kN;
                if (kOrder == kSerpentine && m % 2) n = kN - 1 - n;
                if (kOrder == kColumns) {
                    n = i / kM;
                    m = n % 2 ? kM - 1 - i % kM : i % kM;
                }
                Type::mma(c[m * kN + n], a[group][m], b[group][n]);
            }
        }
    }
    const u64 end = cycles();
    record(spans, begin, end, fold(c));
}

#define CHAINS(TYPE, ILP, REUSE)                                                                                  \
    extern "C" __global__ void __launch_bounds__(512)                                                             \
        chains_##TYPE##_##ILP##_##REUSE(u64* spans, int iterations, u32 seed, int smsps) {                        \
        mma_chains<TYPE, ILP, REUSE, 48 / ILP>(spans, iterations, seed, smsps);                                   \
    }
#define CHAINS_OF(TYPE)                                                                                           \
    CHAINS(TYPE, 1, 2) CHAINS(TYPE, 2, 2) CHAINS(TYPE, 3, 2) CHAINS(TYPE, 4, 2) CHAINS(TYPE, 6, 2)                \
    CHAINS(TYPE, 8, 2) CHAINS(TYPE, 8, 0) CHAINS(TYPE, 8, 1) CHAINS(TYPE, 4, 0) CHAINS(TYPE, 4, 1)

CHAINS_OF(F16K16) CHAINS_OF(F16K8) CHAINS_OF(F16K16H) CHAINS_OF(F16K8H) CHAINS_OF(BF16K16)
CHAINS_OF(TF32K8) CHAINS_OF(TF32K4) CHAINS_OF(S8K32) CHAINS_OF(S8K16)
CHAINS(S4K64, 1, 2) CHAINS(S4K64, 2, 2)

#define TILE(TYPE, M, N, ORDER, LOADS)                                                                            \
    extern "C" __global__ void __launch_bounds__(256)                                                             \
        tile_##TYPE##_##M##_##N##_##ORDER##_##LOADS(u64* spans, int iterations, u32 seed, int smsps) {            \
        mma_tile<TYPE, M, N, ORDER, LOADS>(spans, iterations, seed, smsps);                                       \
    }
#define TILE_LOADS(TYPE, M, N, ORDER) TILE(TYPE, M, N, ORDER, 0) TILE(TYPE, M, N, ORDER, 1) TILE(TYPE, M, N, ORDER, 2)

TILE_LOADS(F16K16, 4, 8, 0) TILE(F16K16, 4, 8, 1, 0) TILE_LOADS(F16K16, 4, 8, 2)
TILE_LOADS(F16K16, 2, 8, 0) TILE_LOADS(F16K16, 4, 4, 0) TILE_LOADS(F16K16, 2, 4, 0)
TILE_LOADS(F16K16H, 4, 8, 0) TILE_LOADS(BF16K16, 4, 8, 0) TILE_LOADS(TF32K8, 4, 8, 0) TILE_LOADS(S8K32, 4, 8, 0)
// Of each type two sizes of a warp tile without loads: their difference has no end of a loop.
TILE(F16K16H, 2, 8, 0, 0) TILE(BF16K16, 2, 8, 0, 0) TILE(TF32K8, 2, 8, 0, 0) TILE(S8K32, 2, 8, 0, 0)
TILE(F16K8, 4, 8, 0, 0) TILE(F16K8H, 4, 8, 0, 0) TILE(TF32K4, 4, 8, 0, 0) TILE(S8K16, 4, 8, 0, 0)
TILE(F16K8, 2, 8, 0, 0) TILE(F16K8H, 2, 8, 0, 0) TILE(TF32K4, 2, 8, 0, 0) TILE(S8K16, 2, 8, 0, 0)
