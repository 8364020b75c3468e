// Global memory: latency of L1, L2 near and far, DRAM; bandwidth of L2 and DRAM from one SM and from all.
#include "common.cuh"

// A plain load is cached in L1 (with .ca written out it becomes a load of stronger ordering); .cg is not.
enum Cache { kAll = 0, kL2Only = 1 };

template <int kCache>
DEVICE u64 load_pointer(u64 address) {
    u64 next;
    if (kCache == kAll) asm volatile("ld.global.u64 %0, [%1];" : "=l"(next) : "l"(address) : "memory");
    else asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(next) : "l"(address) : "memory");
    return next;
}

// Follows a list of pointers, one thread of the CTA that lies on the wanted SM (the first of them; -1: CTA 0).
template <int kCache>
DEVICE void chase(u64* spans, u32* claimed, u64 start, int hops, int warm_hops, int sm) {
    if (threadIdx.x != 0) return;
    if (sm < 0 ? blockIdx.x != 0 : sm_id() != static_cast<u32>(sm) || atomicAdd(claimed, 1) != 0) return;
    u64 address = start;
#pragma unroll 1
    for (int i = 0; i < warm_hops; ++i) address = load_pointer<kCache>(address);
    const u64 begin = cycles() + (address == 0);
#pragma unroll 1
    for (int i = 0; i < hops; i += 16) {
#pragma unroll
        for (int j = 0; j < 16; ++j) address = load_pointer<kCache>(address);
    }
    const u64 end = cycles() + (address == 0);
    spans[0] = begin;
    spans[1] = end;
    if (begin == end) spans[2] = address;
}
extern "C" __global__ void chase_all(u64* spans, u32* claimed, u64 start, int hops, int warm_hops, int sm) {
    chase<kAll>(spans, claimed, start, hops, warm_hops, sm);
}
extern "C" __global__ void chase_l2(u64* spans, u32* claimed, u64 start, int hops, int warm_hops, int sm) {
    chase<kL2Only>(spans, claimed, start, hops, warm_hops, sm);
}

// Times the load of every line by itself, on the wanted SM, after a pass that brings the lines to the L2. The words
// are zero, so that each address can wait for the load before it. One pass more times the clock reads themselves.
extern "C" __global__ void line_latencies(u32* latencies, u32* claimed, const char* data, int lines, u32 line_bytes,
                                          int sm) {
    if (threadIdx.x != 0 || sm_id() != static_cast<u32>(sm) || atomicAdd(claimed, 1) != 0) return;
    u32 zero = 0;
    u64 base = __cvta_generic_to_global(data);
#pragma unroll 1
    for (int pass = 0; pass < 2; ++pass) {
#pragma unroll 1
        for (int line = 0; line < lines; ++line) {
            u32 word;
            const u64 begin = cycles() + zero;
            asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(word) : "l"(base + static_cast<u64>(line) * line_bytes + (begin == 0)) : "memory");
            zero = word;
            u64 end;
            // The clock is read behind a branch on the loaded word: nothing else makes it wait for the load.
            if (zero == 0) end = cycles(); else end = 0;
            latencies[line] = static_cast<u32>(end - begin);
        }
    }
}

// Every thread reads 16 bytes of 8 places a step; CTA i reads bytes_per_cta from i * cta_stride on, passes times.
template <int kCache>
DEVICE void read(u64* spans, u32* sms, const char* data, u32 bytes_per_cta, u64 cta_stride, int passes) {
    u32 folded = 0;
    const u64 base = __cvta_generic_to_global(data) + blockIdx.x * cta_stride + threadIdx.x * 16;
    const u32 step = blockDim.x * 16;
    __syncthreads();
    const u64 begin = cycles();
#pragma unroll 1
    for (int pass = 0; pass < passes; ++pass) {
#pragma unroll 1
        for (u32 at = 0; at < bytes_per_cta; at += 8 * step) {
            u32 r[8][4];
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                const u64 from = base + at + i * step;
                if (kCache == kAll)
                    asm volatile("ld.global.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(r[i][0]), "=r"(r[i][1]), "=r"(r[i][2]), "=r"(r[i][3]) : "l"(from) : "memory");
                else
                    asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(r[i][0]), "=r"(r[i][1]), "=r"(r[i][2]), "=r"(r[i][3]) : "l"(from) : "memory");
            }
            folded ^= fold(r);
        }
    }
    if (folded == 0x9e3779b9u) spans[0] = folded;
    __syncthreads();
    const u64 end = cycles();
    if (threadIdx.x == 0) sms[blockIdx.x] = sm_id();
    record(spans, begin, end, folded);
}
extern "C" __global__ void __launch_bounds__(1024) read_all(u64* spans, u32* sms, const char* data, u32 bytes_per_cta, u64 cta_stride, int passes) {
    read<kAll>(spans, sms, data, bytes_per_cta, cta_stride, passes);
}
extern "C" __global__ void __launch_bounds__(1024) read_l2(u64* spans, u32* sms, const char* data, u32 bytes_per_cta, u64 cta_stride, int passes) {
    read<kL2Only>(spans, sms, data, bytes_per_cta, cta_stride, passes);
}
