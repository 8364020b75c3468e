// What a launch costs the chip as a whole: stores, reads of one line by many SMs, and SMs that have nothing to do.
#include "common.cuh"

// Each thread stores 16 bytes `per` times; the CTAs' stores adjoin. Without spans, nothing else is stored.
template <bool kFence>
DEVICE void store(u64* spans, char* data, int per) {
    const u64 step = blockDim.x * 16;
    const u64 base = __cvta_generic_to_global(data) + static_cast<u64>(blockIdx.x) * per * step + threadIdx.x * 16;
    // The address is computed before the clock is read.
    asm volatile("" ::"l"(base), "r"(per));
    __syncthreads();
    const u64 begin = cycles();
#pragma unroll 1
    for (int i = 0; i < per; ++i)
        asm volatile("st.global.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(base + i * step), "r"(1), "r"(2), "r"(3), "r"(threadIdx.x) : "memory");
    if (kFence) asm volatile("membar.gl;" ::: "memory");
    const u64 end = cycles();
    if (spans != nullptr) record(spans, begin, end, 0);
}
extern "C" __global__ void __launch_bounds__(128) stores(u64* spans, char* data, int per) {
    store<false>(spans, data, per);
}
extern "C" __global__ void __launch_bounds__(128) stores_fenced(u64* spans, char* data, int per) {
    store<true>(spans, data, per);
}

// Tiles of 16 KiB, two groups of cp.async in flight, after `delay` cycles; the next one fills other shared memory. Clocks [CTA]:
// cycles of all copies.
DEVICE void copy_tiles(u64* clocks, u32 shared, u64 base, int tiles, u64 delay) {
    const u64 first = cycles();
    while (cycles() - first < delay) {}
    const u64 begin = cycles();
#pragma unroll 1
    for (int tile = 0; tile < tiles; ++tile) {
#pragma unroll
        for (int i = 0; i < 8; ++i)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared + tile % 2 * 16384 + i * 2048), "l"(base + tile * 16384 + i * 2048) : "memory");
        asm volatile("cp.async.commit_group;" ::: "memory");
        asm volatile("cp.async.wait_group 1;" ::: "memory");
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    const u64 end = cycles();
    if (threadIdx.x == 0) clocks[blockIdx.x] = end - begin;
}

// The CTAs of a group copy the same tiles; CTA i of a group begins i * stagger cycles later.
extern "C" __global__ void __launch_bounds__(128) merged_reads(u64* clocks, const char* data, int tiles, int stagger, int group) {
    extern __shared__ __align__(128) char target[];
    const u32 shared = shared_address(target) + threadIdx.x * 16;
    const u64 base = __cvta_generic_to_global(data) + static_cast<u64>(blockIdx.x / group) * tiles * 16384 + threadIdx.x * 16;
    const u64 delay = static_cast<u64>(blockIdx.x % group) * stagger;
    copy_tiles(clocks, shared, base, tiles, delay);
}

// Eight chains of FFMA in each warp, for so many cycles of the SM's own counter.
extern "C" __global__ void __launch_bounds__(256) busy_fma(u64* clocks, int busy_cycles) {
    float x[1][8];
#pragma unroll
    for (int i = 0; i < 8; ++i) x[0][i] = threadIdx.x + i;
    const u64 begin = cycles();
    u64 now = begin;
    while (now - begin < static_cast<u64>(busy_cycles)) {
#pragma unroll
        for (int i = 0; i < 64; ++i) asm volatile("fma.rn.f32 %0, %0, %1, %0;" : "+f"(x[0][i % 8]) : "f"(0.5f));
        now = cycles();
    }
    if (threadIdx.x == 0) clocks[blockIdx.x] = now - begin;
    if (now == begin) clocks[0] = fold(x);
}

// Four chains of mma.sync m16n8k16 in each warp, likewise.
extern "C" __global__ void __launch_bounds__(256) busy_mma(u64* clocks, int busy_cycles) {
    float c[4][4];
#pragma unroll
    for (int i = 0; i < 16; ++i) c[i / 4][i % 4] = 0;
    const u32 operand = threadIdx.x;
    const u64 begin = cycles();
    u64 now = begin;
    while (now - begin < static_cast<u64>(busy_cycles)) {
#pragma unroll
        for (int i = 0; i < 8; ++i)
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                         : "+f"(c[i % 4][0]), "+f"(c[i % 4][1]), "+f"(c[i % 4][2]), "+f"(c[i % 4][3])
                         : "r"(operand), "r"(operand + 1), "r"(operand + 2), "r"(operand + 3), "r"(operand + 4), "r"(operand + 5));
        now = cycles();
    }
    if (threadIdx.x == 0) clocks[blockIdx.x] = now - begin;
    if (now == begin) clocks[0] = fold(c);
}

