// Atomics in global memory whose lanes are at any words, repeated in any order.
#include "common.cuh"

constexpr int kUnrolled = 8;
constexpr u32 kWarpBytes = kUnrolled * 4096;
constexpr u32 kNever = 0x9e3779b9;  // no result is that

#define ADDITION(NAME, TYPE, C, SUFFIX)                                                                                        \
    struct add_##NAME {                                                                                                        \
        using Value = TYPE;                                                                                                    \
        static DEVICE TYPE atom(u64 at, TYPE value) {                                                                          \
            TYPE old;                                                                                                          \
            asm volatile("atom.global.add." SUFFIX " %0, [%1], %2;" : "=" C(old) : "l"(at), C(value) : "memory");             \
            return old;                                                                                                        \
        }                                                                                                                      \
        static DEVICE void red(u64 at, TYPE value) { asm volatile("red.global.add." SUFFIX " [%0], %1;" ::"l"(at), C(value) : "memory"); } \
    };
ADDITION(u32, u32, "r", "u32")
ADDITION(f32, float, "f", "f32")

enum Result { kDependent, kReturned, kDropped };

// words: the word of each lane, in the part of 4096 bytes that all lanes of an atomic are in. Atomics go on by `along` bytes, 0
// or a part. Every warp has parts of its own. The loads before the atomics bring their sectors into the L2.
template <class Addition, Result kResult>
DEVICE void repeats(u64* spans, char* data, const int* words, int trips, int along) {
    using Value = typename Addition::Value;
    const u64 at = __cvta_generic_to_global(data) + warp_id() * kWarpBytes + static_cast<u32>(words[lane_id()]) * 4;
    u32 brought[1][kUnrolled];
    Value value[1][kUnrolled];
#pragma unroll
    for (int i = 0; i < kUnrolled; ++i) {
        asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(brought[0][i]) : "l"(at + i * along) : "memory");
        value[0][i] = static_cast<Value>(lane_id() + 1);
    }
    branch_on(fold(brought) ^ kNever);
    const Value operand = value[0][0];
    __syncthreads();
    const u64 begin = cycles();
#pragma unroll 1
    for (int trip = 0; trip < trips; ++trip) {
#pragma unroll
        for (int i = 0; i < kUnrolled; ++i) {
            if (kResult == kDependent) value[0][0] = Addition::atom(at + i * along, value[0][0]);
            else if (kResult == kReturned) value[0][i] = Addition::atom(at + i * along, operand);
            else Addition::red(at + i * along, operand);
        }
    }
    const u32 result = fold(value);
    if (kResult == kDropped) __threadfence();
    branch_on(result ^ kNever);
    record(spans, begin, cycles(), result);
}

#define REPEATS(NAME, ADDITION, RESULT)                                                                \
    extern "C" __global__ void __launch_bounds__(512) NAME(                                            \
        u64* spans, char* data, const int* words, int trips, int along) {                              \
        repeats<ADDITION, RESULT>(spans, data, words, trips, along);                                   \
    }
REPEATS(red_u32, add_u32, kDropped) REPEATS(red_f32, add_f32, kDropped) REPEATS(atom_u32, add_u32, kReturned)
REPEATS(dependent_u32, add_u32, kDependent)
