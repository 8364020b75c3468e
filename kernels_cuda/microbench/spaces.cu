// Loads that hit the L1 or shared memory, by address space: global, local, shared, and generic addresses; and stores.
#include "common.cuh"

enum Space { kGlobal, kLocal, kShared, kGenericGlobal, kGenericShared };

constexpr u32 kWarpBytes = 4096, kSlots = 64, kChained = 32;

// Of local and of shared memory, an address is a word; of the others it is two.
template <Space kSpace>
DEVICE u64 load(u64 at) {
    u64 value;
    u32 word;
    if (kSpace == kGlobal) asm volatile("ld.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
    else if (kSpace == kLocal) asm volatile("ld.local.u32 %0, [%1];" : "=r"(word) : "l"(at) : "memory");
    else if (kSpace == kShared) asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "l"(at) : "memory");
    else asm volatile("ld.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
    if (kSpace == kLocal || kSpace == kShared) value = word;
    return value;
}

// Volatile, for the next store of the same word makes this one dead. Local memory has none such.
template <Space kSpace>
DEVICE void store(u64 at, u64 value) {
    if (kSpace == kGlobal) asm volatile("st.volatile.global.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
    else if (kSpace == kLocal) asm volatile("st.local.u32 [%0], %1;" ::"l"(at), "r"(static_cast<u32>(value)) : "memory");
    else if (kSpace == kShared) asm volatile("st.volatile.shared.u32 [%0], %1;" ::"l"(at), "r"(static_cast<u32>(value)) : "memory");
    else asm volatile("st.volatile.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
}

// Where this lane's address is: `lanes` lanes side by side are in one line of 128 bytes, which holds 16 addresses of two words.
// In local memory they are in one slot, and a slot of all lanes is a line.
template <Space kSpace>
DEVICE u64 own_word(char* data, u32 (&slots)[kSlots], u32 lanes) {
    extern __shared__ __align__(128) char words[];
    const u32 lane = lane_id(), own = warp_id() * kWarpBytes + lane / lanes * 128 + lane % lanes % 16 * 8;
    u64 at;
    if (kSpace == kGlobal || kSpace == kGenericGlobal) at = reinterpret_cast<u64>(data + own);
    else if (kSpace == kShared || kSpace == kGenericShared) at = reinterpret_cast<u64>(words + own);
    else at = reinterpret_cast<u64>(&slots[lane / lanes]);
    if (kSpace == kGlobal) asm volatile("cvta.to.global.u64 %0, %0;" : "+l"(at));
    if (kSpace == kLocal) asm volatile("cvta.to.local.u64 %0, %0;" : "+l"(at));
    if (kSpace == kShared) asm volatile("cvta.to.shared.u64 %0, %0;" : "+l"(at));
    return at;
}

// Each word has its own address, so each load waits for the last one of its chain.
template <Space kSpace, int kIlp>
DEVICE void loads(u64* spans, char* data, int iterations, u32 lanes) {
    u32 slots[kSlots];
    u64 x[1][kIlp];
    const u64 own = own_word<kSpace>(data, slots, lanes);
    store<kSpace>(own, own);
#pragma unroll
    for (int i = 0; i < kIlp; ++i) x[0][i] = load<kSpace>(own);
    __syncthreads();
    const u64 begin = cycles();
#pragma unroll 1
    for (int iteration = 0; iteration < iterations; ++iteration) {
#pragma unroll
        for (int round = 0; round < kChained / kIlp; ++round) {
#pragma unroll
            for (int i = 0; i < kIlp; ++i) x[0][i] = load<kSpace>(x[0][i]);
        }
    }
    const u32 result = fold(x);
    branch_on(result ^ 0x9e3779b9);
    record(spans, begin, cycles(), result);
}

template <Space kSpace>
DEVICE void stores(u64* spans, char* data, int iterations, u32 lanes) {
    u32 slots[kSlots];
    const u64 own = own_word<kSpace>(data, slots, lanes);
    __syncthreads();
    const u64 begin = cycles();
#pragma unroll 1
    for (int iteration = 0; iteration < iterations; ++iteration) {
#pragma unroll
        for (int i = 0; i < kChained; ++i) store<kSpace>(own + (kSpace == kLocal ? i * 4 : 0), begin + i);
    }
    const u64 end = cycles();
    record(spans, begin, end, bits(load<kSpace>(own)));
}

#define LOADS(NAME, SPACE, ILP)                                                                                                 \
    extern "C" __global__ void __launch_bounds__(512) load_##NAME##_##ILP(u64* spans, char* data, int iterations, u32 lanes) { \
        loads<SPACE, ILP>(spans, data, iterations, lanes);                                                                      \
    }
#define STORES(NAME, SPACE)                                                                                                     \
    extern "C" __global__ void __launch_bounds__(512) store_of_##NAME(u64* spans, char* data, int iterations, u32 lanes) {     \
        stores<SPACE>(spans, data, iterations, lanes);                                                                          \
    }
LOADS(global, kGlobal, 1) LOADS(global, kGlobal, 8) LOADS(local, kLocal, 1) LOADS(local, kLocal, 8)
LOADS(shared, kShared, 1) LOADS(shared, kShared, 8) LOADS(generic_global, kGenericGlobal, 1) LOADS(generic_global, kGenericGlobal, 8)
LOADS(generic_shared, kGenericShared, 1) LOADS(generic_shared, kGenericShared, 8)
STORES(local, kLocal) STORES(shared, kShared) STORES(global, kGlobal) STORES(generic_shared, kGenericShared)
