// Arithmetic latencies and intervals, loops, barriers, and how CTAs start.
#include "common.cuh"

#define OPERATION(NAME, TEXT)                                                                                     \
    struct op_##NAME {                                                                                            \
        static DEVICE void apply(u32& x, u32 y, u32 z) { asm volatile(TEXT : "+r"(x) : "r"(y), "r"(z)); }         \
    };

OPERATION(lop3, "lop3.b32 %0, %0, %1, %2, 0x96;")
OPERATION(imad, "mad.lo.s32 %0, %0, %1, %2;")
OPERATION(ffma, "{.reg .f32 x,y,z; mov.b32 x,%0; mov.b32 y,%1; mov.b32 z,%2; fma.rn.f32 x,x,y,z; mov.b32 %0,x;}")
OPERATION(fadd, "{.reg .f32 x,y; mov.b32 x,%0; mov.b32 y,%1; add.rn.f32 x,x,y; mov.b32 %0,x;}")
OPERATION(fmnmx, "{.reg .f32 x,y; mov.b32 x,%0; mov.b32 y,%1; max.f32 x,x,y; mov.b32 %0,x;}")
OPERATION(hfma2, "fma.rn.f16x2 %0, %0, %1, %2;")
OPERATION(mufu_ex2, "{.reg .f32 x; mov.b32 x,%0; ex2.approx.ftz.f32 x,x; mov.b32 %0,x;}")
OPERATION(mufu_rsq, "{.reg .f32 x; mov.b32 x,%0; rsqrt.approx.ftz.f32 x,x; mov.b32 %0,x;}")
OPERATION(f2fp, "{.reg .f32 x,y; mov.b32 x,%0; mov.b32 y,%1; cvt.rn.f16x2.f32 %0,x,y;}")
OPERATION(shfl, "shfl.sync.bfly.b32 %0, %0, 1, 31, 0xffffffff;")
OPERATION(shf, "shf.l.wrap.b32 %0, %0, %1, %2;")
OPERATION(prmt, "prmt.b32 %0, %0, %1, %2;")
OPERATION(popc, "popc.b32 %0, %0;")
OPERATION(isetp_sel, "{.reg .pred p; setp.lt.s32 p, %0, %1; selp.b32 %0, %1, %2, p;}")

template <class Operation, int kIlp>
DEVICE void arith_chains(u64* spans, int iterations, u32 y, u32 z, int smsps) {
    u32 x[1][kIlp];
#pragma unroll
    for (int i = 0; i < kIlp; ++i) x[0][i] = threadIdx.x * 3 + i;
    // Operands in vector registers, as most have them; from the constant bank they would be immediates of a kind.
    const u32 own_y = y + lane_id(), own_z = z ^ lane_id();
    __syncthreads();
    if (!takes_part(smsps)) return;
    const u64 begin = cycles();
#pragma unroll 1
    for (int iteration = 0; iteration < iterations; ++iteration) {
#pragma unroll
        for (int round = 0; round < 64 / kIlp; ++round) {
#pragma unroll
            for (int i = 0; i < kIlp; ++i) Operation::apply(x[0][i], own_y, own_z);
        }
    }
    const u64 end = cycles();
    record(spans, begin, end, fold(x));
}

#define ARITH(NAME)                                                                                               \
    extern "C" __global__ void __launch_bounds__(1024) NAME##_1(u64* spans, int iterations, u32 y, u32 z, int smsps) { \
        arith_chains<op_##NAME, 1>(spans, iterations, y, z, smsps);                                                    \
    }                                                                                                             \
    extern "C" __global__ void __launch_bounds__(1024) NAME##_8(u64* spans, int iterations, u32 y, u32 z, int smsps) { \
        arith_chains<op_##NAME, 8>(spans, iterations, y, z, smsps);                                                    \
    }
ARITH(lop3) ARITH(imad) ARITH(ffma) ARITH(fadd) ARITH(fmnmx) ARITH(hfma2) ARITH(mufu_ex2) ARITH(mufu_rsq)
ARITH(f2fp) ARITH(shfl) ARITH(shf) ARITH(prmt) ARITH(popc) ARITH(isetp_sel)

// A loop of kBody LOP3 and its own control: the branch's cost is what is left over.
template <int kBody>
DEVICE void loop(u64* spans, int iterations, u32 y, u32 z) {
    u32 x[1][2] = {{threadIdx.x, threadIdx.x + 1}};
    const u64 begin = cycles();
#pragma unroll 1
    for (int iteration = 0; iteration < iterations; ++iteration) {
#pragma unroll
        for (int i = 0; i < kBody; ++i) op_lop3::apply(x[0][i % 2], y, z);
    }
    const u64 end = cycles();
    record(spans, begin, end, fold(x));
}
#define LOOP(BODY)                                                                                                \
    extern "C" __global__ void loop_##BODY(u64* spans, int iterations, u32 y, u32 z) {                            \
        loop<BODY>(spans, iterations, y, z);                                                                      \
    }
LOOP(1) LOOP(2) LOOP(4) LOOP(8) LOOP(16) LOOP(32)

extern "C" __global__ void __launch_bounds__(1024) barriers(u64* spans, u32* sms, int iterations) {
    extern __shared__ u32 unused[];
    if (threadIdx.x == 0) sms[blockIdx.x] = sm_id();
    __syncthreads();
    const u64 begin = cycles();
#pragma unroll 1
    for (int iteration = 0; iteration < iterations; ++iteration) {
#pragma unroll
        for (int i = 0; i < 16; ++i) asm volatile("bar.sync 0;" ::: "memory");
    }
    const u64 end = cycles();
    record(spans, begin, end, unused[0]);
}

extern "C" __global__ void nothing() {}

// Of each CTA: its SM, the SM's counter and the chip's timer at its first instruction, the counter at its last.
extern "C" __global__ void __launch_bounds__(1024) cta_starts(u64* seen, int busy_cycles) {
    const u64 begin = cycles();
    const u64 time = nanoseconds();
    u64 now = begin;
    while (now - begin < static_cast<u64>(busy_cycles)) now = cycles();
    if (threadIdx.x == 0) {
        u64* to = seen + 4 * static_cast<u64>(blockIdx.x);
        to[0] = sm_id(), to[1] = begin, to[2] = time, to[3] = cycles();
    }
}

// Rounds of one MUFU and kOthers independent FFMA: what a MUFU costs the issue of the others.
template <int kOthers>
DEVICE void mixed(u64* spans, int iterations, u32 y, u32 z, int smsps) {
    u32 x[1][kOthers + 2];
#pragma unroll
    for (int i = 0; i < kOthers + 2; ++i) x[0][i] = threadIdx.x + i;
    __syncthreads();
    if (!takes_part(smsps)) return;
    const u64 begin = cycles();
#pragma unroll 1
    for (int iteration = 0; iteration < iterations; ++iteration) {
#pragma unroll
        for (int round = 0; round < 8; ++round) {
            op_mufu_ex2::apply(x[0][kOthers + round % 2], y, z);
#pragma unroll
            for (int i = 0; i < kOthers; ++i) op_ffma::apply(x[0][i], y, z);
        }
    }
    const u64 end = cycles();
    record(spans, begin, end, fold(x));
}
#define MIXED(OTHERS)                                                                                                   \
    extern "C" __global__ void __launch_bounds__(512) mufu_and_##OTHERS(u64* spans, int iterations, u32 y, u32 z, int smsps) { \
        mixed<OTHERS>(spans, iterations, y, z, smsps);                                                                  \
    }
MIXED(8) MIXED(12) MIXED(16) MIXED(24) MIXED(32)
