// What shares an SM: ldmatrix in a stream with copies, loads, stores or mma.sync, spread evenly over each trip of a loop.
#include "common.cuh"

// The other memory instruction of a trip, 16 bytes a lane.
enum Other { kCopyBypass = 0, kCopyL1 = 1, kLoadL2 = 2, kLoadL1 = 3, kStore = 4 };

constexpr int kSharedBytes = 32768;  // what ldmatrix reads and stores fill; what copies fill follows, warp by warp
constexpr int kStep = 131072;  // bytes in global memory from one of a trip's accesses to the next
constexpr int kSets = 16;      // register sets that ldmatrix fills in turn: ptxas drops a load that is overwritten unused
constexpr int kChains = 8;    // independent accumulators of mma.sync

template <int kOther>
DEVICE void access(u32 (&value)[4], u32 shared, u64 global) {
    if (kOther == kCopyBypass)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(global) : "memory");
    if (kOther == kCopyL1)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(global) : "memory");
    if (kOther == kLoadL2)
        asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];"
                     : "=r"(value[0]), "=r"(value[1]), "=r"(value[2]), "=r"(value[3]) : "l"(global) : "memory");
    if (kOther == kLoadL1)
        asm volatile("ld.global.ca.v4.u32 {%0,%1,%2,%3}, [%4];"
                     : "=r"(value[0]), "=r"(value[1]), "=r"(value[2]), "=r"(value[3]) : "l"(global) : "memory");
    if (kOther == kStore)
        asm volatile("st.shared.v4.u32 [%0], {%1,%2,%3,%4};" ::"r"(shared), "r"(value[0]), "r"(value[1]), "r"(value[2]),
                     "r"(value[3]) : "memory");
}

// A trip: kLoads ldmatrix.x4 and kOthers other accesses and kMma mma.sync m16n8k16, none of which uses what another
// brings. row_bytes of a row, one after another lane by lane, are read, pitch bytes apart; each trip goes on by row_bytes,
// and after span_bytes begins anew. Shared addresses conflict nowhere, and no copy fills what another one that is on its way
// fills: of such the L1 looks up one only.
template <int kLoads, int kOthers, int kOther, int kMma>
DEVICE void mix(u64* spans, const char* data, int trips, u32 row_bytes, u32 pitch, u32 span_bytes, int smsps) {
    extern __shared__ __align__(128) char words[];
    const u32 lane = lane_id(), each = row_bytes / 16;
    const u32 rows = shared_address(words) + lane * 16;
    constexpr bool kCopies = kOthers > 0 && kOther <= kCopyL1;
    // What goes through the L1 leaves room for it.
    constexpr int kPending = kOthers <= 4 ? 3 : kOther == kCopyL1 ? 1 : 2;
    constexpr u32 kOwn = kOther == kCopyL1 ? 8192 : 12288;
    constexpr u32 kGroup = kCopies ? kOthers * 512 : 0;
    u32 target = kCopies ? rows + kSharedBytes + warp_id() * kOwn : rows + warp_id() % 8 * 2048;
    const u32 last = target + kPending * kGroup;
    const u64 warp = static_cast<u64>(blockIdx.x) * (blockDim.x / 32) + warp_id();
    const u64 first = __cvta_generic_to_global(data) + warp * (kOthers ? kOthers : 1) * kStep + lane / each * pitch + lane % each * 16;
    u32 loaded[kSets][4] = {}, value[kOthers ? kOthers : 1][4] = {};
    float sums[kChains][4] = {};
    const u32 operand = threadIdx.x;
    u32 at = 0, used = 0;
    for (u32 i = threadIdx.x * 4; i < kSharedBytes; i += blockDim.x * 4) *reinterpret_cast<u32*>(words + i) = i;
    __syncthreads();
    if (!takes_part(smsps)) return;
    constexpr int kSlots = kLoads + kOthers + kMma;
    const u64 begin = cycles();
#pragma unroll 1
    for (int trip = 0; trip < trips; ++trip) {
        const u64 global = first + at;
        // What a load brought is used in the next trip.
        if (kOther == kLoadL2 || kOther == kLoadL1) used ^= fold(value);
        at = at + row_bytes < span_bytes ? at + row_bytes : 0;
#pragma unroll
        for (int slot = 0; slot < kSlots; ++slot) {
            const int load = slot * kLoads / kSlots, other = slot * kOthers / kSlots, mma = slot * kMma / kSlots;
            if ((slot + 1) * kLoads / kSlots > load)
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                             : "=r"(loaded[load % kSets][0]), "=r"(loaded[load % kSets][1]), "=r"(loaded[load % kSets][2]),
                               "=r"(loaded[load % kSets][3])
                             : "r"(rows + load % kSets * 512) : "memory");
            if ((slot + 1) * kOthers / kSlots > other) access<kOther>(value[other], target + (kCopies ? other : other % 4) * 512, global + other * kStep);
            if ((slot + 1) * kMma / kSlots > mma) {
                float(&c)[4] = sums[mma % kChains];
                asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                             : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                             : "r"(operand), "r"(operand + 1), "r"(operand + 2), "r"(operand + 3), "r"(operand + 4), "r"(operand + 5));
            }
        }
        if (kCopies) {
            asm volatile("cp.async.commit_group;" ::: "memory");
            asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
            target = target < last ? target + kGroup : last - kPending * kGroup;
        }
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    const u64 end = cycles();
    record(spans, begin, end, fold(loaded) ^ fold(value) ^ fold(sums) ^ used);
}

#define MIX(LOADS, OTHERS, OTHER, MMA)                                                                                \
    extern "C" __global__ void __launch_bounds__(512) mix_##LOADS##_##OTHERS##_##OTHER##_##MMA(                       \
        u64* spans, const char* data, int trips, u32 row_bytes, u32 pitch, u32 span_bytes, int smsps) {               \
        mix<LOADS, OTHERS, OTHER, MMA>(spans, data, trips, row_bytes, pitch, span_bytes, smsps);                      \
    }
#define MIXES(OTHER) MIX(8, 1, OTHER, 0) MIX(8, 2, OTHER, 0) MIX(8, 4, OTHER, 0) MIX(8, 8, OTHER, 0) MIX(0, 4, OTHER, 0) MIX(0, 8, OTHER, 0)
MIX(8, 0, 0, 0) MIX(16, 0, 0, 0) MIXES(0) MIXES(1) MIXES(2) MIXES(3) MIXES(4)
MIX(0, 0, 0, 32) MIX(8, 0, 0, 32) MIX(16, 0, 0, 32) MIX(8, 2, 0, 32) MIX(8, 4, 0, 32) MIX(8, 8, 0, 32) MIX(16, 8, 0, 32) MIX(0, 4, 0, 32)
MIX(8, 4, 3, 32) MIX(8, 4, 4, 32) MIX(8, 4, 2, 32)
