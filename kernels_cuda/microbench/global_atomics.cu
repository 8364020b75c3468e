// Atomics in global memory by operation and pattern: lanes at one word, words of a line, lines, and SMs at the same lines.
#include "common.cuh"

#define ATOMIC(NAME, TYPE, C, ATOM, RED)                                                                    \
    struct op_##NAME {                                                                                      \
        using Value = TYPE;                                                                                 \
        static DEVICE TYPE atom(u64 at, TYPE value) {                                                       \
            TYPE old;                                                                                       \
            asm volatile(ATOM : "=" C(old) : "l"(at), C(value) : "memory");                                 \
            return old;                                                                                     \
        }                                                                                                   \
        static DEVICE void red(u64 at, TYPE value) { asm volatile(RED ::"l"(at), C(value) : "memory"); }    \
    };

ATOMIC(add_u32, u32, "r", "atom.global.add.u32 %0, [%1], %2;", "red.global.add.u32 [%0], %1;")
ATOMIC(min_s32, u32, "r", "atom.global.min.s32 %0, [%1], %2;", "red.global.min.s32 [%0], %1;")
ATOMIC(add_u64, u64, "l", "atom.global.add.u64 %0, [%1], %2;", "red.global.add.u64 [%0], %1;")
ATOMIC(add_f32, float, "f", "atom.global.add.f32 %0, [%1], %2;", "red.global.add.f32 [%0], %1;")
ATOMIC(add_f64, double, "d", "atom.global.add.f64 %0, [%1], %2;", "red.global.add.f64 [%0], %1;")
ATOMIC(add_f16x2, u32, "r", "atom.global.add.noftz.f16x2 %0, [%1], %2;", "red.global.add.noftz.f16x2 [%0], %1;")
ATOMIC(add_bf16x2, u32, "r", "atom.global.add.noftz.bf16x2 %0, [%1], %2;", "red.global.add.noftz.bf16x2 [%0], %1;")
ATOMIC(exch_b32, u32, "r", "atom.global.exch.b32 %0, [%1], %2;", "{.reg .b32 old; atom.global.exch.b32 old, [%0], %1;}")
ATOMIC(cas_b32, u32, "r", "atom.global.cas.b32 %0, [%1], %2, %2;", "{.reg .b32 old; atom.global.cas.b32 old, [%0], %1, %1;}")
ATOMIC(cas_b64, u64, "l", "atom.global.cas.b64 %0, [%1], %2, %2;", "{.reg .b64 old; atom.global.cas.b64 old, [%0], %1, %1;}")

enum Result { kDependent, kReturned, kDropped };
constexpr int kUnrolled = 8;
constexpr u32 kNever = 0x9e3779b9;  // no result is that

// `lanes` lanes side by side are at one word, and words are `step` bytes apart. The words of a warp begin warp_bytes behind
// those of the one before, and those of a CTA cta_bytes. Each atomic goes on by `along` bytes, within `span`, a power of two.
template <class Operation, Result kResult>
DEVICE void atomics(u64* spans, char* data, int trips, u32 lanes, u32 step, u32 warp_bytes, u32 cta_bytes, u32 along, u32 span) {
    using Value = typename Operation::Value;
    const u64 first = __cvta_generic_to_global(data) + static_cast<u64>(blockIdx.x) * cta_bytes + warp_id() * warp_bytes + lane_id() / lanes * step;
    Value value[1][kUnrolled];
#pragma unroll
    for (int i = 0; i < kUnrolled; ++i) value[0][i] = static_cast<Value>(lane_id() + 1);
    const Value operand = value[0][0];
    u32 at = 0;
    __syncthreads();
    const u64 begin = cycles();
#pragma unroll 1
    for (int trip = 0; trip < trips; ++trip) {
#pragma unroll
        for (int i = 0; i < kUnrolled; ++i) {
            if (kResult == kDependent) value[0][0] = Operation::atom(first + at, value[0][0]);
            else if (kResult == kReturned) value[0][i] = Operation::atom(first + at, operand);
            else Operation::red(first + at, operand);
            at = (at + along) & (span - 1);
        }
    }
    const u32 result = fold(value);
    if (kResult == kDropped) __threadfence();
    branch_on(result ^ kNever);
    record(spans, begin, cycles(), result);
}

#define GLOBAL(RESULT, KIND, NAME)                                                                                        \
    extern "C" __global__ void __launch_bounds__(512) RESULT##_##NAME(                                                    \
        u64* spans, char* data, int trips, u32 lanes, u32 step, u32 warp_bytes, u32 cta_bytes, u32 along, u32 span) {     \
        atomics<op_##NAME, KIND>(spans, data, trips, lanes, step, warp_bytes, cta_bytes, along, span);                    \
    }
#define ATOMICS(NAME) GLOBAL(dependent, kDependent, NAME) GLOBAL(returned, kReturned, NAME) GLOBAL(dropped, kDropped, NAME)
ATOMICS(add_u32) ATOMICS(min_s32) ATOMICS(add_u64) ATOMICS(add_f32) ATOMICS(add_f64) ATOMICS(add_f16x2) ATOMICS(add_bf16x2)
ATOMICS(exch_b32) ATOMICS(cas_b32) ATOMICS(cas_b64)