// CTAs that go on one after the other, as the slices of a serial split-K: each warp waits until all of the CTA before have
// added to the flag, stores, and adds to it. Clocks [CTA]: cycles until warp 0 may go on.
extern "C" __global__ void __launch_bounds__(128) slices(u64* clocks, int* flag, uint4* data, int stores) {
    const int warps = blockDim.x / 32;
    const u64 begin = cycles();
    if (blockIdx.x && lane_id() == 0) {
        int seen;
        do {
            asm volatile("ld.global.acquire.gpu.b32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
        } while (seen < static_cast<int>(blockIdx.x) * warps);
    }
    __syncwarp();
    const u64 end = cycles();
    uint4* mine = data + static_cast<u64>(blockIdx.x) * blockDim.x * 16 + threadIdx.x;
    for (int i = 0; i < stores; ++i) mine[i * blockDim.x] = make_uint4(i, i, i, i);
    __syncwarp();
    if (lane_id() == 0) {
        int before;
        asm volatile("atom.global.acq_rel.gpu.add.s32 %0, [%1], 1;" : "=r"(before) : "l"(flag) : "memory");
    }
    if (threadIdx.x == 0) clocks[blockIdx.x] = end - begin;
}

// Where CTAs go and when: clocks[4 * CTA]: the SM, its clock at the start and at the end, and the chip's timer. CTA i goes on
// for busy_cycles * (1 + i % period).
extern "C" __global__ void __launch_bounds__(1024) places(u64* clocks, int busy_cycles, int period) {
    const u64 begin = cycles(), time = nanoseconds();
    const u64 busy = static_cast<u64>(busy_cycles) * (1 + blockIdx.x % period);
    while (cycles() - begin < busy) {}
    if (threadIdx.x == 0) {
        u64* to = clocks + 4 * blockIdx.x;
        to[0] = sm_id(), to[1] = begin, to[2] = cycles(), to[3] = time;
    }
}

// CTAs that compute for so long, with mma.sync or without, and whose threads then store 16 bytes `per` times.
template <bool kTensor>
DEVICE void end_with_stores(char* data, int busy_cycles, int per) {
    float c[4] = {};
    const u32 operand = threadIdx.x;
    const u64 begin = cycles();
    while (cycles() - begin < static_cast<u64>(busy_cycles)) {
        if (kTensor)
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%4,%4}, {%0,%1,%2,%3};"
                         : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                         : "r"(operand));
    }
    uint4* to = reinterpret_cast<uint4*>(data) + static_cast<u64>(blockIdx.x) * per * blockDim.x + threadIdx.x;
    for (int i = 0; i < per; ++i) to[i * blockDim.x] = make_uint4(i, i, i, __float_as_uint(c[i % 4]));
    if (c[0] == 1.25f) data[0] = 1;
}
extern "C" __global__ void __launch_bounds__(128) ends_plain(char* data, int busy_cycles, int per) {
    end_with_stores<false>(data, busy_cycles, per);
}
extern "C" __global__ void __launch_bounds__(128) ends_mma(char* data, int busy_cycles, int per) {
    end_with_stores<true>(data, busy_cycles, per);
}

// Brings tiles that a group of CTAs shares, its part of them by each; returns when all CTAs of the grid have.
DEVICE void bring_tiles(u32 shared, u64 base, int* arrived, int tiles, int group, int member) {
    for (int part = member; part < tiles * 8; part += group) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(base + part * 2048) : "memory");
        asm volatile("cp.async.wait_all;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(arrived, 1);
        while (*static_cast<volatile int*>(arrived) < static_cast<int>(gridDim.x)) {}
    }
    __syncthreads();
}

// As merged_reads, of tiles that are in the L2: first the CTAs of a group bring their tiles, each a part, and all CTAs wait
// for one another. The CTAs of a group are neighbours, or `groups` apart if far is not 0.
extern "C" __global__ void __launch_bounds__(128) merged_hits(u64* clocks, const char* data, int* arrived, int tiles, int stagger, int group, int far) {
    extern __shared__ __align__(128) char target[];
    const int groups = (gridDim.x + group - 1) / group;
    const int own = far ? blockIdx.x % groups : blockIdx.x / group, member = far ? blockIdx.x / groups : blockIdx.x % group;
    const u32 shared = shared_address(target) + threadIdx.x * 16;
    const u64 base = __cvta_generic_to_global(data) + static_cast<u64>(own) * tiles * 16384 + threadIdx.x * 16;
    bring_tiles(shared, base, arrived, tiles, group, member);
    copy_tiles(clocks, shared, base, tiles, static_cast<u64>(member) * stagger + 2000);
}

