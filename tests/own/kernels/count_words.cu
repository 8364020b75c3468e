// Counts the words of lines of 64 bytes, one thread a line: bytes are read one by one, counts are 16-bit.
constexpr int kLine = 64;

extern "C" __global__ void count_words(const signed char* text, unsigned short* counts, int lines) {
    const int line = blockIdx.x * blockDim.x + threadIdx.x;
    if (line >= lines) return;
    bool inside = false;
    unsigned short count = 0;
    for (int i = 0; i < kLine; ++i) {
        const bool letter = text[line * kLine + i] > ' ';
        if (letter && !inside) ++count;
        inside = letter;
    }
    counts[line] = count;
}
