// Smooths COLUMNS columns in each thread: running means over the rows, kept in registers.
// With LEAST_CTAS, the compiler keeps registers few enough for that many CTAs of 512 threads on an SM.
#ifdef LEAST_CTAS
#define BOUNDS __launch_bounds__(512, LEAST_CTAS)
#else
#define BOUNDS
#endif

#define COLUMNS 48

extern "C" __global__ void BOUNDS smooth(const float* in, float* out, int rows) {
    int width = gridDim.x * 512, x = blockIdx.x * 512 + threadIdx.x;
    float mean[COLUMNS] = {};
    for (int r = 0; r < rows; r++) {
        const float* row = in + r * COLUMNS * width + x;
#pragma unroll
        for (int i = 0; i < COLUMNS; i++) mean[i] = mean[i] * 0.75f + row[i * width] * 0.25f;
    }
#pragma unroll
    for (int i = 0; i < COLUMNS; i++) out[i * width + x] = mean[i];
}
