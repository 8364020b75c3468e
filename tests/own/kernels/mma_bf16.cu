// C = A B^T on tensor cores: A and B bf16, both contiguous along K, C fp32. A ring of three slots in dynamic shared memory,
// filled by cp.async; rows are padded by 16 bytes. Four warps have a tile of 64 x 64 x 32; extents are multiples of it.
#include "ptx.cuh"

constexpr int kTile = 64, kDepth = 32, kThreads = 128, kSlots = 3;
constexpr int kVector = 8;               // elements of 16 bytes
constexpr int kPitch = kDepth + kVector;  // of a row, in elements
constexpr int kOperand = kTile * kPitch;

extern "C" __global__ void __launch_bounds__(kThreads)
    mma_bf16(const unsigned short* a, const unsigned short* b, float* c, int m, int n, int k) {
    extern __shared__ __align__(128) unsigned short ring[];
    const int t = threadIdx.x, lane = t % 32, warp_row = t / 32 / 2 * 32, warp_column = t / 32 % 2 * 32;
    a += blockIdx.y * kTile * k;
    b += blockIdx.x * kTile * k;

    // Beyond the end an empty group is committed, so that the number of pending groups is always the same.
    auto fill = [&](int number) {
        if (number * kDepth < k) {
            unsigned short* slot = ring + number % kSlots * 2 * kOperand;
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const int v = t + i * kThreads, row = v / 4, vector = v % 4 * kVector;
                copy_16(slot + row * kPitch + vector, a + row * k + number * kDepth + vector);
                copy_16(slot + kOperand + row * kPitch + vector, b + row * k + number * kDepth + vector);
            }
        }
        copy_commit();
    };

    float sum[2][4][4] = {};
    for (int number = 0; number < kSlots - 1; ++number) fill(number);
    for (int number = 0; number < k / kDepth; ++number) {
        copy_wait<kSlots - 2>();
        __syncthreads();
        fill(number + kSlots - 1);
        const unsigned short* tile_a = ring + number % kSlots * 2 * kOperand;
        const unsigned short* tile_b = tile_a + kOperand;
#pragma unroll
        for (int group = 0; group < kDepth / 16; ++group) {
            u32 of_a[2][4], of_b[2][4];
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const int row = warp_row + 16 * i + lane % 16, column = warp_column + 16 * i + lane / 16 * 8 + lane % 8;
                ldmatrix_x4(of_a[i], tile_a + row * kPitch + 16 * group + lane / 16 * kVector);
                ldmatrix_x4(of_b[i], tile_b + column * kPitch + 16 * group + lane / 8 % 2 * kVector);
            }
#pragma unroll
            for (int i = 0; i < 2; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j) mma_bf16_16(sum[i][j], of_a[i], of_b[j / 2][j % 2 * 2], of_b[j / 2][j % 2 * 2 + 1]);
        }
    }
    c += (blockIdx.y * kTile + warp_row + lane / 4) * n + blockIdx.x * kTile + warp_column + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            *reinterpret_cast<float2*>(c + 16 * i * n + 8 * j) = make_float2(sum[i][j][0], sum[i][j][1]);
            *reinterpret_cast<float2*>(c + (16 * i + 8) * n + 8 * j) = make_float2(sum[i][j][2], sum[i][j][3]);
        }
}
