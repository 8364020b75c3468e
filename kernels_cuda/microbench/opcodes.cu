// Latencies and intervals of instructions by opcode, pairs of opcodes that may share a pipe, and loads of indexed constants.
#include "common.cuh"

#define OPERATION(NAME, TYPE, CONSTRAINT, TEXT)                                                \
    struct op_##NAME {                                                                         \
        using State = TYPE;                                                                    \
        static DEVICE void apply(TYPE& x, TYPE y, TYPE z) {                                    \
            asm volatile(TEXT : "+" CONSTRAINT(x) : CONSTRAINT(y), CONSTRAINT(z));             \
        }                                                                                      \
    };
#define WORD(NAME, TEXT) OPERATION(NAME, u32, "r", TEXT)
#define LONG(NAME, TEXT) OPERATION(NAME, u64, "l", TEXT)
#define FLOAT(NAME, TEXT) OPERATION(NAME, float, "f", TEXT)
#define DOUBLE(NAME, TEXT) OPERATION(NAME, double, "d", TEXT)

DOUBLE(dadd, "add.rn.f64 %0, %0, %1;")
DOUBLE(dmul, "mul.rn.f64 %0, %0, %1;")
DOUBLE(dfma, "fma.rn.f64 %0, %0, %1, %2;")
DOUBLE(dsetp_fsel, "{.reg .pred p; setp.lt.f64 p, %0, %2; selp.f64 %0, %1, %2, p;}")
DOUBLE(dsetp_dadd, "{.reg .pred p; setp.lt.f64 p, %0, %2; @p add.rn.f64 %0, %0, %1;}")
DOUBLE(frnd_f64, "cvt.rni.f64.f64 %0, %0;")
DOUBLE(rcp64h, "rcp.approx.ftz.f64 %0, %0;")
DOUBLE(rsq64h, "rsqrt.approx.ftz.f64 %0, %0;")

FLOAT(ffma, "fma.rn.f32 %0, %0, %1, %2;")
FLOAT(fmul, "mul.rn.f32 %0, %0, %1;")
FLOAT(mufu_ex2, "ex2.approx.ftz.f32 %0, %0;")
FLOAT(mufu_lg2, "lg2.approx.ftz.f32 %0, %0;")
FLOAT(mufu_rsq, "rsqrt.approx.ftz.f32 %0, %0;")
FLOAT(mufu_sqrt, "sqrt.approx.ftz.f32 %0, %0;")
FLOAT(mufu_tanh, "tanh.approx.f32 %0, %0;")
FLOAT(fmul_mufu_sin, "sin.approx.ftz.f32 %0, %0;")
FLOAT(frnd, "cvt.rni.f32.f32 %0, %0;")
FLOAT(div_rn, "div.rn.f32 %0, %0, %1;")
FLOAT(fsetp_fadd, "{.reg .pred p; setp.lt.f32 p, %0, %2; @p add.rn.f32 %0, %0, %1;}")

WORD(i2fp, "{.reg .f32 f; cvt.rn.f32.s32 f, %0; mov.b32 %0, f;}")
WORD(i2f_s64, "{.reg .f32 f; .reg .b64 d; mov.b64 d, {%0, %1}; cvt.rn.f32.s64 f, d; mov.b32 %0, f;}")
WORD(i2f_f64, "{.reg .f64 f; .reg .b32 low; cvt.rn.f64.s32 f, %0; mov.b64 {low, %0}, f;}")
LONG(i2f_f64_s64, "{.reg .f64 f; cvt.rn.f64.s64 f, %0; mov.b64 %0, f;}")
WORD(f2i, "{.reg .f32 f; mov.b32 f, %0; cvt.rzi.s32.f32 %0, f;}")
WORD(f2i_s64, "{.reg .f32 f; .reg .b64 d; .reg .b32 high; mov.b32 f, %0; cvt.rzi.s64.f32 d, f; mov.b64 {%0, high}, d;}")
DOUBLE(f2i_f64, "{.reg .b32 low, high, i; mov.b64 {low, high}, %0; cvt.rzi.s32.f64 i, %0; mov.b64 %0, {i, high};}")
LONG(f2i_f64_s64, "{.reg .f64 f; mov.b64 f, %0; cvt.rzi.s64.f64 %0, f;}")
WORD(f2f_f64_f32, "{.reg .f32 f; .reg .f64 d; .reg .b32 low; mov.b32 f, %0; cvt.f64.f32 d, f; mov.b64 {low, %0}, d;}")
DOUBLE(f2f_f32_f64, "{.reg .b32 low, high; .reg .f32 f; mov.b64 {low, high}, %0; cvt.rn.f32.f64 f, %0; mov.b64 %0, {f, high};}")
WORD(f2f_f32_f16, "{.reg .f32 f; .reg .b16 h, g; mov.b32 {h, g}, %0; cvt.f32.f16 f, h; mov.b32 %0, f;}")

