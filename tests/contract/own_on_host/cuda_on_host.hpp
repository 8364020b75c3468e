// CUDA C++ on the CPU: every thread of a CTA is a fiber, and CTAs run one after the other. Threads change where they wait for
// others, at barriers and at functions of a warp. What a kernel may use of CUDA is listed here, and nothing more.
#pragma once

#include <math.h>
#include <ucontext.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#define __global__
#define __device__ static
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __constant__ static
#define __shared__ static
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(threads)

#define VECTOR_2(NAME, TYPE)       \
    struct alignas(2 * sizeof(TYPE)) NAME { \
        TYPE x, y;                 \
    };                             \
    static inline NAME make_##NAME(TYPE x, TYPE y) { return {x, y}; }
#define VECTOR_4(NAME, TYPE)       \
    struct alignas(4 * sizeof(TYPE)) NAME { \
        TYPE x, y, z, w;           \
    };                             \
    static inline NAME make_##NAME(TYPE x, TYPE y, TYPE z, TYPE w) { return {x, y, z, w}; }
VECTOR_2(float2, float) VECTOR_2(int2, int) VECTOR_2(double2, double)
VECTOR_4(float4, float) VECTOR_4(int4, int) VECTOR_4(uint4, unsigned)

namespace host {

struct Extent {
    unsigned x, y, z;
};

// Participants come, and when all have come, all go on.
struct Meeting {
    unsigned arrived = 0, phase = 0;
};

struct Warp {
    std::map<unsigned, Meeting> meetings;  // by mask
    unsigned char values[32][16];
};

struct Fiber {
    ucontext_t context;
    Extent thread;
    unsigned number;
    bool done;
};

constexpr std::size_t kStack = 1 << 16;

inline Extent grid, block, cta;
inline std::vector<Fiber> fibers;
inline std::vector<unsigned char> stacks;
inline std::vector<Warp> warps;
inline Meeting barriers[16];
inline Fiber* current;
inline ucontext_t scheduler;
inline unsigned long long progress;
inline std::function<void()> body;
alignas(1024) inline unsigned char dynamic_shared[1 << 17];

inline void give_up(const char* why) {
    std::fprintf(stderr, "%s: CTA %u %u %u, thread %u\n", why, cta.x, cta.y, cta.z, current ? current->number : 0);
    std::abort();
}

inline void arrive(Meeting& meeting, unsigned participants) {
    ++progress;
    if (++meeting.arrived == participants) {
        meeting.arrived = 0;
        ++meeting.phase;
    }
}

inline void meet(Meeting& meeting, unsigned participants) {
    const unsigned phase = meeting.phase;
    arrive(meeting, participants);
    while (meeting.phase == phase) swapcontext(&current->context, &scheduler);
}

inline unsigned threads() { return block.x * block.y * block.z; }
inline unsigned lane() { return current->number % 32; }
inline Warp& warp() { return warps[current->number / 32]; }

inline void meet_warp(unsigned mask) {
    if (!(mask >> lane() & 1)) give_up("a thread is missing in its own mask");
    meet(warp().meetings[mask], __builtin_popcount(mask));
}

// The values of all lanes of a mask; those of others are not defined.
template <class Value>
void collect(unsigned mask, Value value, Value (&all)[32]) {
    static_assert(sizeof(Value) <= sizeof(Warp::values[0]));
    std::memcpy(warp().values[lane()], &value, sizeof value);
    meet_warp(mask);
    for (int each = 0; each < 32; ++each) std::memcpy(&all[each], warp().values[each], sizeof value);
    meet_warp(mask);
}

inline void start() {
    body();
    current->done = true;
    ++progress;
    swapcontext(&current->context, &scheduler);
}

inline void run_cta() {
    const unsigned count = threads();
    warps.assign((count + 31) / 32, Warp());
    for (Meeting& barrier : barriers) barrier = Meeting();
    for (unsigned i = 0; i < count; ++i) {
        Fiber& fiber = fibers[i];
        fiber.thread = {i % block.x, i / block.x % block.y, i / (block.x * block.y)};
        fiber.number = i;
        fiber.done = false;
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = &stacks[i * kStack];
        fiber.context.uc_stack.ss_size = kStack;
        fiber.context.uc_link = nullptr;
        makecontext(&fiber.context, start, 0);
    }
    for (unsigned left = count; left > 0;) {
        const unsigned long long before = progress;
        left = 0;
        for (unsigned i = 0; i < count; ++i) {
            if (fibers[i].done) continue;
            current = &fibers[i];
            swapcontext(&scheduler, &current->context);
            left += !fibers[i].done;
        }
        if (progress == before) give_up("every thread waits for others");
    }
}

template <class... Parameters, std::size_t... Index>
void call(void (*kernel)(Parameters...), void** arguments, std::index_sequence<Index...>) {
    kernel(*static_cast<std::remove_cv_t<Parameters>*>(arguments[Index])...);
}

// Launches a kernel. geometry: grid x, y, z, block x, y, z. arguments: pointers to the values of the parameters.
template <class... Parameters>
void run(void (*kernel)(Parameters...), const unsigned* geometry, void** arguments) {
    grid = {geometry[0], geometry[1], geometry[2]};
    block = {geometry[3], geometry[4], geometry[5]};
    fibers.resize(threads());
    stacks.resize(threads() * kStack);
    body = [=] { call(kernel, arguments, std::index_sequence_for<Parameters...>()); };
    for (cta.z = 0; cta.z < grid.z; ++cta.z)
        for (cta.y = 0; cta.y < grid.y; ++cta.y)
            for (cta.x = 0; cta.x < grid.x; ++cta.x) run_cta();
}

}  // namespace host

