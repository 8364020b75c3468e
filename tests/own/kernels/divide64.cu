// Quotients and remainders of 64-bit integers: functions that the compiler calls.
extern "C" __global__ void divide64(const unsigned long long* a, const unsigned long long* b, unsigned long long* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] / b[i] ^ a[i] % b[i] << 1;
}
