// What of the memory system keeps its own clock while tensor cores slow that of the SMs down.
#include "common.cuh"

enum What { kChaseAll = 0, kChaseL2 = 1, kStreamL2 = 2, kStoreL2 = 3 };

enum State { kWarm = 0, kTimed = 1, kDone = 2 };  // of the warps that go through data

// Batches of 64 mma.sync, one each `period` cycles at most, until the CTA's other warps are done. Returns how many there
// have been since their clocks were read.
DEVICE u64 multiply(volatile u32* state, u64 period, u32& folded) {
    float sums[16][4] = {};
    u32 operands[8];
    random_fractions(operands, blockIdx.x * 256 + threadIdx.x);
    u64 batches = 0, next = cycles();
    bool timed = false;
#pragma unroll 1
    for (u32 now = kWarm; now != kDone; now = *state) {
        if (now == kTimed && !timed) timed = true, batches = 0;
        if (period != 0 && cycles() < next) continue;
        next += period;
#pragma unroll
        for (int i = 0; i < 64; ++i) {
            float(&c)[4] = sums[i % 16];
            const u32* m = operands + i / 8 % 2 * 4;
            const u32* n = operands + i % 4 * 2;
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                         : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                         : "r"(m[0]), "r"(m[1]), "r"(m[2]), "r"(m[3]), "r"(n[0]), "r"(n[1]));
        }
        ++batches;
    }
    folded = fold(sums);
    return batches;
}

// Four warps multiply; the first thread of the others follows pointers from its CTA's start, or all of them read or store
// 16 bytes of eight places a step from there, `trips` times. stamps[CTA][4]: cycles and nanoseconds of the others' first
// warp, batches of the first multiplying warp meanwhile, and 0.
template <int kWhat>
DEVICE void domains(u64* stamps, const u64* starts, u32 bytes_per_cta, int trips, u64 period, int multiplying) {
    __shared__ u32 state;
    if (threadIdx.x == 0) state = kWarm;
    __syncthreads();
    u64* mine = stamps + blockIdx.x * 4;
    if (threadIdx.x < 128) {
        if (!multiplying) return;
        u32 folded = 0;
        const u64 batches = multiply(&state, period, folded);
        if (threadIdx.x == 0) mine[2] = batches;
        if (folded == 0x9e3779b9u) mine[3] = folded;
        return;
    }
    const u32 thread = threadIdx.x - 128, threads = blockDim.x - 128;
    const u64 base = starts[blockIdx.x];
    volatile u32* told = &state;
    u32 folded = 0;
    u64 begin = 0, from = 0;
    if (kWhat == kChaseAll || kWhat == kChaseL2) {
        if (thread == 0) {
            u64 address = base;
#pragma unroll 1
            for (int hop = -256; hop < trips; ++hop) {
                if (hop == 0) *told = kTimed, begin = cycles() + (address == 0), from = nanoseconds();
                if (kWhat == kChaseAll) asm volatile("ld.global.u64 %0, [%1];" : "=l"(address) : "l"(address) : "memory");
                else asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(address) : "l"(address) : "memory");
            }
            folded = address == 0;
        }
    } else {
        const u64 first = base + thread * 16;
        const u32 step = threads * 16;
#pragma unroll 1
        for (int pass = -1; pass < trips; ++pass) {
            if (pass == 0) *told = kTimed, begin = cycles(), from = nanoseconds();
#pragma unroll 1
            for (u32 at = 0; at < bytes_per_cta; at += 8 * step) {
                u32 r[8][4];
#pragma unroll
                for (int i = 0; i < 8; ++i) {
                    if (kWhat == kStoreL2)
                        asm volatile("st.global.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(first + at + i * step), "r"(1), "r"(2), "r"(3), "r"(thread) : "memory");
                    else
                        asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(r[i][0]), "=r"(r[i][1]), "=r"(r[i][2]), "=r"(r[i][3]) : "l"(first + at + i * step) : "memory");
                }
                if (kWhat == kStreamL2) folded ^= fold(r);
            }
        }
    }
    const u64 end = cycles() + (folded == 0x9e3779b9u), until = nanoseconds();
    asm volatile("bar.sync 1, %0;" ::"r"(threads) : "memory");
    if (thread == 0) {
        mine[0] = end - begin, mine[1] = until - from;
        *told = kDone;
    }
    if (folded == 0x9e3779b9u) mine[3] = folded;
}

#define DOMAINS(WHAT)                                                                                                  \
    extern "C" __global__ void __launch_bounds__(640) domains_##WHAT(u64* s, const u64* from, u32 bytes, int trips,    \
                                                                     u64 period, int multiplying) {                  \
        domains<WHAT>(s, from, bytes, trips, period, multiplying);                                                     \
    }
DOMAINS(0) DOMAINS(1) DOMAINS(2) DOMAINS(3)
