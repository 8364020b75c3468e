// Loads and copies that pass the L1, of rows that the L2 holds: cycles of the SM for each, by bytes of a row.
#include "common.cuh"

constexpr int kAccesses = 4;  // of a warp and round, 512 bytes each
constexpr int kRounds = 4;    // rounds of copies that may be on their way

// spans: of each warp. Rows of row_bytes are pitch bytes apart; each round goes on by `along` bytes along them.
struct Rows {
    u64 first, step;

    __device__ Rows(const char* data, u32 row_bytes, u32 pitch) {
        const u32 each = row_bytes / 16, lane = lane_id();
        step = static_cast<u64>(32 / each) * pitch;
        first = __cvta_generic_to_global(data) + warp_id() * kAccesses * step + lane / each * static_cast<u64>(pitch) +
                lane % each * 16;
    }
};

#define GPUSIM_LOADS(name, how)                                                                              \
    extern "C" __global__ void __launch_bounds__(512)                                                        \
        name(u64* spans, const char* data, int rounds, u32 row_bytes, u32 pitch, u32 along) {                \
        const Rows rows(data, row_bytes, pitch);                                                             \
        u32 value[kAccesses][4] = {}, sum = 0;                                                               \
        __syncthreads();                                                                                     \
        const u64 begin = cycles();                                                                          \
        _Pragma("unroll 1") for (u64 at = rows.first; rounds > 0; --rounds, at += along) {                   \
            _Pragma("unroll") for (int load = 0; load < kAccesses; ++load) {                                 \
                sum += value[load][0] ^ value[load][3];                                                      \
                asm volatile(how ".v4.u32 {%0, %1, %2, %3}, [%4];"                                           \
                             : "=r"(value[load][0]), "=r"(value[load][1]), "=r"(value[load][2]),             \
                               "=r"(value[load][3])                                                          \
                             : "l"(at + load * rows.step));                                                  \
            }                                                                                                \
        }                                                                                                    \
        for (int load = 0; load < kAccesses; ++load) sum += value[load][0] ^ value[load][3];                 \
        record(spans, begin, cycles(), sum);                                                                 \
    }

GPUSIM_LOADS(loads, "ld.global")
GPUSIM_LOADS(loads_around, "ld.global.cg")

// The same of copies, in groups of a round.
#define GPUSIM_COPIES(name, how)                                                                             \
    extern "C" __global__ void __launch_bounds__(512)                                                        \
        name(u64* spans, const char* data, int rounds, u32 row_bytes, u32 pitch, u32 along) {                \
        extern __shared__ __align__(128) char words[];                                                       \
        const Rows rows(data, row_bytes, pitch);                                                             \
        const u32 slot = blockDim.x * 16 * kAccesses;                                                        \
        const u32 target = shared_address(words) + warp_id() * 512 * kAccesses + lane_id() * 16;             \
        u32 into = 0;                                                                                        \
        __syncthreads();                                                                                     \
        const u64 begin = cycles();                                                                          \
        _Pragma("unroll 1") for (u64 at = rows.first; rounds > 0; --rounds, at += along) {                   \
            _Pragma("unroll") for (int copy = 0; copy < kAccesses; ++copy)                                   \
                asm volatile(how " [%0], [%1], 16;" ::"r"(target + into + copy * 512),                       \
                             "l"(at + copy * rows.step) : "memory");                                         \
            asm volatile("cp.async.commit_group;" ::: "memory");                                             \
            asm volatile("cp.async.wait_group %0;" ::"n"(kRounds - 1) : "memory");                           \
            into = into < kRounds * slot ? into + slot : 0;                                     \
        }                                                                                                    \
        asm volatile("cp.async.wait_group 0;" ::: "memory");                                                 \
        record(spans, begin, cycles(), 0);                                                                   \
    }

GPUSIM_COPIES(copies, "cp.async.ca.shared.global")
GPUSIM_COPIES(copies_around, "cp.async.cg.shared.global")