// As merged_reads, of rows of `each` lanes that lie `pitch` bytes apart in global memory and end `pad` bytes before the
// next one begins in shared memory; with `warm`, of tiles that the CTAs of a group have brought before, each a part.
extern "C" __global__ void __launch_bounds__(128) merged_rows(u64* clocks, const char* data, int* arrived, int tiles, int group, int each, int pad, int warm) {
    extern __shared__ __align__(128) char target[];
    const int row = threadIdx.x / each, column = threadIdx.x % each * 16, pitch = tiles * each * 16;
    const int rows_at_once = blockDim.x / each, member = blockIdx.x % group, tile_bytes = 8 * rows_at_once * (each * 16 + pad);
    const u32 shared = shared_address(target) + row * (each * 16 + pad) + column;
    const u64 own = __cvta_generic_to_global(data) + static_cast<u64>(blockIdx.x / group) * tiles * 16384;
    if (warm) bring_tiles(shared_address(target) + threadIdx.x * 16, own + threadIdx.x * 16, arrived, tiles, group, member);
    const u64 base = own + static_cast<u64>(row) * pitch + column;
    const u64 first = cycles();
    while (cycles() - first < 2000) {}
    const u64 begin = cycles();
#pragma unroll 1
    for (int tile = 0; tile < tiles; ++tile) {
#pragma unroll
        for (int i = 0; i < 8; ++i)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared + tile % 2 * tile_bytes + i * rows_at_once * (each * 16 + pad)),
                         "l"(base + tile * each * 16 + static_cast<u64>(i * rows_at_once) * pitch) : "memory");
        asm volatile("cp.async.commit_group;" ::: "memory");
        asm volatile("cp.async.wait_group 1;" ::: "memory");
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    const u64 end = cycles();
    if (threadIdx.x == 0) clocks[blockIdx.x] = end - begin;
}

// As merged_reads, by two SMs (or one, if both are the same) that begin together.
extern "C" __global__ void __launch_bounds__(128) merged_pair(u64* clocks, const char* data, int* arrived, int tiles, int one, int other) {
    extern __shared__ __align__(128) char target[];
    const int sm = sm_id();
    if (sm != one && sm != other) return;
    if (threadIdx.x == 0) {
        atomicAdd(arrived, 1);
        while (*static_cast<volatile int*>(arrived) < (one == other ? 1 : 2)) {}
    }
    __syncthreads();
    copy_tiles(clocks, shared_address(target) + threadIdx.x * 16, __cvta_generic_to_global(data) + threadIdx.x * 16, tiles, 1000);
}

// Tiles of 8 KiB of rows, read along the rows with `flight` groups of cp.async in flight, 1 to 4. A tile has
// 8192 / row_bytes rows, `pitch` apart; a CTA reads `tiles` of them, `step` apart, and then those of its next block, until
// it has read `blocks`. CTA i begins at i * cta_step, its blocks are `block_step` apart.
template <int kPrefetch>
DEVICE void read_rows(const char* data, int flight, int row_bytes, u64 pitch, int tiles, u64 step, int blocks, u64 block_step, u64 cta_step) {
    extern __shared__ __align__(128) char target[];
    const int vectors = row_bytes / 16, row = threadIdx.x / vectors, column = threadIdx.x % vectors;
    const int rows_at_once = blockDim.x / vectors;
    const u64 base = __cvta_generic_to_global(data) + blockIdx.x * cta_step + row * pitch + column * 16;
    const u32 shared = shared_address(target) + threadIdx.x * 16;
    const int count = tiles * blocks;
#pragma unroll 1
    for (int i = 0; i < count + flight - 1; ++i) {
        const u64 from = base + i / tiles * block_step + i % tiles * step;
        if (i < count) {
#pragma unroll
            for (int part = 0; part < 4; ++part) {
                const u32 to = shared + (i % 4) * 8192 + part * 2048;
                const u64 source = from + part * rows_at_once * pitch;
                if (kPrefetch == 128)
                    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(to), "l"(source) : "memory");
                else if (kPrefetch == 256)
                    asm volatile("cp.async.cg.shared.global.L2::256B [%0], [%1], 16;" ::"r"(to), "l"(source) : "memory");
                else
                    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(source) : "memory");
            }
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
        if (flight == 1)
            asm volatile("cp.async.wait_group 0;" ::: "memory");
        else if (flight == 2)
            asm volatile("cp.async.wait_group 1;" ::: "memory");
        else if (flight == 3)
            asm volatile("cp.async.wait_group 2;" ::: "memory");
        else
            asm volatile("cp.async.wait_group 3;" ::: "memory");
        __syncthreads();
    }
}
#define ROWS(PREFETCH)                                                                                                 \
    extern "C" __global__ void __launch_bounds__(128) rows_##PREFETCH(                                                 \
        const char* data, int flight, int row_bytes, int pitch, int tiles, int step, int blocks, int block_step,       \
        int cta_step) {                                                                                                \
        read_rows<PREFETCH>(data, flight, row_bytes, pitch, tiles, step, blocks, block_step, cta_step);                \
    }
ROWS(0)
ROWS(128)
ROWS(256)