WORD(popc, "popc.b32 %0, %0;")
WORD(flo, "bfind.u32 %0, %0;")
WORD(brev, "brev.b32 %0, %0;")
WORD(lop3, "lop3.b32 %0, %0, %1, %2, 0x96;")
WORD(iadd3, "{.reg .u32 t; add.u32 t, %0, %1; add.u32 %0, t, %2;}")
WORD(sgxt, "szext.wrap.s32 %0, %0, %1;")
WORD(shf, "shf.l.wrap.b32 %0, %0, %1, %2;")
WORD(prmt, "prmt.b32 %0, %0, %1, %2;")
WORD(imad, "mad.lo.s32 %0, %0, %1, %2;")
WORD(imad_hi, "mad.hi.u32 %0, %0, %1, %2;")
WORD(idp_4a, "dp4a.s32.s32 %0, %0, %1, %2;")
WORD(idp_2a, "dp2a.lo.s32.s32 %0, %0, %1, %2;")
LONG(imad_wide, "{.reg .u32 low, high, own, none; mov.b64 {low, high}, %0; mov.b64 {own, none}, %1; mul.wide.u32 %0, high, own;}")

WORD(hadd2, "add.rn.f16x2 %0, %0, %1;")
WORD(hfma2, "fma.rn.f16x2 %0, %0, %1, %2;")
WORD(hfma2_bf16, "fma.rn.bf16x2 %0, %0, %1, %2;")
WORD(mufu_ex2_f16x2, "ex2.approx.f16x2 %0, %0;")

WORD(shfl, "shfl.sync.bfly.b32 %0, %0, 1, 31, 0xffffffff;")
WORD(shfl_idx, "shfl.sync.idx.b32 %0, %0, %1, 31, 0xffffffff;")
WORD(redux_add, "redux.sync.add.s32 %0, %0, 0xffffffff;")
WORD(redux_min, "redux.sync.min.s32 %0, %0, 0xffffffff;")
WORD(redux_or, "redux.sync.or.b32 %0, %0, 0xffffffff;")
WORD(match_any, "match.any.sync.b32 %0, %0, 0xffffffff;")
WORD(match_all, "{.reg .pred p; match.all.sync.b32 %0|p, %0, 0xffffffff;}")
WORD(isetp_vote, "{.reg .pred p; setp.lt.u32 p, %0, %1; vote.sync.ballot.b32 %0, p, 0xffffffff;}")

// The state and the operands of a lane: `spread` times its number, and values of which no two lanes have the same.
template <class Operation>
struct Operands {
    using State = typename Operation::State;
    State y, z;
    DEVICE Operands(u32 from_y, u32 from_z) : y(static_cast<State>(from_y + lane_id())), z(static_cast<State>(from_z ^ lane_id())) {}
};

template <class Operation, int kIlp>
DEVICE void chains(u64* spans, int iterations, u32 y, u32 z, u32 spread, int smsps) {
    typename Operation::State x[1][kIlp];
#pragma unroll
    for (int i = 0; i < kIlp; ++i) x[0][i] = static_cast<typename Operation::State>(lane_id() * spread + i);
    const Operands<Operation> of(y, z);
    __syncthreads();
    if (!takes_part(smsps)) return;
    const u64 begin = cycles();
#pragma unroll 1
    for (int iteration = 0; iteration < iterations; ++iteration) {
#pragma unroll
        for (int round = 0; round < 32 / kIlp; ++round) {
#pragma unroll
            for (int i = 0; i < kIlp; ++i) Operation::apply(x[0][i], of.y, of.z);
        }
    }
    const u64 end = cycles();
    record(spans, begin, end, fold(x));
}

