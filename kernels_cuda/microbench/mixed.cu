// What SMs read and store at once: some warps of each copy, others store, until so many cycles are over.
#include "common.cuh"

constexpr int kCopies = 8;   // of 512 bytes, in a commit group
constexpr int kPending = 3;  // groups that may be on their way behind one
constexpr int kStores = 8;   // of 512 bytes, one after another
constexpr u32 kGroup = kCopies * 512;
constexpr u32 kFilled = (kPending + 1) * kGroup;  // shared memory that a warp's groups fill in turn

enum Role { kCopying = 1, kStoring = 2 };

// counts[2 * SM]: commit groups and bursts of stores of an SM that begin in `duration` cycles after `before`. Warps from
// `copiers` on store. An SM does what bits of its entry of `role_of` say, or both without that. It goes over `read_span`
// bytes of its own, and over `stored_span`, a group or burst by each warp in turn. Warps wait `pause` cycles after each
// group that they copy, `rest` after each burst, each CTA at a time of its own.
extern "C" __global__ void __launch_bounds__(512) mixed(u64* counts, const char* data, u64 read_span, char* stored, u64 stored_span,
                                                        const int* role_of, int copiers, int before, int duration, int pause, int rest) {
    extern __shared__ __align__(128) char words[];
    __shared__ u32 done[2];
    const u32 sm = sm_id();
    const int role = role_of ? role_of[sm] : kCopying | kStoring;
    const int warp = static_cast<int>(warp_id()), storers = static_cast<int>(blockDim.x) / 32 - copiers;
    if (threadIdx.x < 2) done[threadIdx.x] = 0;
    __syncthreads();
    const u64 begin = cycles(), from = begin + before, until = from + duration;
    wait_until(begin + static_cast<u64>(warp < copiers ? pause : rest) * blockIdx.x / gridDim.x);
    u32 count = 0;
    if (warp < copiers && role & kCopying) {
        const u32 filled = shared_address(words) + warp * kFilled + lane_id() * 16;
        const u64 base = __cvta_generic_to_global(data) + sm * read_span + lane_id() * 16;
        u64 at = warp * kGroup;
        u32 turn = 0;
#pragma unroll 1
        for (u64 now = cycles(); now < until; now = cycles()) {
            copy_group<kCopies, kPending>(filled + turn, base + at, 512);
            turn = next_filled<kCopies, kPending>(turn);
            at = at + copiers * kGroup < read_span ? at + copiers * kGroup : warp * kGroup;
            count += now >= from;
            wait_until(min(cycles() + pause, until));
        }
        asm volatile("cp.async.wait_all;" ::: "memory");
    } else if (warp >= copiers && role & kStoring) {
        const int storer = warp - copiers;
        const u64 base = __cvta_generic_to_global(stored) + sm * stored_span + lane_id() * 16;
        u64 at = storer * kGroup;
#pragma unroll 1
        for (u64 now = cycles(); now < until; now = cycles()) {
#pragma unroll
            for (int i = 0; i < kStores; ++i)
                asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(base + at + i * 512), "r"(warp), "r"(storers), "r"(copiers), "r"(duration) : "memory");
            at = at + storers * kGroup < stored_span ? at + storers * kGroup : storer * kGroup;
            count += now >= from;
            wait_until(min(cycles() + rest, until));
        }
    }
    if (lane_id() == 0) atomicAdd(&done[warp >= copiers], count);
    __syncthreads();
    if (threadIdx.x == 0) counts[2 * sm] = done[0], counts[2 * sm + 1] = done[1];
}
