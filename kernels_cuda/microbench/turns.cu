// Whose turn it is: how far each warp of an SMSP has come while all of them issue the same instructions.
#include "common.cuh"

enum What { kFfma = 0, kLop3 = 1, kMma = 2, kLdmatrix = 3, kMmaAndLop3 = 4 };

constexpr int kStamps = 5;

template <int kWhat>
DEVICE void round_of(float (&x)[8][4], u32 (&y)[4][4], u32 address, u32 operand) {
#pragma unroll
    for (int i = 0; i < 32; ++i) {
        float(&c)[4] = x[i % 8];
        u32(&r)[4] = y[i % 4];
        if (kWhat == kFfma) asm volatile("fma.rn.f32 %0, %0, %1, %0;" : "+f"(c[0]) : "f"(0.5f));
        if (kWhat == kLop3 || kWhat == kMmaAndLop3)
            asm volatile("lop3.b32 %0, %0, %1, %2, 0x96;" : "+r"(y[i % 4][i / 4 % 4]) : "r"(operand), "r"(operand + 7));
        if (kWhat == kMma || (kWhat == kMmaAndLop3 && i % 4 == 0)) {
            float(&d)[4] = kWhat == kMma ? c : x[i / 4 % 8];
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                         : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                         : "r"(operand), "r"(operand + 1), "r"(operand + 2), "r"(operand + 3), "r"(operand + 4), "r"(operand + 5));
        }
        if (kWhat == kLdmatrix)
            ldmatrix_x4(r, address + i % 8 * 512);
    }
}

// stamps[warp * 5 + i]: the clock when the warp has done i quarters of its rounds.
template <int kWhat>
DEVICE void turns(u64* stamps, int quarter) {
    __shared__ __align__(128) u32 words[2048];
    for (u32 i = threadIdx.x; i < 2048; i += blockDim.x) words[i] = i;
    const u32 address = shared_address(words) + lane_id() * 16, operand = threadIdx.x;
    float x[8][4] = {};
    u32 y[4][4] = {};
    u64 seen[kStamps];
    __syncthreads();
    seen[0] = cycles();
#pragma unroll
    for (int i = 1; i < kStamps; ++i) {
#pragma unroll 1
        for (int round = 0; round < quarter; ++round) round_of<kWhat>(x, y, address, operand);
        seen[i] = cycles();
    }
    if (lane_id() == 0)
        for (int i = 0; i < kStamps; ++i) stamps[warp_id() * kStamps + i] = seen[i];
    if (seen[0] == seen[kStamps - 1]) stamps[0] = fold(x) ^ fold(y);
}

#define TURNS(NAME, WHAT) \
    extern "C" __global__ void __launch_bounds__(512) turns_##NAME(u64* stamps, int quarter) { turns<WHAT>(stamps, quarter); }
TURNS(ffma, kFfma) TURNS(lop3, kLop3) TURNS(mma, kMma) TURNS(ldmatrix, kLdmatrix) TURNS(mma_and_lop3, kMmaAndLop3)
