// The nearest of 16 centres for each point of 8 dimensions, with the centres in shared memory. One step of k-means.
constexpr int kCentres = 16, kDimensions = 8;

extern "C" __global__ void nearest_centre(const float* points, const float* centres, int* out, int n) {
    __shared__ float of_centre[kCentres][kDimensions];
    if (threadIdx.x < kCentres * kDimensions)
        of_centre[threadIdx.x / kDimensions][threadIdx.x % kDimensions] = centres[threadIdx.x];
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float own[kDimensions];
#pragma unroll
    for (int d = 0; d < kDimensions; ++d) own[d] = points[d * n + i];
    float least = 3.4e38f;
    int nearest = 0;
    for (int c = 0; c < kCentres; ++c) {
        float distance = 0;
#pragma unroll
        for (int d = 0; d < kDimensions; ++d) {
            const float difference = __fadd_rn(own[d], -of_centre[c][d]);
            distance = __fadd_rn(distance, __fmul_rn(difference, difference));
        }
        if (distance < least) {
            least = distance;
            nearest = c;
        }
    }
    out[i] = nearest;
}
