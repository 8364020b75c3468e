// Fences by scope, with nothing before them or with stores, additions or loads that have not been performed; sleep and warp barrier.
#include "common.cuh"

constexpr int kUnrolled = 8;
constexpr u32 kPart = 4096, kParts = 8, kWarpBytes = kParts * kPart, kLine = 128, kSettled = 4000;
constexpr u32 kNever = 0x9e3779b9;  // no sum is that

#define PTX_FENCE(NAME, PTX)                                                \
    struct NAME {                                                           \
        static DEVICE void wait(u64, u32&) { asm volatile(PTX ::: "memory"); } \
    };
#define CALLED_FENCE(NAME, CALL)                      \
    struct NAME {                                     \
        static DEVICE void wait(u64, u32&) { CALL; } \
    };
#define LOAD_FENCE(NAME, PTX)                                                                                  \
    struct NAME {                                                                                              \
        static DEVICE void wait(u64 flag, u32& zero) {                                                         \
            asm volatile(PTX " %0, [%1];" : "=r"(zero) : "l"(flag + zero) : "memory"); /* zero, as all data are */ \
        }                                                                                                      \
    };
#define STORE_FENCE(NAME, PTX)                                                                             \
    struct NAME {                                                                                          \
        static DEVICE void wait(u64 flag, u32&) { asm volatile(PTX " [%0], 0;" ::"l"(flag) : "memory"); } \
    };

CALLED_FENCE(none, )
CALLED_FENCE(threadfence_block, __threadfence_block())
CALLED_FENCE(threadfence, __threadfence())
CALLED_FENCE(threadfence_system, __threadfence_system())
PTX_FENCE(acq_rel_cta, "fence.acq_rel.cta;")
PTX_FENCE(acq_rel_gpu, "fence.acq_rel.gpu;")
PTX_FENCE(acq_rel_sys, "fence.acq_rel.sys;")
CALLED_FENCE(nanosleep_0, __nanosleep(0))
CALLED_FENCE(syncwarp, __syncwarp())
// A chain of loads that hit the L2, and the same with CCTL.IVALL behind each; a store, and the same behind MEMBAR without CCTL.
LOAD_FENCE(relaxed_load, "ld.relaxed.gpu.global.u32")
LOAD_FENCE(acquire_load, "ld.acquire.gpu.global.u32")
STORE_FENCE(relaxed_store, "st.relaxed.gpu.global.u32")
STORE_FENCE(release_store, "st.release.gpu.global.u32")

// What is issued before a fence: an access of a word of each lane.
struct nothing {
    static DEVICE void issue(u64, u32, u32&) {}
};
struct sts {
    static DEVICE void issue(u64, u32 shared, u32&) { asm volatile("st.volatile.shared.u32 [%0], %1;" ::"r"(shared), "r"(0) : "memory"); }
};
struct stg {
    static DEVICE void issue(u64 at, u32, u32&) { asm volatile("st.global.u32 [%0], %1;" ::"l"(at), "r"(0) : "memory"); }
};
struct red {
    static DEVICE void issue(u64 at, u32, u32&) { asm volatile("red.global.add.u32 [%0], %1;" ::"l"(at), "r"(0) : "memory"); }
};
struct ldg {
    static DEVICE void issue(u64 at, u32, u32& value) { asm volatile("ld.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory"); }
};

struct Own {
    u64 global, flag;
    u32 shared;
};

// Words of lanes are `step` bytes apart in global memory, in parts of the warp's own; its flags are in a part behind these.
DEVICE Own own_words(char* data, u32 step) {
    extern __shared__ __align__(128) char words[];
    const u64 first = __cvta_generic_to_global(data) + (static_cast<u64>(blockIdx.x) * 32 + warp_id()) * (kWarpBytes + kPart);
    return {first + lane_id() * step, first + kWarpBytes + kPart / 2 + lane_id() * 4, shared_address(words) + warp_id() * kParts * kLine + lane_id() * 4};
}

