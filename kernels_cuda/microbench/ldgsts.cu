// What the hardware counts for LDGSTS: copies whose global and shared addresses the host chooses lane by lane.
#include "common.cuh"

constexpr int kMaxCopies = 16;
constexpr int kMaxThreads = 256;
constexpr int kNothing = -1;

// [copy][thread]: byte offsets. An offset of kNothing in global memory: that lane copies nothing.
__constant__ int global_offsets[kMaxCopies][kMaxThreads];
__constant__ int shared_offsets[kMaxCopies][kMaxThreads];

// Plain: every lane copies. ZeroFill: a lane without a source writes zeros. Guarded: it is predicated off.
enum Mode { kPlain = 0, kZeroFill = 1, kGuarded = 2 };

template <int kBytes, bool kBypass, int kMode>
DEVICE void copy(u32 shared, u64 global, bool valid) {
    if (kMode == kZeroFill) {
        const int source_bytes = valid ? kBytes : 0;
        if (kBypass) asm volatile("cp.async.cg.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(global), "n"(kBytes), "r"(source_bytes) : "memory");
        else asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(global), "n"(kBytes), "r"(source_bytes) : "memory");
    } else if (kMode == kGuarded) {
        if (kBypass) asm volatile("{.reg .pred p; setp.ne.b32 p, %3, 0; @p cp.async.cg.shared.global [%0], [%1], %2;}" ::"r"(shared), "l"(global), "n"(kBytes), "r"(static_cast<u32>(valid)) : "memory");
        else asm volatile("{.reg .pred p; setp.ne.b32 p, %3, 0; @p cp.async.ca.shared.global [%0], [%1], %2;}" ::"r"(shared), "l"(global), "n"(kBytes), "r"(static_cast<u32>(valid)) : "memory");
    } else {
        if (kBypass) asm volatile("cp.async.cg.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(global), "n"(kBytes) : "memory");
        else asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(global), "n"(kBytes) : "memory");
    }
}

// kCopies copies back to back, repetitions times, each time step_bytes further in global memory and the next of stages
// in shared memory, waited for each time.
template <int kBytes, bool kBypass, int kMode, int kCopies>
DEVICE void copies(const char* data, char* output, int repetitions, int step_bytes, int stages, int stage_bytes) {
    extern __shared__ __align__(1024) char target[];
    u32 shared[kCopies];
    u64 global[kCopies];
    bool valid[kCopies];
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
        const int offset = global_offsets[i][threadIdx.x];
        valid[i] = offset != kNothing;
        global[i] = __cvta_generic_to_global(data) + (valid[i] ? offset : 0);
        shared[i] = shared_address(target) + shared_offsets[i][threadIdx.x];
    }
    int stage = 0;
#pragma unroll 1
    for (int repetition = 0; repetition < repetitions; ++repetition) {
        __syncthreads();
        const u32 slot = stage * stage_bytes;
        const u64 forward = static_cast<u64>(repetition) * step_bytes;
#pragma unroll
        for (int i = 0; i < kCopies; ++i) copy<kBytes, kBypass, kMode>(shared[i] + slot, global[i] + forward, valid[i]);
        asm volatile("cp.async.commit_group;" ::: "memory");
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        stage = stage + 1 == stages ? 0 : stage + 1;
    }
    __syncthreads();
    if (output != nullptr) output[threadIdx.x] = target[threadIdx.x];
}

#define COPIES(BYTES, OP, BYPASS, MODE_NAME, MODE, COUNT)                                                         \
    extern "C" __global__ void __launch_bounds__(256)                                                             \
        copies_##OP##_##BYTES##_##MODE_NAME##_##COUNT(const char* data, char* output, int repetitions,            \
                                                      int step_bytes, int stages, int stage_bytes) {              \
        copies<BYTES, BYPASS, MODE, COUNT>(data, output, repetitions, step_bytes, stages, stage_bytes);           \
    }
#define COPIES_COUNTS(BYTES, OP, BYPASS, MODE_NAME, MODE)                                                         \
    COPIES(BYTES, OP, BYPASS, MODE_NAME, MODE, 1) COPIES(BYTES, OP, BYPASS, MODE_NAME, MODE, 2)                   \
    COPIES(BYTES, OP, BYPASS, MODE_NAME, MODE, 4) COPIES(BYTES, OP, BYPASS, MODE_NAME, MODE, 6)                   \
    COPIES(BYTES, OP, BYPASS, MODE_NAME, MODE, 8) COPIES(BYTES, OP, BYPASS, MODE_NAME, MODE, 16)
#define COPIES_MODES(BYTES, OP, BYPASS)                                                                           \
    COPIES_COUNTS(BYTES, OP, BYPASS, plain, kPlain) COPIES_COUNTS(BYTES, OP, BYPASS, zfill, kZeroFill)            \
    COPIES_COUNTS(BYTES, OP, BYPASS, guarded, kGuarded)

COPIES_MODES(16, cg, true) COPIES_MODES(16, ca, false) COPIES_MODES(8, ca, false) COPIES_MODES(4, ca, false)
