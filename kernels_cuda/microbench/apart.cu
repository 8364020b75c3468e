// Reads of the same lines by SMs that ask some cycles after one another, on a chip that does nothing else.
#include "common.cuh"

constexpr int kLead = 1000;  // cycles of a step before the first SM asks, so that another one can be earlier

// SM `one` asks for `kBurst` lines every `period` cycles, the next of the named SMs `late` cycles after the one before it;
// an SM that is negative is none. With `warm`, the first one has read all lines before. Clocks [CTA]: its SM, and by how many
// cycles its first load of a step came after the step's beginning, summed over the steps.
template <int kBurst>
DEVICE void apart(u64* clocks, const char* data, int* flags, int steps, int period, int late, int warm, const int (&sms)[4]) {
    const int sm = static_cast<int>(sm_id());
    int member = -1, members = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        if (sms[i] == sm) member = i;
        members += sms[i] >= 0;
    }
    if (member < 0) return;
    const u64 base = __cvta_generic_to_global(data) + lane_id() * 4;
    u32 folded = 0;
    if (warm && member == 0) {
#pragma unroll 1
        for (int line = 0; line < steps * kBurst; ++line) {
            u32 word;
            asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(word) : "l"(base + static_cast<u64>(line) * 128) : "memory");
            folded ^= word;
        }
    }
    // Nobody goes on before the lines are there: the sum is zero, but only memory knows.
    volatile u64* begins = reinterpret_cast<volatile u64*>(flags + 2);
    if (lane_id() == 0) {
        atomicAdd(flags, 1 + folded);
        while (*static_cast<volatile int*>(flags) < members) {}
        if (member == 0) *begins = cycles() + 40000;
        while (*begins == 0) {}
    }
    __syncwarp();
    const u64 begin = *begins;
    u64 lateness = 0;
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        const u64 from = begin + static_cast<u64>(step) * period;
        const u64 target = from + kLead + member * late;
        const u64 address = base + static_cast<u64>(step) * kBurst * 128;
        u32 words[1][kBurst];
        u64 now = cycles();
        while (now < target) now = cycles();
#pragma unroll
        for (int i = 0; i < kBurst; ++i)
            asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(words[0][i]) : "l"(address + i * 128) : "memory");
        lateness += now - from + fold(words);
    }
    if (lane_id() == 0) clocks[2 * blockIdx.x] = sm, clocks[2 * blockIdx.x + 1] = lateness;
}

#define APART(BURST)                                                                                                        \
    extern "C" __global__ void __launch_bounds__(32) apart_##BURST(u64* clocks, const char* data, int* flags, int steps,      \
                                                                   int period, int late, int warm, int one, int two, int three, int four) { \
        apart<BURST>(clocks, data, flags, steps, period, late, warm, {one, two, three, four});                              \
    }
APART(1) APART(32)
