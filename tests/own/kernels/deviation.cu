// Mean and standard deviation of rows of floats, in double precision, one CTA of 128 threads a row.
constexpr int kThreads = 128;

extern "C" __global__ void deviation(const float* in, double* means, float* deviations, int columns) {
    __shared__ double sums[kThreads], squares[kThreads];
    const int t = threadIdx.x;
    in += blockIdx.x * columns;
    double sum = 0, square = 0;
    for (int i = t; i < columns; i += kThreads) {
        const double x = in[i];
        sum += x;
        square = fma(x, x, square);
    }
    sums[t] = sum;
    squares[t] = square;
    for (int step = kThreads / 2; step > 0; step /= 2) {
        __syncthreads();
        if (t < step) {
            sums[t] += sums[t + step];
            squares[t] += squares[t + step];
        }
    }
    if (t == 0) {
        const double mean = sums[0] / columns;
        means[blockIdx.x] = mean;
        deviations[blockIdx.x] = static_cast<float>(sqrt(squares[0] / columns - mean * mean));
    }
}