#define CHAINS(NAME, ILP)                                                                                                    \
    extern "C" __global__ void __launch_bounds__(1024) NAME##_##ILP(u64* spans, int iterations, u32 y, u32 z, u32 spread, int smsps) { \
        chains<op_##NAME, ILP>(spans, iterations, y, z, spread, smsps);                                                      \
    }
#define EACH(NAME) CHAINS(NAME, 1) CHAINS(NAME, 8)
EACH(dadd) EACH(dmul) EACH(dfma) EACH(dsetp_dadd) EACH(dsetp_fsel) EACH(frnd_f64) EACH(rcp64h) EACH(rsq64h)
EACH(ffma) EACH(fmul) EACH(mufu_ex2) EACH(mufu_lg2) EACH(mufu_rsq) EACH(mufu_sqrt) EACH(mufu_tanh) EACH(fmul_mufu_sin) EACH(frnd)
EACH(div_rn) EACH(fsetp_fadd)
EACH(i2fp) EACH(i2f_s64) EACH(i2f_f64) EACH(i2f_f64_s64) EACH(f2i) EACH(f2i_s64) EACH(f2i_f64) EACH(f2i_f64_s64)
EACH(f2f_f64_f32) EACH(f2f_f32_f64) EACH(f2f_f32_f16)
EACH(popc) EACH(flo) EACH(brev) EACH(lop3) EACH(iadd3) EACH(sgxt) EACH(shf) EACH(prmt)
EACH(imad) EACH(imad_hi) EACH(idp_4a) EACH(idp_2a) EACH(imad_wide)
EACH(hadd2) EACH(hfma2) EACH(hfma2_bf16) EACH(mufu_ex2_f16x2)
EACH(shfl) EACH(shfl_idx) EACH(redux_add) EACH(redux_min) EACH(redux_or) EACH(match_any) EACH(match_all) EACH(isetp_vote)

// Rounds of one instruction and kOthers of another kind, all independent of their neighbours: if both use one pipe, or one
// dispatch port, their cycles add up.
template <class One, class Other, int kOthers>
DEVICE void pair(u64* spans, int iterations, u32 y, u32 z, int smsps) {
    typename One::State one[1][4];
    typename Other::State others[1][8];
#pragma unroll
    for (int i = 0; i < 4; ++i) one[0][i] = static_cast<typename One::State>(lane_id() + i);
#pragma unroll
    for (int i = 0; i < 8; ++i) others[0][i] = static_cast<typename Other::State>(lane_id() + i);
    const Operands<One> of_one(y, z);
    const Operands<Other> of_others(y, z);
    __syncthreads();
    if (!takes_part(smsps)) return;
    const u64 begin = cycles();
#pragma unroll 1
    for (int iteration = 0; iteration < iterations; ++iteration) {
#pragma unroll
        for (int round = 0; round < 8; ++round) {
            One::apply(one[0][round % 4], of_one.y, of_one.z);
#pragma unroll
            for (int i = 0; i < kOthers; ++i) Other::apply(others[0][(round * kOthers + i) % 8], of_others.y, of_others.z);
        }
    }
    const u64 end = cycles();
    record(spans, begin, end, fold(one) ^ fold(others));
}

#define PAIR(ONE, OTHER, OTHERS)                                                                                         \
    extern "C" __global__ void __launch_bounds__(1024) pair_##ONE##_##OTHER##_##OTHERS(u64* spans, int iterations, u32 y, u32 z, int smsps) { \
        pair<op_##ONE, op_##OTHER, OTHERS>(spans, iterations, y, z, smsps);                                              \
    }
