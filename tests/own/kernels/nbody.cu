// Accelerations of bodies that attract each other, by tiles of positions and masses in shared memory. Bodies are a multiple
// of the CTA's threads.
constexpr int kThreads = 64;
constexpr float kSoftening = 0.01f;

extern "C" __global__ void __launch_bounds__(kThreads) nbody(const float4* bodies, float4* accelerations, int n) {
    __shared__ float4 tile[kThreads];
    const int i = blockIdx.x * kThreads + threadIdx.x;
    const float4 own = bodies[i];
    float x = 0, y = 0, z = 0;
    for (int first = 0; first < n; first += kThreads) {
        tile[threadIdx.x] = bodies[first + threadIdx.x];
        __syncthreads();
#pragma unroll 8
        for (int j = 0; j < kThreads; ++j) {
            const float4 other = tile[j];
            const float dx = other.x - own.x, dy = other.y - own.y, dz = other.z - own.z;
            const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + kSoftening);
            const float weight = other.w * inverse * inverse * inverse;
            x += weight * dx;
            y += weight * dy;
            z += weight * dz;
        }
        __syncthreads();
    }
    accelerations[i] = make_float4(x, y, z, 0);
}