#define threadIdx (host::current->thread)
#define blockIdx (host::cta)
#define blockDim (host::block)
#define gridDim (host::grid)

static inline void __syncthreads() { host::meet(host::barriers[0], host::threads()); }
static inline void __threadfence_block() {}

// Functions of a warp

template <class Value>
Value exchanged(unsigned mask, Value value, int from) {
    Value all[32];
    host::collect(mask, value, all);
    return from >= 0 && from < 32 ? all[from] : value;
}
template <class Value>
Value __shfl_xor_sync(unsigned mask, Value value, int bits) {
    return exchanged(mask, value, host::lane() ^ bits);
}
template <class Value>
Value __shfl_down_sync(unsigned mask, Value value, int step) {
    return exchanged(mask, value, host::lane() + step);
}
template <class Value>
Value __shfl_up_sync(unsigned mask, Value value, int step) {
    return exchanged(mask, value, static_cast<int>(host::lane()) - step);
}
template <class Value, class Join>
Value joined(unsigned mask, Value value, Join join) {
    Value all[32], result = value;
    host::collect(mask, value, all);
    for (unsigned each = 0; each < 32; ++each)
        if (mask >> each & 1 && each != host::lane()) result = join(result, all[each]);
    return result;
}
static inline unsigned __ballot_sync(unsigned mask, int predicate) {
    return joined(mask, predicate ? 1u << host::lane() : 0u, [](unsigned a, unsigned b) { return a | b; });
}
template <class Value>
unsigned __match_any_sync(unsigned mask, Value value) {
    Value all[32];
    unsigned alike = 0;
    host::collect(mask, value, all);
    for (unsigned each = 0; each < 32; ++each) alike |= (mask >> each & 1 && all[each] == value) << each;
    return alike;
}
static inline int __reduce_add_sync(unsigned mask, int value) {
    return joined(mask, value, [](int a, int b) { return a + b; });
}
static inline int __reduce_max_sync(unsigned mask, int value) {
    return joined(mask, value, [](int a, int b) { return a > b ? a : b; });
}
static inline unsigned __reduce_or_sync(unsigned mask, unsigned value) {
    return joined(mask, value, [](unsigned a, unsigned b) { return a | b; });
}

// Atomics: no thread changes within one

template <class Value>
Value atomicAdd(Value* to, Value value) {
    const Value before = *to;
    *to += value;
    return before;
}
template <class Value>
Value atomicCAS(Value* to, Value seen, Value value) {
    const Value before = *to;
    if (before == seen) *to = value;
    return before;
}
template <class Value>
void atomicMin(Value* to, Value value) {
    if (value < *to) *to = value;
}
template <class Value>
void atomicMax(Value* to, Value value) {
    if (value > *to) *to = value;
}
template <class Value>
void atomicAnd(Value* to, Value value) {
    *to &= value;
}
template <class Value>
void atomicOr(Value* to, Value value) {
    *to |= value;
}
template <class Value>
void atomicXor(Value* to, Value value) {
    *to ^= value;
}

// Arithmetic

static inline int min(int a, int b) { return a < b ? a : b; }
static inline int max(int a, int b) { return a > b ? a : b; }
static inline float rsqrtf(float x) { return 1 / sqrtf(x); }
static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<std::uint64_t>(a) * b >> 32; }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return static_cast<unsigned __int128>(a) * b >> 64;
}
static inline int __dp4a(int a, int b, int c) {
    for (int shift = 0; shift < 32; shift += 8) c += static_cast<signed char>(a >> shift) * static_cast<signed char>(b >> shift);
    return c;
}
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(x); }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline unsigned __brev(unsigned x) {
    unsigned reversed = 0;
    for (int bit = 0; bit < 32; ++bit) reversed |= (x >> bit & 1) << (31 - bit);
    return reversed;
}
static inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return ((static_cast<std::uint64_t>(high) << 32 | low) << (shift & 31)) >> 32;
}
static inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
    const std::uint64_t bytes = static_cast<std::uint64_t>(high) << 32 | low;
    unsigned chosen = 0;
    for (int at = 0; at < 4; ++at) chosen |= (bytes >> 8 * (selector >> 4 * at & 7) & 255) << 8 * at;
    return chosen;
}
template <class To, class From>
To bits_as(From value) {
    static_assert(sizeof(To) == sizeof(From));
    To bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}
static inline unsigned __float_as_uint(float x) { return bits_as<unsigned>(x); }
static inline float __uint_as_float(unsigned x) { return bits_as<float>(x); }
