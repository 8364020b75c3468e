// Quotients and remainders of integers whose divisors are not known before: signed, unsigned, and by the constant 7.
extern "C" __global__ void divide(const int* a, const int* b, int* quotients, int* remainders, unsigned* others, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    quotients[i] = a[i] / b[i];
    remainders[i] = a[i] % b[i];
    const unsigned x = a[i], y = b[i];
    others[i] = x / y + x % y + x / 7 + x % 7;
}
