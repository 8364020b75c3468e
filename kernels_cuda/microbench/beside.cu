// What memory instructions between a warp's own mma.sync cost: of these, or of the wait for their registers or values.
#include "common.cuh"

enum What { kNothing = 0, kLdmatrix = 1, kCopy = 2, kLds = 3, kSts4 = 4 };

constexpr int kMmas = 24, kAt = 4;
constexpr u32 kOwn = 2048;  // bytes of shared memory of a warp

// Trips of 24 mma.sync. After the fifth come the memory instructions, behind the last what overwrites its address (or what
// it stores), or uses what it loads: ptxas puts it some mma.sync later. cycles_of[warp]: the cycles of all trips.
template <int kWhat, bool kUses, int kCount>
DEVICE void beside(u32* cycles_of, const char* data, int trips, u32 one, u32 seed) {
    __shared__ __align__(128) u32 words[8 * kOwn / 4];
    for (u32 i = threadIdx.x; i < 8 * kOwn / 4; i += blockDim.x) words[i] = 0;
    float c[8][4] = {};
    u32 a[4][4], b[4][2], found[kCount][4] = {};
#pragma unroll
    for (int i = 0; i < 16; ++i) a[i / 4][i % 4] = seed + i * threadIdx.x;
#pragma unroll
    for (int i = 0; i < 8; ++i) b[i / 2][i % 2] = seed * i + threadIdx.x;
    u32 to = shared_address(words) + warp_id() * kOwn + lane_id() * 16, left = seed;
    const u64 from = __cvta_generic_to_global(data) + warp_id() * 65536 + lane_id() * 16;
    u32 value = seed;
    __syncthreads();
    const u64 begin = cycles();
#pragma unroll 1
    for (int trip = 0; trip < trips; ++trip) {
#pragma unroll
        for (int slot = 0; slot < kMmas; ++slot) {
            float(&sum)[4] = c[slot % 8];
            u32(&left_of)[4] = a[slot / 2 % 4];
            u32(&right_of)[2] = b[slot % 4];
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                         : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                         : "r"(left_of[0]), "r"(left_of[1]), "r"(left_of[2]), "r"(left_of[3]), "r"(right_of[0]), "r"(right_of[1]));
            if (slot == kAt) {
#pragma unroll
                for (int i = 0; i < kCount; ++i) {
                    if (kWhat == kLdmatrix)
                        ldmatrix_x4(found[i], to + i * 512);
                    if (kWhat == kCopy) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + i * 512), "l"(from + i * 512) : "memory");
                    if (kWhat == kLds) asm volatile("ld.shared.u32 %0, [%1];" : "=r"(found[i][0]) : "r"(to + i * 512) : "memory");
                    if (kWhat == kSts4) asm volatile("st.shared.v4.u32 [%0], {%1,%1,%1,%1};" ::"r"(to + i * 512), "r"(value) : "memory");
                }
                if (kUses) asm volatile("mad.lo.u32 %0, %1, %2, %0;" : "+r"(left) : "r"(found[kCount - 1][0]), "r"(one));
                else if (kWhat == kSts4) asm volatile("mad.lo.u32 %0, %0, %1, 0;" : "+r"(value) : "r"(one));
                else asm volatile("mad.lo.u32 %0, %0, %1, 0;" : "+r"(to) : "r"(one));
            }
        }
    }
    const u64 end = cycles();
    asm volatile("cp.async.wait_all;" ::: "memory");
    if (lane_id() == 0) cycles_of[warp_id()] = static_cast<u32>(end - begin);
    if (begin == end) cycles_of[0] = left ^ fold(c) ^ fold(found) ^ to ^ value;
}

#define BESIDE(WHAT, USES, COUNT)                                                                                   \
    extern "C" __global__ void __launch_bounds__(256) beside_##WHAT##_##USES##_##COUNT(                             \
        u32* cycles_of, const char* data, int trips, u32 one, u32 seed) {                                           \
        beside<WHAT, USES, COUNT>(cycles_of, data, trips, one, seed);                                               \
    }
#define COUNTED(WHAT, USES) BESIDE(WHAT, USES, 1) BESIDE(WHAT, USES, 2) BESIDE(WHAT, USES, 4)
COUNTED(1, 0) COUNTED(2, 0) COUNTED(3, 0) COUNTED(4, 0) COUNTED(1, 1) COUNTED(3, 1)
BESIDE(0, 0, 1)
