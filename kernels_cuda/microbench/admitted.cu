// How long ldmatrix wait behind stores to global memory of other CTAs of their SM, by which CTA came first.
#include "common.cuh"

enum Role { kRests = 0, kLoads = 1, kStores = 2 };

constexpr u32 kCtas = 4;          // of an SM that do something, at most: where others end at once, more come
constexpr u32 kWarps = 4;         // of a CTA, one on each SMSP
constexpr u32 kWarpBytes = 2048;  // of shared memory, which a warp loads from
constexpr int kBetween = 37;      // cycles from a trip of loads to the next

// The CTA that is the n-th to come to its SM does what bits 2n and 2n + 1 of `roles` say: it loads from shared memory,
// kTrip ldmatrix.x4 a trip, each behind the data of the one before if kChained, or it stores 16 bytes a lane, kRow times
// in a row. CTAs of other SMs than `only` end at once, if that is one. counts[SM][n][warp]: trips, their
// cycles and the longest one's; or rows of stores; of `duration` cycles from `before` on. The words that are
// loaded are zeros, which ptxas does not know.
template <int kTrip, int kRow, bool kChained>
DEVICE void admitted(u64* counts, char* data, u64 span, u32* came, u32 roles, int only, int before, int duration) {
    __shared__ __align__(128) u32 words[kWarps * kWarpBytes / 4];
    __shared__ u32 turn;
    for (u32 i = threadIdx.x; i < kWarps * kWarpBytes / 4; i += blockDim.x) words[i] = 0;
    const u32 sm = sm_id(), warp = warp_id();
    if (only >= 0 && sm != static_cast<u32>(only)) return;
    if (threadIdx.x == 0) turn = atomicAdd(&came[sm], 1);
    __syncthreads();
    if (turn >= kCtas) return;
    const u32 role = roles >> 2 * turn & 3;
    const u64 begin = cycles(), from = begin + before, until = from + duration;
    u64 count = 0, sum = 0, most = 0;
    if (role == kStores) {
        u64 at = __cvta_generic_to_global(data) + sm * span + (turn * kWarps + warp) * (kRow * 1024) + lane_id() * 16;
        u32 half = 0;
#pragma unroll 1
        for (u64 now = cycles(); now < until; now = cycles()) {
#pragma unroll
            for (int i = 0; i < kRow; ++i)
                asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(at + half + i * 512), "r"(warp), "r"(turn), "r"(roles), "r"(duration) : "memory");
            half ^= kRow * 512;
            count += now >= from;
        }
    } else if (role == kLoads) {
        const u32 own = shared_address(words) + warp * kWarpBytes + lane_id() * 16;
#pragma unroll 1
        for (u64 now = cycles(); now < until;) {
            const u64 first = cycles();
            u32 found[kTrip], rest[3], last = 0;
#pragma unroll
            for (int i = 0; i < kTrip; ++i) {
                const u32 at = own + i % 4 * 512 + (kChained ? last : 0);
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                             : "=r"(found[i]), "=r"(rest[0]), "=r"(rest[1]), "=r"(rest[2]) : "r"(at) : "memory");
                last = found[i];
            }
            u32 all = 0;
#pragma unroll
            for (int i = 0; i < kTrip; ++i) all |= found[i];
            // The clock behind all that was loaded.
            asm volatile("{ .reg .u64 now; mov.u64 now, %%clock64; add.u64 %0, now, %1; }" : "=l"(now) : "l"(static_cast<u64>(all)) : "memory");
            if (first >= from) ++count, sum += now - first, most = max(most, now - first);
            wait_until(now + kBetween);
        }
    }
    if (lane_id() == 0) {
        u64* const own = counts + ((sm * kCtas + turn) * kWarps + warp) * 3;
        own[0] = count, own[1] = sum, own[2] = most;
    }
}

#define ADMITTED(TRIP, ROW, CHAINED)                                                                     \
    extern "C" __global__ void __launch_bounds__(128) admitted_##TRIP##_##ROW##_##CHAINED(               \
        u64* counts, char* data, u64 span, u32* came, u32 roles, int only, int before, int duration) {   \
        admitted<TRIP, ROW, CHAINED>(counts, data, span, came, roles, only, before, duration);           \
    }
#define ADMITTED_OF(TRIP, CHAINED)                                                                       \
    ADMITTED(TRIP, 2, CHAINED) ADMITTED(TRIP, 4, CHAINED) ADMITTED(TRIP, 8, CHAINED) ADMITTED(TRIP, 32, CHAINED)

ADMITTED_OF(1, 0) ADMITTED_OF(4, 0) ADMITTED_OF(12, 0) ADMITTED_OF(4, 1)
