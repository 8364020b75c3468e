// Stores and loads whose lanes are in few or many lines and sectors, in the L2 or from DRAM and to it.
#include "common.cuh"

constexpr int kUnrolled = 8;
constexpr u32 kNever = 0x9e3779b9;  // no sum is that

enum Access { kStore, kLoad, kLoadAround };

DEVICE u32 bits(const u32 (&value)[4]) { return value[0] ^ value[1] ^ value[2] ^ value[3]; }

// An access of kWords words of a lane.
template <Access kAccess, int kWords>
DEVICE void access(u64 at, u32 (&value)[4]) {
    if (kAccess == kStore) {
        if (kWords == 1) asm volatile("st.global.u32 [%0], %1;" ::"l"(at), "r"(value[0]) : "memory");
        if (kWords == 2) asm volatile("st.global.v2.u32 [%0], {%1,%2};" ::"l"(at), "r"(value[0]), "r"(value[1]) : "memory");
        if (kWords == 4) store_16(at, value);
    } else if (kAccess == kLoad) {
        if (kWords == 1) asm volatile("ld.global.u32 %0, [%1];" : "=r"(value[0]) : "l"(at) : "memory");
        if (kWords == 2) asm volatile("ld.global.v2.u32 {%0,%1}, [%2];" : "=r"(value[0]), "=r"(value[1]) : "l"(at) : "memory");
        if (kWords == 4) asm volatile("ld.global.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(value[0]), "=r"(value[1]), "=r"(value[2]), "=r"(value[3]) : "l"(at) : "memory");
    } else {
        if (kWords == 1) asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(value[0]) : "l"(at) : "memory");
        if (kWords == 2) asm volatile("ld.global.cg.v2.u32 {%0,%1}, [%2];" : "=r"(value[0]), "=r"(value[1]) : "l"(at) : "memory");
        if (kWords == 4) asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(value[0]), "=r"(value[1]), "=r"(value[2]), "=r"(value[3]) : "l"(at) : "memory");
    }
}

// Lanes side by side: `parts` of a sector, in `sectors` of a line, in `lines` that are `pitch` bytes apart; lanes left over take
// no part. The CTA's accesses, dealt to its warps in turn, go on by `step` bytes each, within `span`, a power of two. A CTA's
// memory begins cta_bytes behind that of the one before.
template <Access kAccess, int kWords>
DEVICE void scattered(u64* spans, char* data, int trips, u32 lines, u32 sectors, u32 parts, u32 pitch, u32 step, u32 span, u64 cta_bytes) {
    const u32 lane = lane_id(), line = lane / (parts * sectors), sector = lane / parts % sectors;
    const u64 first = __cvta_generic_to_global(data) + blockIdx.x * cta_bytes + static_cast<u64>(line) * pitch + sector * 32 + lane % parts * (kWords * 4);
    const u32 advance = blockDim.x / 32 * step;
    u32 at = warp_id() * step & (span - 1), value[kUnrolled][4], sum = 0;
#pragma unroll
    for (int i = 0; i < kUnrolled; ++i) value[i][0] = value[i][1] = value[i][2] = value[i][3] = lane;
    __syncthreads();
    if (line >= lines) return;
    const u64 begin = cycles();
#pragma unroll 1
    for (int trip = 0; trip < trips; ++trip) {
#pragma unroll
        for (int i = 0; i < kUnrolled; ++i) {
            if (kAccess != kStore) sum ^= bits(value[i]);
            access<kAccess, kWords>(first + at, value[i]);
            at = (at + advance) & (span - 1);
        }
    }
#pragma unroll
    for (int i = 0; i < kUnrolled; ++i) sum ^= bits(value[i]);
    if (kAccess == kStore) __threadfence();
    branch_on(sum ^ kNever);
    record(spans, begin, cycles(), sum);
}

#define SCATTERED(NAME, ACCESS, WORDS)                                                                                             \
    extern "C" __global__ void __launch_bounds__(1024) NAME##_##WORDS(                                                             \
        u64* spans, char* data, int trips, u32 lines, u32 sectors, u32 parts, u32 pitch, u32 step, u32 span, u64 cta_bytes) {      \
        scattered<ACCESS, WORDS>(spans, data, trips, lines, sectors, parts, pitch, step, span, cta_bytes);                         \
    }
#define WIDTHS(NAME, ACCESS) SCATTERED(NAME, ACCESS, 1) SCATTERED(NAME, ACCESS, 2) SCATTERED(NAME, ACCESS, 4)
WIDTHS(store, kStore) WIDTHS(load, kLoad) WIDTHS(around, kLoadAround)

// The same of lines side by side, each accessed once: what the L2 has none of. Launched under ncu.
#define PARTIAL(NAME, ACCESS, WORDS)                                                                                         \
    extern "C" __global__ void __launch_bounds__(1024) partial_##NAME##_##WORDS(                                             \
        u64* spans, char* data, int trips, int lines, int sectors, int parts, int bytes) {                                   \
        scattered<ACCESS, WORDS>(spans, data, trips, lines, sectors, parts, 128, lines * 128, bytes, static_cast<u64>(bytes)); \
    }
#define PARTIALS(NAME, ACCESS) PARTIAL(NAME, ACCESS, 1) PARTIAL(NAME, ACCESS, 4)
PARTIALS(store, kStore) PARTIALS(load, kLoad)
