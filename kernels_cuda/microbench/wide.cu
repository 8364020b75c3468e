// Latencies of loads and copies by the bytes of a lane and by the rows that a warp's lanes lie in.
#include "common.cuh"

template <int kBytes>
struct Value;
template <>
struct Value<4> {
    u32 words[1];
    DEVICE void load(u64 at) { asm volatile("ld.global.u32 %0, [%1];" : "=r"(words[0]) : "l"(at) : "memory"); }
    DEVICE u32 all() const { return words[0]; }
};
template <>
struct Value<8> {
    u32 words[2];
    DEVICE void load(u64 at) { asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(words[0]), "=r"(words[1]) : "l"(at) : "memory"); }
    DEVICE u32 all() const { return words[0] | words[1]; }
};
template <>
struct Value<16> {
    u32 words[4];
    DEVICE void load(u64 at) {
        asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3]) : "l"(at) : "memory");
    }
    DEVICE u32 all() const { return words[0] | words[1] | words[2] | words[3]; }
};

// The lanes of a warp lie in rows of row_bytes, pitch bytes apart.
DEVICE u64 place(const char* data, u32 lane_bytes, u32 row_bytes, u32 pitch) {
    const u32 each = row_bytes / lane_bytes, lane = lane_id();
    return __cvta_generic_to_global(data) + (warp_id() * 32 / each + lane / each) * static_cast<u64>(pitch) + lane % each * lane_bytes;
}

// A chain: each load's address waits for the value before it, which is zero, and lies `along` bytes further along the rows.
template <int kBytes>
DEVICE void chain(u64* spans, const char* data, int loads, u32 row_bytes, u32 pitch, u32 along) {
    u64 at = place(data, kBytes, row_bytes, pitch);
    Value<kBytes> value;
    value.load(at);
    at += along + value.all();
    __syncthreads();
    const u64 begin = cycles();
#pragma unroll 4
    for (int i = 0; i < loads; ++i) {
        value.load(at);
        at += along + value.all();
    }
    const u64 end = cycles();
    record(spans, begin, end, static_cast<u32>(at));
}

// The same of copies of 16 bytes a lane, each of which is waited for.
DEVICE void copies(u64* spans, const char* data, int loads, u32 row_bytes, u32 pitch, u32 along) {
    extern __shared__ __align__(128) char words[];
    u64 at = place(data, 16, row_bytes, pitch);
    const u32 to = shared_address(words) + threadIdx.x * 16;
    __syncthreads();
    const u64 begin = cycles();
#pragma unroll 4
    for (int i = 0; i < loads; ++i) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\ncp.async.commit_group;\ncp.async.wait_group 0;" ::"r"(to), "l"(at) : "memory");
        at += along;
    }
    record(spans, begin, cycles(), 0);
}

extern "C" __global__ void chain_4(u64* s, const char* d, int n, u32 r, u32 p, u32 a) { chain<4>(s, d, n, r, p, a); }
extern "C" __global__ void chain_8(u64* s, const char* d, int n, u32 r, u32 p, u32 a) { chain<8>(s, d, n, r, p, a); }
extern "C" __global__ void chain_16(u64* s, const char* d, int n, u32 r, u32 p, u32 a) { chain<16>(s, d, n, r, p, a); }
extern "C" __global__ void copied(u64* s, const char* d, int n, u32 r, u32 p, u32 a) { copies(s, d, n, r, p, a); }
