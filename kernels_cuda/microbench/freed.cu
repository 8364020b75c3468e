// When a burst of loads of global memory lets go of its address registers: as late as those before the last one are looked up.
#include "common.cuh"

constexpr int kWarm = 2;

// Each of SM 0's warps issues kCount loads of kBytes a lane, in rows of kRow bytes that are kPitch apart, pass after pass, and
// moves their address, `step` bytes on, in place: what reads it has been read by then. counts[warp][3]: cycles until its loads
// are issued, until the address is moved, and until all data has come, summed over all passes but the first kWarm.
template <int kBytes, int kCount, int kRow, int kPitch>
DEVICE void freed(u64* counts, char* data, u32 passes, u64 step, u32 zero) {
    if (sm_id() != 0) return;
    constexpr u32 each = kRow / kBytes;
    constexpr int kStep = 32 / each * kPitch;
    const u32 lane = lane_id();
    u64 from = __cvta_generic_to_global(data) + warp_id() * (kCount * kStep) + lane / each * kPitch + lane % each * kBytes;
    u64 issued = 0, moved = 0, landed = 0;
    u32 left = 0;
#pragma unroll 1
    for (u32 pass = 0; pass < passes; ++pass) {
        u32 loaded[kCount][4] = {};
        __syncthreads();
        const u64 begin = cycles();
#pragma unroll
        for (int i = 0; i < kCount; ++i) {
            if (kBytes == 16)
                asm volatile("ld.global.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(loaded[i][0]), "=r"(loaded[i][1]), "=r"(loaded[i][2]), "=r"(loaded[i][3]) : "l"(from + i * kStep) : "memory");
            else
                asm volatile("ld.global.v2.u32 {%0,%1}, [%2];" : "=r"(loaded[i][0]), "=r"(loaded[i][1]) : "l"(from + i * kStep) : "memory");
        }
        const u64 after = cycles();
        asm volatile("add.u64 %0, %0, %1;" : "+l"(from) : "l"(step) : "memory");
        const u64 then = cycles();
        const u32 all = fold(loaded);
        u64 end;
        asm volatile("{ .reg .u64 now; mov.u64 now, %%clock64; add.u64 %0, now, %1; }" : "=l"(end) : "l"(static_cast<u64>(all & zero)) : "memory");
        left ^= all;
        if (pass < kWarm) continue;
        issued += after - begin;
        moved += then - begin;
        landed += end - begin;
    }
    if (lane == 0) {
        u64* own = counts + warp_id() * 3;
        own[0] = issued;
        own[1] = moved;
        // Never one more, which ptxas does not know: so it keeps what is loaded.
        own[2] = landed + (left == 0x9e3779b9u);
    }
}

#define FREED(BYTES, COUNT, ROW, PITCH)                                                                                          \
    extern "C" __global__ void __launch_bounds__(256) freed_##BYTES##_##COUNT##_##ROW##_##PITCH(u64* c, char* d, u32 n, u64 s, u32 z) { \
        freed<BYTES, COUNT, ROW, PITCH>(c, d, n, s, z);                                                                          \
    }
#define ROWS(BYTES, COUNT) FREED(BYTES, COUNT, 128, 4096) FREED(BYTES, COUNT, 64, 4096) FREED(BYTES, COUNT, 64, 4160) FREED(BYTES, COUNT, 32, 4096) FREED(BYTES, COUNT, 32, 4128)
#define COUNTS(BYTES) ROWS(BYTES, 1) ROWS(BYTES, 4) ROWS(BYTES, 8) ROWS(BYTES, 12) ROWS(BYTES, 16)
COUNTS(8) COUNTS(16)
