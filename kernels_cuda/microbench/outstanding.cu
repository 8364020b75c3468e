// Bursts of copies, or loads, by 16 warps: more than an SM may have on their way. When each is issued says how many that is.
#include "common.cuh"

constexpr int kWarps = 16;

enum Way { kAround, kThrough, kLoads };

template <Way kWay>
DEVICE void copy_one(u32 to, u64 from, bool on) {
    if (kWay == kThrough)
        asm volatile("{ .reg .pred on; setp.ne.u32 on, %2, 0; @on cp.async.ca.shared.global [%0], [%1], 16; }" ::"r"(to), "l"(from),
                     "r"(static_cast<u32>(on)) : "memory");
    else
        asm volatile("{ .reg .pred on; setp.ne.u32 on, %2, 0; @on cp.async.cg.shared.global [%0], [%1], 16; }" ::"r"(to), "l"(from),
                     "r"(static_cast<u32>(on)) : "memory");
}

DEVICE void load_one(u32 (&to)[4], u64 from, bool on) {
    asm volatile("{ .reg .pred on; setp.ne.u32 on, %5, 0; @on ld.global.v4.u32 {%0,%1,%2,%3}, [%4]; }"
                 : "+r"(to[0]), "+r"(to[1]), "+r"(to[2]), "+r"(to[3])
                 : "l"(from), "r"(static_cast<u32>(on)) : "memory");
}

// times[kWarps * kEach + 1]: cycles since its warps began at which those of the burst issued, warp by warp, and at which one
// more warp had a copy of its own, and with it most of the burst. Each is of `lanes` times 16 bytes, in rows of `row_bytes`
// that are `pitch` bytes apart; those of a warp are at `data` and `other` by turns. The first pass brings code and
// translations of addresses, of the other halves of the pitches.
template <int kEach, Way kWay>
DEVICE void outstanding(u32* times, u64 data, u64 other, u32 row_bytes, u32 pitch, u32 lanes) {
    extern __shared__ __align__(128) char words[];
    const u32 each = row_bytes / 16, warp = warp_id();
    const u64 step = static_cast<u64>(32 / each) * pitch;
    const u64 mine = (lane_id() / each + warp * (32 / each)) * static_cast<u64>(pitch) + lane_id() % each * 16;
    const u32 target = shared_address(words) + (warp * 32 + lane_id()) * 16;
    const bool on = lane_id() < lanes;
    constexpr int last = (kEach - 1) * kWarps;
    u64 begin = 0;
    if (warp == kWarps) {
#pragma unroll 1
        for (int pass = 1; pass >= 0; --pass) {
            __syncthreads();
            begin = cycles();
            copy_one<kWay>(target + last * 512, other + mine + last * step + pass * (pitch / 2), on);
            asm volatile("cp.async.wait_all;" ::: "memory");
        }
        if (lane_id() == 0) times[kWarps * kEach] = static_cast<u32>(cycles() - begin);
        return;
    }
    u32 issued[kEach], loaded[kEach][4] = {};
#pragma unroll 1
    for (int pass = 1; pass >= 0; --pass) {
        __syncthreads();
        begin = cycles();
        const u64 at = mine + pass * (pitch / 2);
        const u64 from[2] = {data + at, other + at};
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
            const u64 address = from[i % 2] + i * kWarps * step;
            if (kWay == kLoads) load_one(loaded[i], address, on); else copy_one<kWay>(target + i * kWarps * 512, address, on);
            issued[i] = static_cast<u32>(cycles() - begin);
        }
        // Never true, which ptxas does not know: so it keeps what is loaded, and waits for it.
        if (fold(loaded) == 1) times[0] = pass;
        asm volatile("cp.async.wait_all;" ::: "memory");
    }
    if (lane_id() == 0) {
#pragma unroll
        for (int i = 0; i < kEach; ++i) times[warp * kEach + i] = issued[i];
    }
}

#define OUTSTANDING(NAME, EACH, WAY)                                                                                     \
    extern "C" __global__ void __launch_bounds__(544)                                                                    \
        NAME(u32* times, u64 data, u64 other, u32 row_bytes, u32 pitch, u32 lanes) {                                     \
        outstanding<EACH, WAY>(times, data, other, row_bytes, pitch, lanes);                                             \
    }
OUTSTANDING(copies, 24, kAround)
OUTSTANDING(copies_through, 24, kThrough)
OUTSTANDING(loads, 16, kLoads)
