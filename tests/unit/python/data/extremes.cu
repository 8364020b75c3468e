// The smaller and the larger of two doubles. Compiled by: nvcc -cubin -arch=sm_80 extremes.cu
extern "C" __global__ void extremes(const double* a, const double* b, double* least, double* most) {
    least[threadIdx.x] = fmin(a[threadIdx.x], b[threadIdx.x]);
    most[threadIdx.x] = fmax(a[threadIdx.x], b[threadIdx.x]);
}
