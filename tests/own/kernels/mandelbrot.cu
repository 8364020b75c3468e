// Iterations until a point of the Mandelbrot set's plane escapes. Products and sums are rounded each, so every machine
// has the same counts.
extern "C" __global__ void mandelbrot(int* out, int width, int height, int most) {
    const int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height) return;
    const float cx = __fadd_rn(__fmul_rn(static_cast<float>(px), 3.0f / width), -2.0f);
    const float cy = __fadd_rn(__fmul_rn(static_cast<float>(py), 2.0f / height), -1.0f);
    float x = 0, y = 0;
    int count = 0;
    while (count < most) {
        const float xx = __fmul_rn(x, x), yy = __fmul_rn(y, y);
        if (__fadd_rn(xx, yy) > 4.0f) break;
        const float xy = __fmul_rn(x, y);
        x = __fadd_rn(__fadd_rn(xx, -yy), cx);
        y = __fadd_rn(__fadd_rn(xy, xy), cy);
        ++count;
    }
    out[py * width + px] = count;
}
