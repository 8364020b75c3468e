// Kernels whose warps race, and such whose warps do not, with 128 threads each. Compiled in /kernels by
// nvcc -cubin -lineinfo -std=c++17 -arch=sm_80
#define KERNEL extern "C" __global__ void
constexpr int THREADS = 128;

KERNEL turned(const float* x, float* y) {
    __shared__ float s[THREADS];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = s[THREADS - 1 - threadIdx.x];
}

KERNEL turned_early(const float* x, float* y) {
    __shared__ float s[THREADS];
    s[threadIdx.x] = x[threadIdx.x];
    __syncwarp();
    y[threadIdx.x] = s[THREADS - 1 - threadIdx.x];
}

KERNEL turned_within_warps(const float* x, float* y) {
    __shared__ float s[THREADS];
    s[threadIdx.x] = x[threadIdx.x];
    __syncwarp();
    y[threadIdx.x] = s[threadIdx.x ^ 31];
}

KERNEL overwritten(int* y) {
    __shared__ int s[32];
    s[threadIdx.x % 32] = threadIdx.x;
    __syncthreads();
    y[threadIdx.x] = s[threadIdx.x % 32];
}

template <bool safe>
__device__ void rounds(const float* x, float* y) {
    __shared__ float s[THREADS];
    float sum = 0;
#pragma unroll 1
    for (int round = 0; round < 4; ++round) {
        s[threadIdx.x] = x[THREADS * round + threadIdx.x];
        __syncthreads();
        sum += s[THREADS - 1 - threadIdx.x];
        if (safe) __syncthreads();
    }
    y[threadIdx.x] = sum;
}
KERNEL rounds_safe(const float* x, float* y) { rounds<true>(x, y); }
KERNEL rounds_unsafe(const float* x, float* y) { rounds<false>(x, y); }

template <bool safe>
__device__ void tallied(const int* x, int* y) {
    __shared__ int bins[THREADS];
    bins[threadIdx.x] = 0;
    if (safe) __syncthreads();
    atomicAdd(&bins[x[threadIdx.x] % THREADS], 1);
    __syncthreads();
    y[threadIdx.x] = bins[threadIdx.x];
}
KERNEL tallied_safe(const int* x, int* y) { tallied<true>(x, y); }
KERNEL tallied_unsafe(const int* x, int* y) { tallied<false>(x, y); }

// Warps 0 and 1 produce for warps 2 and 3 through two barriers.
template <int awaited>
__device__ void handed_over(const float* x, float* y) {
    __shared__ float s[64];
    int thread = threadIdx.x % 64;
    if (threadIdx.x < 64) {
        for (int round = 0; round < 3; ++round) {
            if (round) asm volatile("barrier.sync 2, 128;" ::: "memory");
            s[thread] = x[64 * round + thread];
            asm volatile("barrier.arrive 1, 128;" ::: "memory");
        }
    } else {
        for (int round = 0; round < 3; ++round) {
            asm volatile("barrier.sync 1, 128;" ::: "memory");
            if (!awaited && round < 2) asm volatile("barrier.arrive 2, 128;" ::: "memory");
            y[64 * round + thread] = s[63 - thread];
            if (awaited && round < 2) asm volatile("barrier.arrive 2, 128;" ::: "memory");
        }
    }
}
KERNEL handed_over_safe(const float* x, float* y) { handed_over<1>(x, y); }
KERNEL handed_over_unsafe(const float* x, float* y) { handed_over<0>(x, y); }

// Each half of the CTA has a barrier of its own.
KERNEL halves_apart(const float* x, float* y) {
    __shared__ float s[THREADS];
    s[threadIdx.x] = x[threadIdx.x];
    if (threadIdx.x < 64) asm volatile("barrier.sync 1, 64;" ::: "memory");
    else asm volatile("barrier.sync 2, 64;" ::: "memory");
    y[threadIdx.x] = s[(threadIdx.x + 32) % THREADS];
}

// The barrier's number is in a register.
KERNEL computed_barrier(const float* x, float* y, int first) {
    __shared__ float s[THREADS];
    s[threadIdx.x] = x[threadIdx.x];
    asm volatile("barrier.sync %0, 64;" ::"r"(first + (int)threadIdx.x / 64) : "memory");
    y[threadIdx.x] = s[threadIdx.x ^ 32];
}