#define PAIRS(ONE, OTHER) PAIR(ONE, OTHER, 1) PAIR(ONE, OTHER, 2) PAIR(ONE, OTHER, 4) PAIR(ONE, OTHER, 8)
PAIRS(dfma, ffma) PAIRS(dfma, imad) PAIRS(dfma, lop3) PAIRS(dfma, mufu_ex2) PAIRS(dfma, dadd) PAIRS(dfma, hfma2)
PAIRS(mufu_ex2, ffma) PAIRS(mufu_ex2, lop3) PAIRS(mufu_ex2, i2f_s64) PAIRS(mufu_ex2, f2i) PAIRS(mufu_ex2, frnd)
PAIRS(mufu_ex2, f2f_f64_f32) PAIRS(mufu_ex2, popc) PAIRS(mufu_ex2, flo) PAIRS(mufu_ex2, brev) PAIRS(mufu_ex2, shfl)
PAIRS(mufu_ex2, redux_add) PAIRS(mufu_ex2, match_any) PAIRS(f2f_f64_f32, dfma) PAIRS(f2i, lop3) PAIRS(popc, lop3)
PAIRS(idp_4a, imad) PAIRS(idp_4a, ffma) PAIRS(idp_4a, lop3) PAIRS(imad_wide, imad) PAIRS(imad_wide, ffma) PAIRS(imad_wide, lop3)
PAIRS(imad_hi, imad) PAIRS(imad_hi, ffma) PAIRS(imad_hi, lop3) PAIRS(hfma2, ffma) PAIRS(hfma2, imad) PAIRS(hfma2, lop3)
PAIRS(isetp_vote, lop3) PAIRS(redux_add, lop3) PAIRS(redux_add, shfl) PAIRS(match_any, shfl) PAIRS(shfl, lop3)
PAIRS(iadd3, lop3) PAIRS(iadd3, ffma) PAIRS(imad, ffma) PAIRS(imad, lop3) PAIRS(hadd2, ffma)

#define FOUR(N) (N), (N) + 4, (N) + 8, (N) + 12
#define SIXTEEN(N) FOUR(N), FOUR((N) + 16), FOUR((N) + 32), FOUR((N) + 48)
#define SIXTY_FOUR(N) SIXTEEN(N), SIXTEEN((N) + 64), SIXTEEN((N) + 128), SIXTEEN((N) + 192)
#define ALL(N) SIXTY_FOUR(N), SIXTY_FOUR((N) + 256), SIXTY_FOUR((N) + 512), SIXTY_FOUR((N) + 768)
// The only constants of this file, so at offset 0 of their bank: each word is its own address.
__constant__ u32 offsets[256] = {ALL(0)};

// Loads of a constant at the address that the last one returned. `lanes` lanes side by side load one word, and words are
// `step` bytes apart.
template <int kIlp>
DEVICE void indexed(u64* spans, int iterations, u32 lanes, u32 step, int smsps) {
    u32 x[1][kIlp];
#pragma unroll
    for (int i = 0; i < kIlp; ++i) x[0][i] = offsets[lane_id() / lanes * step / 4];
    __syncthreads();
    if (!takes_part(smsps)) return;
    const u64 begin = cycles();
#pragma unroll 1
    for (int iteration = 0; iteration < iterations; ++iteration) {
#pragma unroll
        for (int round = 0; round < 32 / kIlp; ++round) {
#pragma unroll
            for (int i = 0; i < kIlp; ++i) asm volatile("ld.const.u32 %0, [%1];" : "=r"(x[0][i]) : "l"(static_cast<u64>(x[0][i])));
        }
    }
    const u64 end = cycles();
    record(spans, begin, end, fold(x));
}
extern "C" __global__ void __launch_bounds__(1024) indexed_1(u64* spans, int iterations, u32 lanes, u32 step, int smsps) {
    indexed<1>(spans, iterations, lanes, step, smsps);
}
extern "C" __global__ void __launch_bounds__(1024) indexed_8(u64* spans, int iterations, u32 lanes, u32 step, int smsps) {
    indexed<8>(spans, iterations, lanes, step, smsps);
}
