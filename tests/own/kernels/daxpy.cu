// y += a x in double precision, two elements a thread.
extern "C" __global__ void daxpy(const double2* x, double2* y, double a, int vectors) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= vectors) return;
    const double2 of_x = x[i], of_y = y[i];
    y[i] = make_double2(fma(a, of_x.x, of_y.x), fma(a, of_x.y, of_y.y));
}
