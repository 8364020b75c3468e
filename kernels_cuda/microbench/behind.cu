// What an instruction's result waits for behind others of its warp: which of them share a queue.
#include "common.cuh"

enum What { kMufu = 0, kSts = 1, kLds = 2, kLdmatrix = 3, kShuffle = 4, kFfma = 5 };

constexpr int kRepeats = 8;

struct State {
    u32 slow, fast, value;
    float x[16];
    u32 words[16][4];
};

template <int kWhat>
DEVICE void issue(State& s, int i) {
    if (kWhat == kMufu) asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(s.x[i]));
    if (kWhat == kSts) asm volatile("st.shared.u32 [%0], %1;" ::"r"(s.slow + i % 8 * 4), "r"(s.value) : "memory");
    if (kWhat == kLds) asm volatile("ld.shared.u32 %0, [%1];" : "=r"(s.words[i][0]) : "r"(s.fast + i * 512) : "memory");
    if (kWhat == kLdmatrix)
        ldmatrix_x4(s.words[i], s.fast + i * 512);
    if (kWhat == kShuffle) asm volatile("shfl.sync.bfly.b32 %0, %0, 1, 0x1f, 0xffffffff;" : "+r"(s.words[i][0]));
    if (kWhat == kFfma) asm volatile("fma.rn.f32 %0, %0, 0f3F000000, 0f3E800000;" : "+f"(s.x[i]));
}

template <int kWhat>
DEVICE u32 result(const State& s) {
    if (kWhat == kMufu || kWhat == kFfma) return bits(s.x[15]);
    return s.words[15][0];
}

// stamps[warp][repeat]: cycles until all firsts are issued, and until the second's result is there.
template <int kFirst, int kFirsts, int kSecond>
DEVICE void behind(u32* stamps, int smsps, u32 seed) {
    __shared__ __align__(128) u32 words[8192];
    for (u32 i = threadIdx.x; i < 8192; i += blockDim.x) words[i] = i;
    __syncthreads();
    if (!takes_part(smsps)) return;
    State s;
    s.slow = shared_address(words) + lane_id() * 128, s.fast = shared_address(words) + lane_id() * 16, s.value = seed;
#pragma unroll
    for (int i = 0; i < 16; ++i) {
        s.x[i] = seed + i;
        for (int j = 0; j < 4; ++j) s.words[i][j] = seed + i;
    }
    u32 left = 0;
#pragma unroll 1
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
        __syncwarp();
        const u64 resting = cycles();
        while (cycles() - resting < 1000) {}
        const u64 begin = cycles();
#pragma unroll
        for (int i = 0; i < kFirsts; ++i) issue<kFirst>(s, i % 15);
        const u64 issued = cycles();
        issue<kSecond>(s, 15);
        u64 end;
        // The clock is read behind a branch on the result: nothing else makes it wait.
        if (result<kSecond>(s) != 0x9e3779b9u) end = cycles(); else end = 0;
        if (lane_id() == 0) {
            stamps[2 * (warp_id() * kRepeats + repeat)] = static_cast<u32>(issued - begin);
            stamps[2 * (warp_id() * kRepeats + repeat) + 1] = static_cast<u32>(end - begin);
        }
        left ^= static_cast<u32>(end);
    }
#pragma unroll
    for (int i = 0; i < 16; ++i) left ^= bits(s.x[i]);
    if (seed == 0x9e3779b9u) stamps[0] = left ^ fold(s.words);
}

#define BEHIND(FIRST, FIRSTS, SECOND)                                                            \
    extern "C" __global__ void __launch_bounds__(128) behind_##FIRST##_##FIRSTS##_##SECOND(      \
        u32* stamps, int smsps, u32 seed) {                                                      \
        behind<FIRST, FIRSTS, SECOND>(stamps, smsps, seed);                                      \
    }
#define COUNTS(FIRST, SECOND)                                                                    \
    BEHIND(FIRST, 0, SECOND) BEHIND(FIRST, 1, SECOND) BEHIND(FIRST, 2, SECOND)                   \
    BEHIND(FIRST, 4, SECOND) BEHIND(FIRST, 8, SECOND) BEHIND(FIRST, 15, SECOND)
#define SECONDS(FIRST)                                                                           \
    COUNTS(FIRST, 0) COUNTS(FIRST, 2) COUNTS(FIRST, 3) COUNTS(FIRST, 4) COUNTS(FIRST, 5)
SECONDS(0) SECONDS(1) SECONDS(2) SECONDS(3) SECONDS(4) SECONDS(5)
