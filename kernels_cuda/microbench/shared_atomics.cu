// Atomics in shared memory by operation: how many lanes are at one word, how words lie in the banks, and who needs the result.
#include "common.cuh"

#define ATOMIC(NAME, TYPE, C, ATOM, RED)                                                                    \
    struct op_##NAME {                                                                                      \
        using Value = TYPE;                                                                                 \
        static DEVICE TYPE atom(u32 at, TYPE value) {                                                       \
            TYPE old;                                                                                       \
            asm volatile(ATOM : "=" C(old) : "r"(at), C(value) : "memory");                                 \
            return old;                                                                                     \
        }                                                                                                   \
        static DEVICE void red(u32 at, TYPE value) { asm volatile(RED ::"r"(at), C(value) : "memory"); }    \
    };

ATOMIC(add_u32, u32, "r", "atom.shared.add.u32 %0, [%1], %2;", "red.shared.add.u32 [%0], %1;")
ATOMIC(min_s32, u32, "r", "atom.shared.min.s32 %0, [%1], %2;", "red.shared.min.s32 [%0], %1;")
ATOMIC(exch_b32, u32, "r", "atom.shared.exch.b32 %0, [%1], %2;", "{.reg .b32 old; atom.shared.exch.b32 old, [%0], %1;}")
ATOMIC(cas_b32, u32, "r", "atom.shared.cas.b32 %0, [%1], %2, %2;", "{.reg .b32 old; atom.shared.cas.b32 old, [%0], %1, %1;}")
ATOMIC(add_u64, u64, "l", "atom.shared.add.u64 %0, [%1], %2;", "red.shared.add.u64 [%0], %1;")
ATOMIC(cas_b64, u64, "l", "atom.shared.cas.b64 %0, [%1], %2, %2;", "{.reg .b64 old; atom.shared.cas.b64 old, [%0], %1, %1;}")
ATOMIC(add_f32, float, "f", "atom.shared.add.f32 %0, [%1], %2;", "red.shared.add.f32 [%0], %1;")
ATOMIC(add_f64, double, "d", "atom.shared.add.f64 %0, [%1], %2;", "red.shared.add.f64 [%0], %1;")
ATOMIC(add_f16x2, u32, "r", "atom.shared.add.noftz.f16x2 %0, [%1], %2;", "red.shared.add.noftz.f16x2 [%0], %1;")

// An increment has no operand from a register: ATOMS.POPC.INC.
struct op_inc {
    using Value = u32;
    static DEVICE u32 atom(u32 at, u32) {
        u32 old;
        asm volatile("atom.shared.add.u32 %0, [%1], 1;" : "=r"(old) : "r"(at) : "memory");
        return old;
    }
    static DEVICE void red(u32 at, u32) { asm volatile("red.shared.add.u32 [%0], 1;" ::"r"(at) : "memory"); }
};

enum Result { kDependent, kReturned, kDropped };
constexpr int kUnrolled = 8;

// The word of this lane. `lanes` lanes side by side are at one word, and words are `step` bytes apart. The words of a warp are
// warp_bytes from those of the one before.
DEVICE u32 own_word(u32 lanes, u32 step, u32 warp_bytes) {
    extern __shared__ __align__(128) char words[];
    const u32 first = lane_id() / lanes * step + warp_id() * warp_bytes;
    *reinterpret_cast<u64*>(words + first / 8 * 8) = 0;
    __syncthreads();
    return shared_address(words) + first;
}

// Dependent: an operand is the last result, or the address waits for it if the operation has no operand (one LOP3 more).
template <class Operation, Result kResult, bool kOperand>
DEVICE void atomics(u64* spans, int trips, u32 lanes, u32 step, u32 warp_bytes, u32 zero) {
    using Value = typename Operation::Value;
    u32 at = own_word(lanes, step, warp_bytes);
    const u32 word = at;
    Value value[1][kUnrolled];
#pragma unroll
    for (int i = 0; i < kUnrolled; ++i) value[0][i] = static_cast<Value>(lane_id() + 1);
    const Value operand = value[0][0];
    const u64 begin = cycles();
#pragma unroll 1
    for (int trip = 0; trip < trips; ++trip) {
#pragma unroll
        for (int i = 0; i < kUnrolled; ++i) {
            if (kResult == kDependent) {
                value[0][0] = Operation::atom(at, value[0][0]);
                if (!kOperand) asm volatile("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(at) : "r"(bits(value[0][0])), "r"(zero), "r"(word));
            } else if (kResult == kReturned) {
                value[0][i] = Operation::atom(at, operand);
            } else {
                Operation::red(at, operand);
            }
        }
    }
    __syncthreads();
    const u64 end = cycles();
    record(spans, begin, end, fold(value));
}

#define ATOMICS(NAME, OPERAND)                                                                                                       \
    extern "C" __global__ void __launch_bounds__(1024) dependent_##NAME(u64* spans, int trips, u32 lanes, u32 step, u32 warp_bytes, u32 zero) { \
        atomics<op_##NAME, kDependent, OPERAND>(spans, trips, lanes, step, warp_bytes, zero);                                         \
    }                                                                                                                                \
    extern "C" __global__ void __launch_bounds__(1024) returned_##NAME(u64* spans, int trips, u32 lanes, u32 step, u32 warp_bytes, u32 zero) { \
        atomics<op_##NAME, kReturned, OPERAND>(spans, trips, lanes, step, warp_bytes, zero);                                        \
    }                                                                                                                                \
    extern "C" __global__ void __launch_bounds__(1024) dropped_##NAME(u64* spans, int trips, u32 lanes, u32 step, u32 warp_bytes, u32 zero) { \
        atomics<op_##NAME, kDropped, OPERAND>(spans, trips, lanes, step, warp_bytes, zero);                                         \
    }
ATOMICS(add_u32, true) ATOMICS(min_s32, true) ATOMICS(exch_b32, true) ATOMICS(cas_b32, true)
ATOMICS(add_u64, true) ATOMICS(cas_b64, true) ATOMICS(add_f32, true) ATOMICS(add_f64, true) ATOMICS(add_f16x2, true)
ATOMICS(inc, false)
