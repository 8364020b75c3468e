// Which of several warps an SMSP chooses: all of them issue the same, waiting for the unit, and for what the same register did a round before.
#include "common.cuh"

enum What { kFfma = 0, kLop3 = 1, kMma = 2, kLdmatrix = 3, kLds = 4, kCopy = 5, kStep = 6 };

constexpr u32 kWords = 16384;  // bytes of shared memory that are read or copied to

// The registers of a warp's rounds, and its addresses.
struct Own {
    float sums[16][4] = {};
    u32 words_of[16][1] = {}, loaded[16][4] = {};
    u32 shared, operand;
    u64 from;
    float factor;

    DEVICE Own(const char* words, const char* data)
        : shared(shared_address(words) + lane_id() * 16),
          operand(threadIdx.x),
          from(__cvta_generic_to_global(data) + lane_id() * 16),
          factor(static_cast<float>(threadIdx.x)) {}

    DEVICE void mma(int i, u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) {
        float(&c)[4] = sums[i];
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
    }

    DEVICE void ldmatrix(int i) {
        ldmatrix_x4(loaded[i], shared + i * 512);
    }

    // 16 instructions; of kStep, 16 mma.sync of what four ldmatrix.x4 have just brought.
    template <int kWhat>
    DEVICE void round() {
        if (kWhat == kStep) {
#pragma unroll
            for (int i = 0; i < 4; ++i) ldmatrix(i);
        }
#pragma unroll
        for (int i = 0; i < 16; ++i) {
            if (kWhat == kFfma) asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(sums[i][0]) : "f"(factor));
            if (kWhat == kLop3) asm volatile("lop3.b32 %0, %0, %1, %1, 0x96;" : "+r"(words_of[i][0]) : "r"(operand));
            if (kWhat == kMma) mma(i, operand, operand + 1, operand + 2, operand + 3, operand + 4, operand + 5);
            if (kWhat == kStep) {
                const u32(&a)[4] = loaded[i / 8];
                mma(i, a[0], a[1], a[2], a[3], loaded[2 + i % 2][0], loaded[2 + i % 2][1]);
            }
            if (kWhat == kLdmatrix) ldmatrix(i);
            if (kWhat == kLds) asm volatile("ld.shared.u32 %0, [%1];" : "=r"(loaded[i][0]) : "r"(shared + i * 512) : "memory");
            if (kWhat == kCopy) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared + i * 512), "l"(from + i * 512) : "memory");
        }
    }

    DEVICE u32 folded() { return fold(sums) ^ fold(loaded) ^ fold(words_of); }
};

DEVICE void fill(char* words) {
    for (u32 i = threadIdx.x * 4; i < kWords; i += blockDim.x * 4) *reinterpret_cast<u32*>(words + i) = i;
    __syncthreads();
}

// counts[warp]: its rounds of 16 instructions until `duration` cycles have passed.
template <int kWhat>
DEVICE void chosen(u64* counts, const char* data, int duration) {
    __shared__ __align__(128) char words[kWords];
    fill(words);
    Own own(words, data);
    u32 rounds = 0;
    const u64 until = cycles() + duration;
#pragma unroll 1
    while (cycles() < until) {
        own.template round<kWhat>();
        ++rounds;
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    if (lane_id() == 0) counts[warp_id()] = rounds;
    // Never true, which ptxas does not know: so it keeps what is computed.
    if (rounds == static_cast<u32>(duration)) counts[0] = own.folded();
}

// Every warp of CTAs that share an SM does the same rounds. stamps[warp of the grid][3]: its SM, begin and end.
template <int kWhat>
DEVICE void elders(u64* stamps, const char* data, int rounds) {
    __shared__ __align__(128) char words[kWords];
    fill(words);
    Own own(words, data);
    const u64 begin = cycles();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) own.template round<kWhat>();
    asm volatile("cp.async.wait_all;" ::: "memory");
    const u32 folded = own.folded();
    // Waits for the last values, which the clock does not.
    u32 last = static_cast<u32>(begin);
    asm volatile("xor.b32 %0, %0, %1;" : "+r"(last) : "r"(folded));
    const u64 end = cycles();
    u64* own_stamps = stamps + 3 * ((static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x) / 32);
    if (lane_id() == 0) {
        own_stamps[0] = sm_id();
        own_stamps[1] = begin;
        own_stamps[2] = end;
    }
    // Never true, which ptxas does not know: so it keeps what is computed.
    if (begin == end) stamps[0] = last;
}

#define CHOSEN(WHAT)                                                                                            \
    extern "C" __global__ void __launch_bounds__(512) chosen_##WHAT(u64* counts, const char* data, int duration) { \
        chosen<WHAT>(counts, data, duration);                                                                   \
    }
CHOSEN(0) CHOSEN(1) CHOSEN(2) CHOSEN(3) CHOSEN(4) CHOSEN(5)

#define ELDERS(WHAT)                                                                                           \
    extern "C" __global__ void __launch_bounds__(256) elders_##WHAT(u64* stamps, const char* data, int rounds) { \
        elders<WHAT>(stamps, data, rounds);                                                                    \
    }
ELDERS(0) ELDERS(1) ELDERS(2) ELDERS(3) ELDERS(4) ELDERS(5) ELDERS(6)
