// Turns letters into capitals, one byte a thread.
extern "C" __global__ void upper_case(const unsigned char* in, unsigned char* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned char letter = in[i];
    out[i] = letter >= 'a' && letter <= 'z' ? letter - 32 : letter;
}
