// The wgmma that is compiled in, and what orders it. A host build brings its own definitions (by defining
// GPUSIM_HOPPER_WGMMA_PTX_CUH).
#ifndef GPUSIM_HOPPER_WGMMA_PTX_CUH
#define GPUSIM_HOPPER_WGMMA_PTX_CUH

#include "hopper/accumulators.cuh"
#include "hopper/wgmma_registers.cuh"

namespace gpusim {

#define GPUSIM_STRING_OF(text) #text
#define GPUSIM_STRING(text) GPUSIM_STRING_OF(text)
#define GPUSIM_JOINED_OF(left, right) left##right
#define GPUSIM_JOINED(left, right) GPUSIM_JOINED_OF(left, right)

#if GPUSIM_ACCUMULATORS_ARE_FLOAT
#define GPUSIM_CONSTRAINT "+f"
#else
#define GPUSIM_CONSTRAINT "+r"
#endif

// What stands behind the accumulation: negations of A and B, and their transpositions, where the type has them.
#if GPUSIM_WGMMA_TRANSPOSES
#define GPUSIM_WGMMA_TAIL ", 1, 1, " GPUSIM_STRING(GPUSIM_TRANSPOSE_A) ", " GPUSIM_STRING(GPUSIM_TRANSPOSE_B) ";\n}"
#elif GPUSIM_WGMMA_NEGATES
#define GPUSIM_WGMMA_TAIL ", 1, 1;\n}"
#else
#define GPUSIM_WGMMA_TAIL ";\n}"
#endif

// d (+)= a * b, asynchronously.
template <bool kAccumulate>
GPUSIM_DEVICE void wgmma(Accumulator (&d)[kAccumulators], uint64 a, uint64 b) {
  asm volatile("{\n .reg .pred p;\n setp.ne.b32 p, %" GPUSIM_STRING(
                   GPUSIM_OPERAND_P) ", 0;\n wgmma.mma_async.sync.aligned." GPUSIM_STRING(GPUSIM_WGMMA) " {"
               GPUSIM_JOINED(GPUSIM_TEXT_, GPUSIM_ACCUMULATORS) "}, %" GPUSIM_STRING(
                   GPUSIM_OPERAND_A) ", %" GPUSIM_STRING(GPUSIM_OPERAND_B) ", p" GPUSIM_WGMMA_TAIL
               : GPUSIM_JOINED(GPUSIM_REGISTERS_, GPUSIM_ACCUMULATORS)(GPUSIM_CONSTRAINT, d)
               : "l"(a), "l"(b), "n"(int(kAccumulate)));
}

GPUSIM_DEVICE void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
GPUSIM_DEVICE void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int kPending>
GPUSIM_DEVICE void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// The compiler moves no use of the accumulators across.
GPUSIM_DEVICE void hold(Accumulators& d) {
  GPUSIM_UNROLL
  for (int m = 0; m < kMBlocks; ++m) {
    GPUSIM_UNROLL
    for (int i = 0; i < kAccumulators; ++i) asm volatile("" : GPUSIM_CONSTRAINT(d[m][i])::"memory");
  }
}

}  // namespace gpusim

#endif  // GPUSIM_HOPPER_WGMMA_PTX_CUH
