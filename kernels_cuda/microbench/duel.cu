// What one warp's instructions cost another's: on each SMSP, one warp issues a stream that is timed, and others a second one.
#include "common.cuh"

enum Stream {
    kNothing = 0, kMma = 1, kLdmatrix = 2, kLop3 = 3, kCopyBypass = 4, kCopyL1 = 5, kLoadL2 = 6, kStore128 = 7, kLds32 = 8,
    kFfma = 9, kImad = 10, kCopyRelease = 11, kLdmatrixRelease = 12, kLds128 = 13, kStoreGlobal = 14, kLoadL1 = 15, kMufu = 16
};

constexpr int kRound = 16;
constexpr u32 kWords = 16384;              // shared memory that loads and stores of all warps use
constexpr u32 kRoundBytes = kRound * 512;  // what the copies of a round fill: two rounds are on their way

struct State {
    float sums[8][4];
    u32 words[8][4];
    u32 shared, operand, own, filled, at;
    u64 global;
};

// Sixteen instructions of a stream, or eight that fill four registers of a lane: ptxas drops what is overwritten unused.
// Copies and loads take 512 bytes each, of 128 KiB that each warp has for itself. Of a stream of copies none fills
// what another one that is on its way fills: of such the L1 looks up one only.
template <int kWhat>
DEVICE void issue(State& s) {
    // Each round has other addresses, so that ptxas leaves it in the loop.
    s.at = s.at + 8192 & 65535;
    const u64 global = s.global + s.at;
    const u32 filled = s.filled + s.at % (2 * kRoundBytes);
    u32 found[8][4];
    constexpr bool kFills = kWhat == kLdmatrix || kWhat == kLds128 || kWhat == kLoadL2 || kWhat == kLoadL1;
#pragma unroll
    for (int i = 0; i < (kFills ? 8 : kRound); ++i) {
        float(&c)[4] = s.sums[i % 8];
        u32(&r)[4] = s.words[i % 8];
        if (kWhat == kMma)
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                         : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                         : "r"(s.operand), "r"(s.operand + 1), "r"(s.operand + 2), "r"(s.operand + 3), "r"(s.operand + 4), "r"(s.operand + 5));
        if (kWhat == kLdmatrix) {
            u32 a, b, d, e;
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                         : "=r"(a), "=r"(b), "=r"(d), "=r"(e) : "r"(s.shared + i % 8 * 512) : "memory");
            r[0] = a, r[1] = b, r[2] = d, r[3] = e;
        }
        if (kWhat == kLds32) asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(r[0]) : "r"(s.shared + i * 128) : "memory");
        if (kWhat == kLds128)
            asm volatile("ld.volatile.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(s.shared + i % 8 * 512) : "memory");
        if (kWhat == kLop3) asm volatile("lop3.b32 %0, %0, %1, %2, 0x96;" : "+r"(r[i / 8]) : "r"(s.operand), "r"(s.operand + 7));
        if (kWhat == kImad) asm volatile("mad.lo.u32 %0, %0, %1, %2;" : "+r"(r[i / 8]) : "r"(s.operand), "r"(s.operand + 7));
        if (kWhat == kMufu) asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(s.sums[i % 8][i / 8]));
        if (kWhat == kFfma) asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(c[i / 8]) : "f"(0.5f), "f"(0.25f));
        if (kWhat == kCopyBypass)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(filled + i * 512), "l"(global + i * 512) : "memory");
        if (kWhat == kCopyL1)
            asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(filled + i * 512), "l"(global + i * 512) : "memory");
        if (kWhat == kLoadL2)
            asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(found[i % 8][0]), "=r"(found[i % 8][1]), "=r"(found[i % 8][2]), "=r"(found[i % 8][3]) : "l"(global + i * 512) : "memory");
        if (kWhat == kLoadL1)
            asm volatile("ld.global.ca.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(found[i % 8][0]), "=r"(found[i % 8][1]), "=r"(found[i % 8][2]), "=r"(found[i % 8][3]) : "l"(global + i * 512) : "memory");
        if (kWhat == kStore128)
            asm volatile("st.volatile.shared.v4.u32 [%0], {%1,%2,%3,%4};" ::"r"(s.shared + i % 8 * 512), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
        if (kWhat == kStoreGlobal)
            asm volatile("st.volatile.global.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(global + i * 512), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
        // One at a time: the IMAD overwrites the address, so it waits until the copy or load has read it.
        if (kWhat == kCopyRelease && i == 0) {
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(s.own), "l"(s.global) : "memory");
            asm volatile("mad.lo.u32 %0, %0, %1, %2;" : "+r"(s.own) : "r"(s.operand), "r"(0));
        }
        if (kWhat == kLdmatrixRelease && i == 0) {
            u32 a, b, d, e;
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(a), "=r"(b), "=r"(d), "=r"(e) : "r"(s.own) : "memory");
            asm volatile("mad.lo.u32 %0, %0, %1, %2;" : "+r"(s.own) : "r"(s.operand), "r"(0));
            r[0] ^= a ^ b ^ d ^ e;
        }
    }
    if (kWhat == kLoadL2 || kWhat == kLoadL1) s.words[0][0] ^= fold(found);
    if (kWhat == kCopyBypass || kWhat == kCopyL1 || kWhat == kCopyRelease) {
        asm volatile("cp.async.commit_group;" ::: "memory");
        asm volatile("cp.async.wait_group 1;" ::: "memory");
    }
}

