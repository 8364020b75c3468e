// Lines that only the DRAM holds: the latency of single loads, and groups of cp.async as a GEMM's k tiles.
#include "common.cuh"

// Reads all bytes, past the L1, and so fills the L2 with lines that nothing has modified.
extern "C" __global__ void __launch_bounds__(1024) read_through(u32* sink, const char* data, u64 bytes) {
    const u64 base = __cvta_generic_to_global(data);
    const u64 step = static_cast<u64>(gridDim.x) * blockDim.x * 16;
    u32 folded = 0;
    for (u64 at = (static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x) * 16; at < bytes; at += step) {
        u32 r[1][4];
        asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(r[0][0]), "=r"(r[0][1]), "=r"(r[0][2]), "=r"(r[0][3]) : "l"(base + at) : "memory");
        folded ^= fold(r);
    }
    if (folded == 0x9e3779b9u) sink[0] = folded;
}

// A bijection of 32 bits (the finaliser of MurmurHash3): different seeds and CTAs have different lines.
DEVICE u32 mixed(u32 value) {
    value = (value ^ value >> 16) * 0x85ebca6bu;
    value = (value ^ value >> 13) * 0xc2b2ae35u;
    return value ^ value >> 16;
}

// One lane of a CTA times three loads: of line 0, which brings the code; of a random line; of that line again. The
// words are zero, so that each address can wait for the load before it. The number of lines is a power of two.
extern "C" __global__ void random_lines(u32* latencies, const char* data, u32 lines, u32 seed) {
    if (threadIdx.x != 0) return;
    const u64 base = __cvta_generic_to_global(data);
    const u64 random = static_cast<u64>(mixed(seed + blockIdx.x) & (lines - 1)) * 128;
    u32 zero = 0, before = 0, latest = 0;
#pragma unroll 1
    for (int pass = 0; pass < 3; ++pass) {
        u64 begin;
        const u64 address = base + (pass == 0 ? 0 : random) + zero;
        before = latest;
        latest = load_cycles(address, zero, begin);
    }
    latencies[2 * blockIdx.x] = before;
    latencies[2 * blockIdx.x + 1] = latest;
}

// k tiles of two operands, each 128 rows of kVectors * 16 bytes, copied by 128 threads, one commit group a tile. CTAs
// lie in rows of `share` CTAs: those of a row read the same first operand, those of a column the same second one. With
// share 0, every CTA has operands of its own. Stamps [CTA][tile]: cycles of the issue, and until the group has landed.
template <int kVectors, bool kPrefetch>
DEVICE void groups(u64* stamps, const char* data, u64 second, u32 row_bytes, int tiles, int share) {
    extern __shared__ __align__(128) char target[];
    constexpr int kRows = 128, kThreads = 128, kStep = kThreads / kVectors;
    const u32 m = share ? blockIdx.x / share : blockIdx.x, n = share ? blockIdx.x % share : blockIdx.x;
    const u32 row = threadIdx.x / kVectors, column = threadIdx.x % kVectors * 16;
    const u64 base = __cvta_generic_to_global(data);
    const u64 a = base + (static_cast<u64>(m) * kRows + row) * row_bytes + column;
    const u64 b = base + second + (static_cast<u64>(n) * kRows + row) * row_bytes + column;
    const u32 shared = shared_address(target) + threadIdx.x * 16;
    __syncthreads();
#pragma unroll 1
    for (int tile = 0; tile < tiles; ++tile) {
        const u64 begin = cycles();
#pragma unroll
        for (int i = 0; i < 2 * kVectors; ++i) {
            const u64 from = (i % 2 ? b : a) + static_cast<u64>(i / 2 * kStep) * row_bytes + tile * kVectors * 16;
            const u32 to = shared + i * kThreads * 16;
            if (kPrefetch) asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
            else asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
        const u64 issued = cycles();
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        const u64 landed = cycles();
        __syncthreads();
        if (threadIdx.x == 0) {
            u64* to = stamps + 2 * (static_cast<u64>(blockIdx.x) * tiles + tile);
            to[0] = issued - begin, to[1] = landed - begin;
        }
    }
}
#define GROUPS(VECTORS, PREFETCH)                                                                                 \
    extern "C" __global__ void __launch_bounds__(128) groups_##VECTORS##_##PREFETCH(                              \
        u64* stamps, const char* data, u64 second, u32 row_bytes, int tiles, int share) {                         \
        groups<VECTORS, PREFETCH>(stamps, data, second, row_bytes, tiles, share);                                 \
    }
GROUPS(4, 0) GROUPS(4, 1) GROUPS(8, 0) GROUPS(8, 1)
