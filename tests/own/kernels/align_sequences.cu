// Edit distances of pairs of sequences of 64 letters: one CTA of 64 threads a pair walks the table's diagonals, three of
// which are in shared memory.
constexpr int kLetters = 64;

extern "C" __global__ void align_sequences(const unsigned char* first, const unsigned char* second, int* distances) {
    __shared__ int diagonals[3][kLetters + 1];
    __shared__ unsigned char other[kLetters];
    const int t = threadIdx.x, row = t + 1;
    const unsigned char own = first[blockIdx.x * kLetters + t];
    other[t] = second[blockIdx.x * kLetters + t];
    if (t == 0) {
        diagonals[0][0] = 0;
        diagonals[1][0] = 1;
    }
    if (t == 0) diagonals[1][1] = 1;
    __syncthreads();
    for (int diagonal = 2; diagonal <= 2 * kLetters; ++diagonal) {
        int* now = diagonals[diagonal % 3];
        const int* before = diagonals[(diagonal + 2) % 3];
        const int* earlier = diagonals[(diagonal + 1) % 3];
        const int column = diagonal - row;
        if (t == 0) now[0] = diagonal;
        if (column == 0) now[row] = row;
        if (column >= 1 && column <= kLetters) {
            const int replaced = earlier[row - 1] + (own != other[column - 1]);
            now[row] = min(replaced, min(before[row - 1], before[row]) + 1);
        }
        __syncthreads();
    }
    if (t == kLetters - 1) distances[blockIdx.x] = diagonals[2 * kLetters % 3][kLetters];
}
