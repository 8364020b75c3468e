// Kernels with variables of their module, calls, traps, and lanes that wait for each other:
// nvcc -std=c++17 -arch=sm_80 -cubin -o module.cubin module.cu
#include <cassert>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cstdio>
__device__ int counter = 5;
__device__ float table[4] = {1, 2, 3, 4};
__device__ double scratch[64];
__device__ float* pointer = table + 1;
__constant__ float weights[8];
__constant__ int bias = 7;
extern "C" {
__global__ void globals(int* out) {
    int i = threadIdx.x;
    scratch[i] = i;
    atomicAdd(&counter, 1);
    __syncthreads();
    out[i] = counter + int(table[i & 3]) + int(scratch[31 - i]) + int(*pointer);
}
__global__ void weighted(float* out) { out[threadIdx.x] = weights[threadIdx.x & 7] + bias; }
__global__ void sines(double* out) { out[threadIdx.x] = sin(out[threadIdx.x]); }
__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__global__ void recursion(int* out, int n) { out[threadIdx.x] = fibonacci(n); }
__global__ void traps(int* out, int n) { if (out[threadIdx.x] == n) __trap(); }
__global__ void asserts(int* out, int n) { assert(out[threadIdx.x] != n); out[threadIdx.x] = 1; }
__global__ void prints(int* out) { printf("%d\n", out[threadIdx.x]); }
__global__ void clocks(long long* out) {
    long long begin = clock64();
    out[threadIdx.x] = clock64() - begin;
}
__global__ void lock_wait(int* lock, volatile int* sum) {
    while (atomicCAS(lock, 0, 1));
    *sum = *sum + 1;
    __threadfence();
    atomicExch(lock, 0);
}
__global__ void relay(volatile int* flag, int* out) {
    int i = threadIdx.x;
    if (i) while (flag[i - 1] == 0);
    out[i] = i;
    flag[i] = 1;
}
__global__ void divergent_barrier(int* out) {
    __shared__ int seen[64];
    int i = threadIdx.x;
    seen[i] = i;
    if (i & 1) {
        __syncthreads();
        out[i] = seen[63 - i];
    } else {
        __syncthreads();
        out[i] = -seen[63 - i];
    }
}
__global__ void generic_atomic(int* out, int shared) {
    __shared__ int sum;
    if (!threadIdx.x) sum = 0;
    __syncthreads();
    atomicAdd(shared ? &sum : out, threadIdx.x);
    __syncthreads();
    if (!threadIdx.x && shared) out[0] = sum;
}
__global__ void half_sets(__half2* out, const __half2* a, const __half2* b, __nv_bfloat162* rest, const __nv_bfloat162* c) {
    int i = threadIdx.x;
    out[i] = __hge2(a[i], b[i]);
    out[32 + i] = __hltu2(a[i], b[i]);
    out[64 + i] = __heq2(a[i], b[i]);
    ((unsigned*)out)[96 + i] = __hgt2_mask(a[i], b[i]);
    rest[i] = __hle2(c[i], rest[i]);
}
__global__ void store(int* out) { out[threadIdx.x] = 1; }
}
