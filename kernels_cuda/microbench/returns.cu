// Loads and copies that pass the L1, or go around it, of rows that the L2 holds: cycles of the SM for each.
#include "common.cuh"

constexpr int kAccesses = 4;  // of a warp and round, 512 bytes each
constexpr int kRounds = 4;    // rounds of copies that may be on their way

enum Way { kThrough, kAround };

// Rows of row_bytes lie pitch bytes apart; a warp's accesses of a round are of rows one below the other.
struct Rows {
    u64 first, step;

    DEVICE Rows(const char* data, u32 row_bytes, u32 pitch) {
        const u32 each = row_bytes / 16, lane = lane_id();
        step = static_cast<u64>(32 / each) * pitch;
        first = __cvta_generic_to_global(data) + warp_id() * kAccesses * step + lane / each * static_cast<u64>(pitch) + lane % each * 16;
    }
};

// spans: of each warp. Each round goes on by `along` bytes along the rows.
template <Way kWay>
DEVICE void load(u64* spans, const char* data, int rounds, u32 row_bytes, u32 pitch, u32 along) {
    const Rows rows(data, row_bytes, pitch);
    u32 value[kAccesses][4] = {}, sum = 0;
    __syncthreads();
    const u64 begin = cycles();
#pragma unroll 1
    for (u64 at = rows.first; rounds > 0; --rounds, at += along) {
#pragma unroll
        for (int i = 0; i < kAccesses; ++i) {
            sum += value[i][0] ^ value[i][1] ^ value[i][2] ^ value[i][3];
            if (kWay == kThrough)
                asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(value[i][0]), "=r"(value[i][1]), "=r"(value[i][2]), "=r"(value[i][3]) : "l"(at + i * rows.step));
            else
                asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(value[i][0]), "=r"(value[i][1]), "=r"(value[i][2]), "=r"(value[i][3]) : "l"(at + i * rows.step));
        }
    }
    for (int i = 0; i < kAccesses; ++i) sum += value[i][0] ^ value[i][1] ^ value[i][2] ^ value[i][3];
    record(spans, begin, cycles(), sum);
}

// The same of copies, a round in a group.
template <Way kWay>
DEVICE void copy(u64* spans, const char* data, int rounds, u32 row_bytes, u32 pitch, u32 along) {
    extern __shared__ __align__(128) char words[];
    const Rows rows(data, row_bytes, pitch);
    const u32 slot = blockDim.x * 16 * kAccesses;
    const u32 target = shared_address(words) + warp_id() * 512 * kAccesses + lane_id() * 16;
    u32 into = 0;
    __syncthreads();
    const u64 begin = cycles();
#pragma unroll 1
    for (u64 at = rows.first; rounds > 0; --rounds, at += along) {
#pragma unroll
        for (int i = 0; i < kAccesses; ++i) {
            if (kWay == kThrough)
                asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(target + into + i * 512), "l"(at + i * rows.step) : "memory");
            else
                asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(target + into + i * 512), "l"(at + i * rows.step) : "memory");
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
        asm volatile("cp.async.wait_group %0;" ::"n"(kRounds - 1) : "memory");
        into = into < kRounds * slot ? into + slot : 0;
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    record(spans, begin, cycles(), 0);
}

extern "C" __global__ void __launch_bounds__(512) loads(u64* spans, const char* data, int rounds, u32 row_bytes, u32 pitch, u32 along) {
    load<kThrough>(spans, data, rounds, row_bytes, pitch, along);
}
extern "C" __global__ void __launch_bounds__(512) loads_around(u64* spans, const char* data, int rounds, u32 row_bytes, u32 pitch, u32 along) {
    load<kAround>(spans, data, rounds, row_bytes, pitch, along);
}
extern "C" __global__ void __launch_bounds__(512) copies(u64* spans, const char* data, int rounds, u32 row_bytes, u32 pitch, u32 along) {
    copy<kThrough>(spans, data, rounds, row_bytes, pitch, along);
}
extern "C" __global__ void __launch_bounds__(512) copies_around(u64* spans, const char* data, int rounds, u32 row_bytes, u32 pitch, u32 along) {
    copy<kAround>(spans, data, rounds, row_bytes, pitch, along);
}