// Accesses in turn are one line apart: of stores to one word, or loads from it, ptxas drops all but one.
template <class Pending, int kCount>
DEVICE void issue(const Own& own, u32 (&values)[1][kParts], int turn) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) Pending::issue(own.global + i * kPart + turn * kLine, own.shared + i * kLine, values[0][i]);
}

// Accesses and a fence, in turn. The first trip, which no clock times, brings code and data.
template <class Fence, class Pending, int kCount>
DEVICE void chain(u64* spans, char* data, int trips, u32 step) {
    const Own own = own_words(data, step);
    u32 values[1][kParts] = {}, zero = 0, sum = 0;
    u64 begin = 0;
#pragma unroll 1
    for (int trip = 0; trip <= trips; ++trip) {
        if (trip == 1) {
            __syncthreads();
            begin = cycles();
        }
#pragma unroll
        for (int i = 0; i < kUnrolled; ++i) {
            sum ^= fold(values);
            issue<Pending, kCount>(own, values, i);
            Fence::wait(own.flag + i * kLine, zero);
        }
    }
    sum ^= fold(values) ^ zero;
    branch_on(sum ^ kNever);
    record(spans, begin, cycles(), sum);
}

// The cycles of fences alone, each `delay` cycles after the accesses have been issued. The end is 1 and their sum, but for the
// first one, whose code and data are cold.
template <class Fence, class Pending, int kCount>
DEVICE void after(u64* spans, char* data, int trips, u32 step, u32 delay) {
    const Own own = own_words(data, step);
    u32 values[1][kParts] = {}, zero = 0, sum = 0;
    u64 spent = 0;
#pragma unroll 1
    for (int trip = 0; trip <= trips; ++trip) {
        issue<Pending, kCount>(own, values, 0);
        if (delay) wait_until(cycles() + delay);
        const u64 begin = cycles();
        Fence::wait(own.flag, zero);
        branch_on(zero ^ kNever);
        const u64 end = cycles();
        if (trip) spent += end - begin;
        wait_until(end + kSettled);
        sum ^= fold(values);
    }
    record(spans, 1, 1 + spent, sum);
}

#define CHAIN(FENCE, PENDING, COUNT)                                                                          \
    extern "C" __global__ void __launch_bounds__(1024) chain_##FENCE##_##PENDING##_##COUNT(                   \
        u64* spans, char* data, int trips, u32 step) {                                                        \
        chain<FENCE, PENDING, COUNT>(spans, data, trips, step);                                               \
    }
#define AFTER(FENCE, PENDING, COUNT)                                                                          \
    extern "C" __global__ void __launch_bounds__(1024) after_##FENCE##_##PENDING##_##COUNT(                   \
        u64* spans, char* data, int trips, u32 step, u32 delay) {                                             \
        after<FENCE, PENDING, COUNT>(spans, data, trips, step, delay);                                        \
    }
#define COUNTS(FENCE, PENDING)                                                                                \
    CHAIN(FENCE, PENDING, 1) CHAIN(FENCE, PENDING, 2) CHAIN(FENCE, PENDING, 4) CHAIN(FENCE, PENDING, 8)       \
    AFTER(FENCE, PENDING, 1) AFTER(FENCE, PENDING, 8)
// Behind no loads: where no fence is between two loads of a word, ptxas drops the second.
#define UNFENCED(FENCE)                                                                                       \
    CHAIN(FENCE, nothing, 0) AFTER(FENCE, nothing, 0)                                                         \
    COUNTS(FENCE, sts) COUNTS(FENCE, stg) COUNTS(FENCE, red)
#define FENCES(FENCE) UNFENCED(FENCE) COUNTS(FENCE, ldg)
UNFENCED(none) UNFENCED(nanosleep_0) UNFENCED(syncwarp)
FENCES(threadfence_block) FENCES(threadfence) FENCES(threadfence_system)
FENCES(acq_rel_cta) FENCES(acq_rel_gpu) FENCES(acq_rel_sys)
FENCES(relaxed_load) FENCES(acquire_load) FENCES(relaxed_store) FENCES(release_store)
