// The lines of these kernels, inlined and not; compiled by nvcc -cubin -lineinfo -arch=sm_80 in /kernels.
__device__ __forceinline__ float doubled(float x) {
    return x * 2.0f + 1.0f;
}
__device__ __forceinline__ float quadrupled(float x) {
    return doubled(doubled(x));
}
extern "C" __global__ void inlined(const float* x, float* y) {
    y[threadIdx.x] = quadrupled(x[threadIdx.x]);
}
__device__ __noinline__ float sine(float x) {
    return __sinf(x);
}
extern "C" __global__ void called(const float* x, float* y) {
    y[threadIdx.x] = sine(x[threadIdx.x]);
}
