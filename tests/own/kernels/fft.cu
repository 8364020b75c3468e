// Fourier transforms of 256 complex numbers in shared memory, radix 2: 128 threads, one butterfly each at every step.
constexpr int kPoints = 256, kThreads = 128, kBits = 8;

extern "C" __global__ void __launch_bounds__(kThreads) fft(const float2* in, float2* out) {
    __shared__ float2 points[kPoints];
    const int t = threadIdx.x;
    in += blockIdx.x * kPoints;
    out += blockIdx.x * kPoints;
    for (int i = t; i < kPoints; i += kThreads) points[__brev(i) >> (32 - kBits)] = in[i];
    for (int half = 1; half < kPoints; half *= 2) {
        __syncthreads();
        const int within = t & (half - 1), low = 2 * t - within;
        const float angle = -3.14159265f * within / half;
        const float real = cosf(angle), imaginary = sinf(angle);
        const float2 a = points[low], b = points[low + half];
        const float2 turned = make_float2(b.x * real - b.y * imaginary, b.x * imaginary + b.y * real);
        points[low] = make_float2(a.x + turned.x, a.y + turned.y);
        points[low + half] = make_float2(a.x - turned.x, a.y - turned.y);
    }
    __syncthreads();
    for (int i = t; i < kPoints; i += kThreads) out[i] = points[i];
}