// counts[3 * warp]: begin and end of the warp's stream, and its rounds. Warps 0 to 3 issue `rounds` rounds of kFirst; the
// others issue kSecond until warps 0 to 3 are done.
template <int kFirst, int kSecond>
DEVICE void duel(u64* counts, char* data, int rounds, u32 one) {
    extern __shared__ __align__(128) u32 words[];
    __shared__ volatile int done;
    State s;
    s.operand = one, s.at = 0;
    s.shared = s.own = shared_address(words) + lane_id() * 16;
    s.filled = s.shared + kWords + warp_id() % 12 * (2 * kRoundBytes);  // warps 4 to 15 may copy
    s.global = __cvta_generic_to_global(data) + (static_cast<u64>(blockIdx.x) * 16 + warp_id()) * 131072 + lane_id() * 16;
#pragma unroll
    for (int i = 0; i < 32; ++i) s.sums[i / 4][i % 4] = 0, s.words[i / 4][i % 4] = threadIdx.x + i;
    for (u32 i = threadIdx.x; i < kWords / 4; i += blockDim.x) words[i] = i;
    if (threadIdx.x == 0) done = 0;
    __syncthreads();
    int count = 0;
    const u64 begin = cycles();
    u64 end;
    if (warp_id() < 4) {
#pragma unroll 1
        for (; count < rounds; ++count) issue<kFirst>(s);
        end = cycles();
        done = 1;
    } else {
        if (kSecond != kNothing) {
#pragma unroll 1
            while (done == 0) issue<kSecond>(s), ++count;
        }
        end = cycles();
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    if (lane_id() == 0) {
        counts[3 * warp_id()] = begin, counts[3 * warp_id() + 1] = end, counts[3 * warp_id() + 2] = count;
        if (begin == end) counts[0] = fold(s.sums) ^ fold(s.words) ^ s.own;
    }
}

#define DUEL(FIRST, SECOND)                                                                                              \
    extern "C" __global__ void __launch_bounds__(512) duel_##FIRST##_##SECOND(u64* counts, char* data, int rounds, u32 one) { \
        duel<FIRST, SECOND>(counts, data, rounds, one);                                                                  \
    }
#define DUELS(FIRST)                                                                                                     \
    DUEL(FIRST, 0) DUEL(FIRST, 1) DUEL(FIRST, 2) DUEL(FIRST, 3) DUEL(FIRST, 4) DUEL(FIRST, 5) DUEL(FIRST, 6) DUEL(FIRST, 7) \
    DUEL(FIRST, 8) DUEL(FIRST, 9) DUEL(FIRST, 10) DUEL(FIRST, 13) DUEL(FIRST, 14) DUEL(FIRST, 15)
DUELS(1) DUELS(2) DUELS(3) DUELS(11) DUELS(12) DUELS(8)
DUEL(1, 16) DUEL(2, 16) DUEL(3, 16) DUEL(8, 16) DUEL(9, 0) DUEL(9, 16)
DUEL(16, 0) DUEL(16, 1) DUEL(16, 2) DUEL(16, 3) DUEL(16, 7) DUEL(16, 8) DUEL(16, 9) DUEL(16, 13) DUEL(16, 16)
