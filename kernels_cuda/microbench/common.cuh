// What every microbenchmark shares: the SM's cycle counter, shared addresses, and spans that the host reads.
// No header is included: NVRTC compiles these files alone.
#pragma once

using u32 = unsigned int;
using u64 = unsigned long long;

#define DEVICE __device__ __forceinline__

// Volatile, with memory clobbered: neither the compiler nor another volatile statement moves across it.
DEVICE u64 cycles() {
    u64 now;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(now)::"memory");
    return now;
}

DEVICE u64 nanoseconds() {
    u64 now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
    return now;
}

DEVICE u32 sm_id() {
    u32 id;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
    return id;
}

DEVICE u32 lane_id() { return threadIdx.x % 32; }
DEVICE u32 warp_id() { return threadIdx.x / 32; }
DEVICE u32 shared_address(const void* pointer) { return static_cast<u32>(__cvta_generic_to_shared(pointer)); }

// What a measured loop leaves in registers. ptxas drops every instruction whose result nobody stores, volatile or
// not, so everything goes through fold() into the value that record() may store.
DEVICE u32 bits(u32 value) { return value; }
DEVICE u32 bits(float value) { return __float_as_uint(value); }
DEVICE u32 bits(u64 value) { return static_cast<u32>(value) ^ static_cast<u32>(value >> 32); }
DEVICE u32 bits(double value) { return bits(static_cast<u64>(__double_as_longlong(value))); }
template <class Value, int kRows, int kColumns>
DEVICE u32 fold(const Value (&values)[kRows][kColumns]) {
    u32 folded = 0;
#pragma unroll
    for (int row = 0; row < kRows; ++row)
#pragma unroll
        for (int column = 0; column < kColumns; ++column) folded ^= bits(values[row][column]);
    return folded;
}

// Pairs of random fractions, as matrices have: equal operands would toggle few bits, take less power and slow no clock.
template <int kPairs>
DEVICE void random_fractions(u32 (&pairs)[kPairs], u32 seed) {
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
        seed = seed * 1664525u + 1013904223u;
        pairs[i] = (seed >> 3 & 0x83ff83ffu) | 0x38003800u;
    }
}

// The cycles of one load of a word that is zero, which later loads' addresses can wait for, and when it began.
DEVICE u32 load_cycles(u64 address, u32& zero, u64& begin) {
    u32 word;
    begin = cycles() + zero;
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(word) : "l"(address + (begin == 0)) : "memory");
    zero = word;
    u64 end;
    // The clock is read behind a branch on the loaded word: nothing else makes it wait for the load.
    if (zero == 0) end = cycles(); else end = 0;
    return static_cast<u32>(end - begin);
}

DEVICE void wait_until(u64 cycle) {
    while (cycles() < cycle) {}
}

// Waits for all before it that a branch waits for, and for `value`, which is never 0 where this is called.
DEVICE void branch_on(u32 value) { asm volatile("{.reg .pred p; setp.eq.u32 p, %0, 0; @p trap;}" ::"r"(value) : "memory"); }

// A store of 16 bytes a lane to global memory.
DEVICE void store_16(u64 to, const u32 (&value)[4]) {
    asm volatile("st.global.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(to), "r"(value[0]), "r"(value[1]), "r"(value[2]), "r"(value[3]) : "memory");
}

DEVICE void ldmatrix_x4(u32 (&to)[4], u32 from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(from) : "memory");
}

// Where the group behind one at `filled` fills: kPending + 1 groups in turn, so that none fills what another one that is on
// its way fills. Of copies that do, the L1 looks up one only (again.csv).
template <int kCopies, int kPending>
DEVICE u32 next_filled(u32 filled) { return filled == kPending * kCopies * 512 ? 0 : filled + kCopies * 512; }

// A commit group: kCopies cp.async of 16 bytes a lane, `step` bytes apart; kPending groups may be on their way behind it.
template <int kCopies, int kPending>
DEVICE void copy_group(u32 shared, u64 from, u64 step) {
#pragma unroll
    for (int i = 0; i < kCopies; ++i, from += step)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared + i * 512), "l"(from) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

// Warps of a CTA are dealt to the SMSPs in turn: warp w runs on SMSP w % 4. A warp whose SMSP takes no part leaves.
DEVICE bool takes_part(int smsps) { return static_cast<int>(warp_id() % 4) < smsps; }

// spans[2 * warp] begin, [2 * warp + 1] end, warps numbered over the grid. The counter never stands still, so the last
// store never happens; only the host knows.
DEVICE void record(u64* spans, u64 begin, u64 end, u32 result) {
    const u64 warp = (static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
    if (lane_id() == 0) {
        spans[2 * warp] = begin;
        spans[2 * warp + 1] = end;
    }
    if (begin == end) spans[0] = result;
}
