// Asynchronous multiplications of sm_90a: m64nNk16 of f16 with sums of f32, both operands in shared memory.
#pragma once

#include "hopper.cuh"

// Operands are K-major with swizzles of 128 bytes: rows of 64 elements, atoms of 8 rows. All bytes are written as fractions, since
// ptxas drops multiplications whose operands nobody writes.
constexpr u32 kOperandRowBytes = 128;
constexpr u32 kStepBytes = 32;  // 16 elements of K

DEVICE void write_fractions(u32 shared, u32 bytes) {
    for (u32 at = threadIdx.x * 4; at < bytes; at += blockDim.x * 4) {
        u32 pair[1];
        random_fractions(pair, at);
        asm volatile("st.shared.u32 [%0], %1;" ::"r"(shared + at), "r"(pair[0]) : "memory");
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

DEVICE u64 descriptor(u32 shared) {
    constexpr u64 kLeading = 1, kStride = 8 * kOperandRowBytes / 16, kSwizzle128 = 1;
    return (shared & 0x3ffff) >> 4 | kLeading << 16 | kStride << 32 | kSwizzle128 << 62;
}

DEVICE void fence_registers() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
DEVICE void commit_multiplies() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int kPending>
DEVICE void wait_multiplies() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory"); }

#define ACCUMULATORS_64                                                                \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "          \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}"
#define ACCUMULATORS_128                                                                \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "           \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "  \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "  \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}"
#define ACCUMULATORS_256                                                                               \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                          \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "                 \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "                 \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "                 \
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "                 \
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "                 \
    "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "     \
    "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}"

#define SUMS_8(SUMS, AT)                                                                                                         \
    "+f"(SUMS[AT]), "+f"(SUMS[AT + 1]), "+f"(SUMS[AT + 2]), "+f"(SUMS[AT + 3]), "+f"(SUMS[AT + 4]), "+f"(SUMS[AT + 5]), \
        "+f"(SUMS[AT + 6]), "+f"(SUMS[AT + 7])
#define SUMS_32(SUMS, AT) SUMS_8(SUMS, AT), SUMS_8(SUMS, AT + 8), SUMS_8(SUMS, AT + 16), SUMS_8(SUMS, AT + 24)
#define SUMS_64(SUMS) SUMS_32(SUMS, 0)
#define SUMS_128(SUMS) SUMS_32(SUMS, 0), SUMS_32(SUMS, 32)
#define SUMS_256(SUMS) SUMS_32(SUMS, 0), SUMS_32(SUMS, 32), SUMS_32(SUMS, 64), SUMS_32(SUMS, 96)

template <int kN>
struct Multiply;
#define MULTIPLY(N, A, B)                                                                            \
    template <>                                                                                      \
    struct Multiply<N> {                                                                             \
        static DEVICE void issue(float (&sums)[N / 2], u64 a, u64 b) {                               \
            asm volatile("{.reg .pred p; setp.ne.b32 p, 1, 0;"                                       \
                         " wgmma.mma_async.sync.aligned.m64n" #N "k16.f32.f16.f16 " ACCUMULATORS_##N \
                         ", %" #A ", %" #B ", p, 1, 1, 0, 0;}"                                       \
                         : SUMS_##N(sums)                                                            \
                         : "l"(a), "l"(b)                                                            \
                         : "memory");                                                                \
        }                                                                                            \
    };
MULTIPLY(64, 32, 33)
MULTIPLY(128, 64, 65)
MULTIPLY(256, 128, 129)

template <int kCount>
DEVICE u32 fold_sums(const float (&sums)[kCount]) {
    u32 folded = 0;
#pragma unroll
    for (int i = 0; i < kCount; ++i) folded ^= bits(sums[i]);
    return folded;
}
