// What the data stage takes for loads and stores of shared memory of which several lanes want one address: the host
// chooses the offset of every lane.
#include "common.cuh"

constexpr int kLanes = 32;
constexpr int kUnrolled = 16;
constexpr int kRounds = 4;

// Byte offset of each lane; a lane below 0 takes no part.
__constant__ int lane_offsets[kLanes];

struct Lds4 {
    static DEVICE u32 access(u32 at) {
        u32 a;
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(a) : "r"(at) : "memory");
        return a;
    }
};
struct Lds8 {
    static DEVICE u32 access(u32 at) {
        u32 a, b;
        asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "r"(at) : "memory");
        return a ^ b;
    }
};
struct Lds16 {
    static DEVICE u32 access(u32 at) {
        u32 a, b, c, d;
        asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(at) : "memory");
        return a ^ b ^ c ^ d;
    }
};
struct Sts4 {
    static DEVICE u32 access(u32 at) {
        asm volatile("st.shared.u32 [%0], %0;" ::"r"(at) : "memory");
        return 0;
    }
};
struct Sts8 {
    static DEVICE u32 access(u32 at) {
        asm volatile("st.shared.v2.u32 [%0], {%0, %0};" ::"r"(at) : "memory");
        return 0;
    }
};
struct Sts16 {
    static DEVICE u32 access(u32 at) {
        asm volatile("st.shared.v4.u32 [%0], {%0, %0, %0, %0};" ::"r"(at) : "memory");
        return 0;
    }
};
struct Ldsm4 {
    static DEVICE u32 access(u32 at) {
        u32 a, b, c, d;
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(at) : "memory");
        return a ^ b ^ c ^ d;
    }
};

// One warp: 64 accesses of the same addresses, back to back. Writes the clocks around them. zero is 0, which the compiler
// does not know: it would merge accesses of one address.
template <class Access>
DEVICE void accesses(u64* spans, u32* output, u32 zero) {
    extern __shared__ __align__(1024) char target[];
    const int offset = lane_offsets[threadIdx.x];
    u32 value = 0;
    u32 at[kUnrolled];
#pragma unroll
    for (int i = 0; i < kUnrolled; ++i) at[i] = shared_address(target) + offset + i * zero;
    const u64 begin = cycles();
    if (offset >= 0) {
#pragma unroll 1
        for (int round = 0; round < kRounds; ++round) {
            u32 values[kUnrolled];
#pragma unroll
            for (int i = 0; i < kUnrolled; ++i) values[i] = Access::access(at[i] + round * zero);
#pragma unroll
            for (int i = 0; i < kUnrolled; ++i) value ^= values[i];
        }
    }
    __syncwarp();
    const u64 end = cycles();
    if (threadIdx.x == 0) {
        spans[0] = begin;
        spans[1] = end;
    }
    if (output != nullptr) output[threadIdx.x] = value;
}

#define ACCESSES(NAME, ACCESS)                                                                                        \
    extern "C" __global__ void __launch_bounds__(kLanes) broadcast_##NAME(u64* spans, u32* output, u32 zero) {        \
        accesses<ACCESS>(spans, output, zero);                                                                        \
    }

ACCESSES(load_4, Lds4) ACCESSES(load_8, Lds8) ACCESSES(load_16, Lds16)
ACCESSES(store_4, Sts4) ACCESSES(store_8, Sts8) ACCESSES(store_16, Sts16)
ACCESSES(ldmatrix_16, Ldsm4)
