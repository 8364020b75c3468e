// Instructions that CUDA C++ has no function for. The host build of the tests has a header of the same name and functions.
#pragma once

using u32 = unsigned int;
using u64 = unsigned long long;

#define DEVICE __device__ __forceinline__

// Shared memory

DEVICE u32 shared_address(const void* pointer) { return static_cast<u32>(__cvta_generic_to_shared(pointer)); }

// Copies 16 bytes from global to shared memory, past the L1.
DEVICE void copy_16(void* to, const void* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from) : "memory");
}

DEVICE void copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most kPending commit groups of this thread are in flight.
template <int kPending>
DEVICE void copy_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

DEVICE void ldmatrix_x2(u32 (&to)[2], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                 : "=r"(to[0]), "=r"(to[1])
                 : "r"(shared_address(row))
                 : "memory");
}

DEVICE void ldmatrix_x4(u32 (&to)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(shared_address(row))
                 : "memory");
}

DEVICE void ldmatrix_x4_trans(u32 (&to)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(shared_address(row))
                 : "memory");
}

// Barriers with a number and a count of threads

DEVICE void barrier_sync(int id, int threads) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory"); }

DEVICE void barrier_arrive(int id, int threads) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory"); }

// Matrix products, c += a * b

#define MMA_16_8_FLOAT(NAME, SHAPE, TYPES)                                                                       \
    DEVICE void NAME(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) {                                         \
        asm volatile("mma.sync.aligned." SHAPE ".row.col.f32." TYPES                                             \
                     ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                                \
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                            \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));                            \
    }
MMA_16_8_FLOAT(mma_f16_16, "m16n8k16", "f16.f16")
MMA_16_8_FLOAT(mma_bf16_16, "m16n8k16", "bf16.bf16")
MMA_16_8_FLOAT(mma_tf32_8, "m16n8k8", "tf32.tf32")

DEVICE void mma_f16_8(float (&c)[4], const u32 (&a)[2], u32 b) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b));
}

DEVICE void mma_s8_32(int (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Half precision: a half is its 16 bits, and two halves a register, the first in its low half

DEVICE float float_of(unsigned short half) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
    return value;
}

DEVICE unsigned short half_of(float value) {
    unsigned short half;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
    return half;
}

DEVICE u32 halves_of(float low, float high) { return half_of(low) | static_cast<u32>(half_of(high)) << 16; }

// a * b + c of both halves, rounded once.
DEVICE u32 fma_halves(u32 a, u32 b, u32 c) {
    u32 result;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
    return result;
}

DEVICE u32 multiply_halves(u32 a, u32 b) {
    u32 result;
    asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
    return result;
}

DEVICE u32 subtract_halves(u32 a, u32 b) {
    u32 result;
    asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
    return result;
}
