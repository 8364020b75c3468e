// mma.sync by shape and type: registers of a lane and the instruction, for every benchmark that multiplies.
#pragma once

#include "common.cuh"

#define MMA_TYPE(NAME, ACC, NA, NB, NC, TEXT, OPERANDS, ...)                                      \
    struct NAME {                                                                                 \
        using Acc = ACC;                                                                          \
        static constexpr int kA = NA, kB = NB, kC = NC;                                           \
        static DEVICE void mma(Acc (&c)[NC], const u32 (&a)[NA], const u32 (&b)[NB]) {            \
            asm volatile(TEXT " " OPERANDS ";" : __VA_ARGS__);                                    \
        }                                                                                         \
    };

#define ACC_F4 "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
#define ACC_R4 "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
#define ACC_R2 "+r"(c[0]), "+r"(c[1])
#define IN_4_2 "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])
#define IN_2_1 "r"(a[0]), "r"(a[1]), "r"(b[0])
#define IN_1_1 "r"(a[0]), "r"(b[0])
#define TEXT_4_4_2 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3}"
#define TEXT_2_4_2 "{%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1}"
#define TEXT_4_2_1 "{%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3}"
#define TEXT_2_2_1 "{%0,%1}, {%2,%3}, {%4}, {%0,%1}"
#define TEXT_2_1_1 "{%0,%1}, {%2}, {%3}, {%0,%1}"

MMA_TYPE(F16K16, float, 4, 2, 4, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", TEXT_4_4_2, ACC_F4 : IN_4_2)
MMA_TYPE(F16K8, float, 2, 1, 4, "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", TEXT_4_2_1, ACC_F4 : IN_2_1)
MMA_TYPE(F16K16H, u32, 4, 2, 2, "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", TEXT_2_4_2, ACC_R2 : IN_4_2)
MMA_TYPE(F16K8H, u32, 2, 1, 2, "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16", TEXT_2_2_1, ACC_R2 : IN_2_1)
MMA_TYPE(BF16K16, float, 4, 2, 4, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", TEXT_4_4_2, ACC_F4 : IN_4_2)
MMA_TYPE(TF32K8, float, 4, 2, 4, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", TEXT_4_4_2, ACC_F4 : IN_4_2)
MMA_TYPE(TF32K4, float, 2, 1, 4, "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32", TEXT_4_2_1, ACC_F4 : IN_2_1)
MMA_TYPE(S8K32, u32, 4, 2, 4, "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", TEXT_4_4_2, ACC_R4 : IN_4_2)
MMA_TYPE(S8K16, u32, 2, 1, 4, "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32", TEXT_4_2_1, ACC_R4 : IN_2_1)
MMA_TYPE(S4K64, u32, 4, 2, 4, "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32", TEXT_4_4_2, ACC_R4 : IN_4_2)
MMA_TYPE(S8K16N8, u32, 1, 1, 2, "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32", TEXT_2_1_1, ACC_R2 : IN_1_1)
MMA_TYPE(S4K32, u32, 2, 1, 4, "mma.sync.aligned.m16n8k32.row.col.s32.s4.s4.s32", TEXT_4_2_1, ACC_R4 : IN_2_1)
MMA_TYPE(B1K256, u32, 4, 2, 4, "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc", TEXT_4_4_2, ACC_R4 : IN_4_2)
MMA_TYPE(B1K128, u32, 2, 1, 4, "mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.xor.popc", TEXT_4_2_1, ACC_R4 : IN_2_1)
