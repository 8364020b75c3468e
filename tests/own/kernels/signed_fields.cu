// Unpacks signed fields of words of 64 bits: one of 3 to 18 bits that begins anywhere in the lower half, two of 12 bits.
extern "C" __global__ void signed_fields(const unsigned long long* words, const unsigned char* widths, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int width = 3 + (widths[i] & 15), first = widths[i] >> 3;
    const int field = static_cast<int>(words[i] >> first), low = static_cast<int>(words[i]);
    out[i] = (field << (32 - width) >> (32 - width)) * 4096 + (low << 20 >> 20) + (low >> 20);
}
