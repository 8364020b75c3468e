// What instructions of two pipes take of an SMSP's dispatch: each warp issues both in turn, none waiting for another.
#include "common.cuh"

// Operands of arithmetic are registers, as many as the name's digit says; the others are immediates.
enum What { kNone = 0, kMma = 1, kLop1 = 2, kLop3 = 3, kFfma1 = 4, kFfma3 = 5, kImad1 = 6, kImad3 = 7, kIadd3 = 8, kLdmatrix = 9, kMmaDistinct = 10, kIsetp = 11 };

struct State {
    float sums[8][4], x[8], y[8];
    u32 r[8], s[8], words[8][4], a[8], address;
};

template <int kWhat>
DEVICE void issue(State& s, int i) {
    const int k = i % 8;
    float(&c)[4] = s.sums[k];
    if (kWhat == kMma || kWhat == kMmaDistinct) {
        const int base = kWhat == kMma ? 0 : i % 2;
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "r"(s.words[base][0]), "r"(s.words[base][1]), "r"(s.words[base][2]), "r"(s.words[base][3]),
                       "r"(s.a[2 * base]), "r"(s.a[2 * base + 1]));
    }
    if (kWhat == kLop1) asm volatile("xor.b32 %0, %0, 0x55;" : "+r"(s.r[k]));
    if (kWhat == kLop3) asm volatile("lop3.b32 %0, %0, %1, %2, 0x96;" : "+r"(s.r[k]) : "r"(s.s[k]), "r"(s.s[(k + 1) % 8]));
    if (kWhat == kFfma1) asm volatile("fma.rn.f32 %0, %0, 0f3F000000, 0f3E800000;" : "+f"(s.x[k]));
    if (kWhat == kFfma3) asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(s.x[k]) : "f"(s.y[k]), "f"(s.y[(k + 1) % 8]));
    if (kWhat == kImad1) asm volatile("mad.lo.u32 %0, %0, 5, 7;" : "+r"(s.r[k]));
    if (kWhat == kImad3) asm volatile("mad.lo.u32 %0, %0, %1, %2;" : "+r"(s.r[k]) : "r"(s.s[k]), "r"(s.s[(k + 1) % 8]));
    if (kWhat == kIadd3) asm volatile("{ .reg .u32 t; add.u32 t, %0, %1; add.u32 %0, t, %2; }" : "+r"(s.r[k]) : "r"(s.s[k]), "r"(s.s[(k + 1) % 8]));
    if (kWhat == kIsetp) asm volatile("{ .reg .pred p; setp.lt.u32 p, %0, %1; @p add.u32 %0, %0, %1; }" : "+r"(s.r[k]) : "r"(s.s[k]));
    if (kWhat == kLdmatrix)
        ldmatrix_x4(s.words[k], s.address + k * 512);
}

template <int kFirst, int kFirsts, int kSecond, int kSeconds>
DEVICE void dispatch(u64* spans, int trips, u32 seed) {
    __shared__ __align__(128) u32 words[2048];
    State s;
    s.address = shared_address(words) + lane_id() * 16;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        s.x[i] = seed + i, s.y[i] = seed * i + threadIdx.x, s.r[i] = seed * 3 + i + threadIdx.x, s.s[i] = (seed + threadIdx.x) * (7 + i), s.a[i] = seed + i * threadIdx.x;
        for (int j = 0; j < 4; ++j) s.sums[i][j] = 0, s.words[i][j] = seed * i + j + threadIdx.x;
    }
    for (u32 i = threadIdx.x; i < 2048; i += blockDim.x) words[i] = i;
    __syncthreads();
    const u64 begin = cycles();
#pragma unroll 1
    for (int trip = 0; trip < trips; ++trip) {
#pragma unroll
        for (int slot = 0; slot < kFirsts + kSeconds; ++slot) {
            const int first = slot * kFirsts / (kFirsts + kSeconds), second = slot - first;
            if ((slot + 1) * kFirsts / (kFirsts + kSeconds) > first) issue<kFirst>(s, first);
            else issue<kSecond>(s, second);
        }
    }
    const u64 end = cycles();
    u32 left = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) left ^= bits(s.x[i]) ^ s.r[i];
    record(spans, begin, end, left ^ fold(s.sums) ^ fold(s.words));
}

#define DISPATCH(FIRST, FIRSTS, SECOND, SECONDS)                                                            \
    extern "C" __global__ void __launch_bounds__(512) dispatch_##FIRST##_##FIRSTS##_##SECOND##_##SECONDS(   \
        u64* spans, int trips, u32 seed) {                                                                  \
        dispatch<FIRST, FIRSTS, SECOND, SECONDS>(spans, trips, seed);                                       \
    }
#define WITH(FIRST, SECOND) DISPATCH(FIRST, 16, SECOND, 8) DISPATCH(FIRST, 16, SECOND, 16) DISPATCH(FIRST, 16, SECOND, 32) DISPATCH(FIRST, 16, SECOND, 64)
#define WITH_ALL(FIRST) \
    DISPATCH(FIRST, 16, 0, 0) WITH(FIRST, 2) WITH(FIRST, 3) WITH(FIRST, 4) WITH(FIRST, 5) WITH(FIRST, 6) WITH(FIRST, 7) WITH(FIRST, 8) WITH(FIRST, 11)
WITH_ALL(1) WITH_ALL(10) DISPATCH(1, 16, 9, 8) DISPATCH(1, 16, 9, 16) DISPATCH(10, 16, 9, 4)
DISPATCH(2, 16, 0, 0) DISPATCH(3, 16, 0, 0) DISPATCH(4, 16, 0, 0) DISPATCH(5, 16, 0, 0) DISPATCH(6, 16, 0, 0) DISPATCH(7, 16, 0, 0) DISPATCH(8, 16, 0, 0) DISPATCH(11, 16, 0, 0)
WITH(2, 4) WITH(2, 6) WITH(3, 5) WITH(3, 7) WITH(4, 6) WITH(2, 9) WITH(4, 9)