template <bool waits, bool meets>
__device__ void copied(const float* x, float* y) {
    __shared__ float s[THREADS];
    unsigned place = (unsigned)__cvta_generic_to_shared(&s[threadIdx.x]);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(place), "l"(x + threadIdx.x) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    if (waits) asm volatile("cp.async.wait_group 0;" ::: "memory");
    if (meets) __syncthreads();
    y[threadIdx.x] = s[meets ? THREADS - 1 - threadIdx.x : threadIdx.x];
}
KERNEL copied_safe(const float* x, float* y) { copied<true, true>(x, y); }
KERNEL copied_for_itself(const float* x, float* y) { copied<true, false>(x, y); }
KERNEL copied_without_wait(const float* x, float* y) { copied<false, true>(x, y); }
KERNEL copied_for_itself_without_wait(const float* x, float* y) { copied<false, false>(x, y); }

// Two of four stages are in flight at each wait.
KERNEL copied_in_stages(const float* x, float* y) {
    __shared__ float s[4][THREADS];
    float sum = 0;
    for (int step = 0; step < 10; ++step) {
        if (step < 8) {
            unsigned place = (unsigned)__cvta_generic_to_shared(&s[step % 4][threadIdx.x]);
            const float* from = x + step * THREADS + threadIdx.x;
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(place), "l"(from) : "memory");
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
        if (step >= 2) {
            asm volatile("cp.async.wait_group 2;" ::: "memory");
            __syncthreads();
            sum += s[(step - 2) % 4][THREADS - 1 - threadIdx.x];
        }
    }
    y[threadIdx.x] = sum;
}

// Warps 2 and 3 exit before the barrier.
KERNEL left_early(const float* x, float* y) {
    __shared__ float s[THREADS];
    s[threadIdx.x] = x[threadIdx.x];
    if (threadIdx.x >= 64) return;
    __syncthreads();
    y[threadIdx.x] = s[threadIdx.x + 64];
}

// The last thread reads behind what was written.
KERNEL shifted(const float* x, float* y) {
    __shared__ float s[THREADS + 1];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = s[threadIdx.x + 1];
}

// Two bytes of a word belong to two warps.
KERNEL bytes_apart(unsigned char* y) {
    __shared__ unsigned char s[THREADS];
    s[threadIdx.x % 32 * 4 + threadIdx.x / 32] = threadIdx.x;
    __syncthreads();
    y[threadIdx.x] = s[threadIdx.x];
}

template <int width>
__device__ void transposed(const float* x, float* y) {
    __shared__ float tile[32][width];
    for (int row = threadIdx.x / 32; row < 32; row += 4) tile[row][threadIdx.x % 32] = x[32 * row + threadIdx.x % 32];
    __syncthreads();
    for (int row = threadIdx.x / 32; row < 32; row += 4) y[32 * row + threadIdx.x % 32] = tile[threadIdx.x % 32][row];
}
KERNEL transposed_plain(const float* x, float* y) { transposed<32>(x, y); }
KERNEL transposed_padded(const float* x, float* y) { transposed<33>(x, y); }

// Rows of 64 bytes, of which each lane reads 16: lanes 0 to 7 read column 0 of 8 rows.
KERNEL rows_of_float4(const float4* x, float4* y) {
    __shared__ float4 tile[32][4];
    tile[threadIdx.x / 4][threadIdx.x % 4] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = tile[threadIdx.x % 32][threadIdx.x / 32];
}

// Lanes follow a table, so no stride is to be seen.
KERNEL looked_up(const int* x, int* y) {
    __shared__ int s[1024];
    for (int i = threadIdx.x; i < 1024; i += THREADS) s[i] = i;
    __syncthreads();
    y[threadIdx.x] = s[x[threadIdx.x] & 1023];
}

// A thread behind the last one waits for a warp that never comes.
KERNEL never_met(float* y) {
    asm volatile("barrier.sync 3, 256;" ::: "memory");
    y[threadIdx.x] = 0;
}

KERNEL nothing_shared(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }

// Sums into out, four elements at once, and the first CTA has cleared the first half.
KERNEL summed(const int* x, int* out) {
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (blockIdx.x == 0) reinterpret_cast<int4*>(out)[threadIdx.x] = make_int4(0, 0, 0, 0);
    else atomicAdd(&out[i], x[i]);
}
KERNEL accumulated(const int4* x, int4* out) {
    int4 sum = out[threadIdx.x];
    sum.x += x[threadIdx.x].x;
    out[threadIdx.x] = sum;
    out[threadIdx.x ^ 1] = sum;
}
