// How many memory instructions wait in an SM: some that are served slowly, then others whose issue is timed one by one.
#include "common.cuh"

enum What { kLds = 0, kLds4 = 1, kLdmatrix = 2, kSts = 3, kSts4 = 4, kCopy = 5, kLdg4 = 6, kShuffle = 7, kStg4 = 8, kLdmatrix1 = 9 };

constexpr int kTimed = 24;

// Slow stores: all lanes write words of one bank, 32 wavefronts each.
template <int kWhat>
DEVICE void backlog(u64* stamps, char* data, int blockers, int smsps) {
    __shared__ __align__(128) char words[32768];
    for (u32 i = threadIdx.x * 4; i < 32768; i += blockDim.x * 4) *reinterpret_cast<u32*>(words + i) = i;
    __syncthreads();
    if (!takes_part(smsps)) return;
    const u32 slow = shared_address(words) + lane_id() * 128, fast = shared_address(words) + lane_id() * 16;
    const u64 global = __cvta_generic_to_global(data) + warp_id() * 32768 + lane_id() * 16;
    u32 loaded[kTimed][4] = {};
    u64 at[kTimed + 1];
    u32 left = 0;
    const u32 value = threadIdx.x;
    __syncwarp();
#pragma unroll 1
    for (int pass = 0; pass < 2; ++pass) {
        const u64 begin = cycles();
#pragma unroll 1
        for (int i = 0; i < blockers; ++i) asm volatile("st.shared.u32 [%0], %1;" ::"r"(slow + i * 4096), "r"(value) : "memory");
        at[0] = cycles();
#pragma unroll
        for (int i = 0; i < kTimed; ++i) {
            if (kWhat == kLds) asm volatile("ld.shared.u32 %0, [%1];" : "=r"(loaded[i][0]) : "r"(fast + i * 512) : "memory");
            if (kWhat == kLds4)
                asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(loaded[i][0]), "=r"(loaded[i][1]), "=r"(loaded[i][2]), "=r"(loaded[i][3]) : "r"(fast + i * 512) : "memory");
            if (kWhat == kLdmatrix)
                ldmatrix_x4(loaded[i], fast + i * 512);
            if (kWhat == kLdmatrix1) asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(loaded[i][0]) : "r"(fast + i * 512) : "memory");
            if (kWhat == kSts) asm volatile("st.shared.u32 [%0], %1;" ::"r"(fast + i * 512), "r"(value) : "memory");
            if (kWhat == kSts4) asm volatile("st.shared.v4.u32 [%0], {%1,%1,%1,%1};" ::"r"(fast + i * 512), "r"(value) : "memory");
            if (kWhat == kCopy) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(fast + i * 512), "l"(global + i * 512) : "memory");
            if (kWhat == kLdg4)
                asm volatile("ld.global.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(loaded[i][0]), "=r"(loaded[i][1]), "=r"(loaded[i][2]), "=r"(loaded[i][3]) : "l"(global + i * 512) : "memory");
            if (kWhat == kShuffle) asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 0x1f, 0xffffffff;" : "=r"(loaded[i][0]) : "r"(value));
            if (kWhat == kStg4) asm volatile("st.global.v4.u32 [%0], {%1,%1,%1,%1};" ::"l"(global + i * 512), "r"(value) : "memory");
            at[i + 1] = cycles();
        }
        asm volatile("cp.async.wait_all;" ::: "memory");
        __syncwarp();
        if (lane_id() == 0)
#pragma unroll
            for (int i = 0; i <= kTimed; ++i) stamps[warp_id() * (kTimed + 1) + i] = at[i] - begin;
        left ^= fold(loaded);
        if (at[kTimed] == begin) stamps[0] = left;
    }
}

#define BACKLOG(WHAT)                                                                                                      \
    extern "C" __global__ void __launch_bounds__(128) backlog_##WHAT(u64* stamps, char* data, int blockers, int smsps) {   \
        backlog<WHAT>(stamps, data, blockers, smsps);                                                                      \
    }
BACKLOG(0) BACKLOG(1) BACKLOG(2) BACKLOG(3) BACKLOG(4) BACKLOG(5) BACKLOG(6) BACKLOG(7) BACKLOG(8) BACKLOG(9)
