// Dot products of rows of 64 signed bytes with one row, four bytes an instruction.
extern "C" __global__ void dot_bytes(const int4* rows, const int4* query, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int sum = 0;
#pragma unroll
    for (int v = 0; v < 4; ++v) {
        const int4 a = rows[i * 4 + v], b = query[v];
        sum = __dp4a(a.x, b.x, sum);
        sum = __dp4a(a.y, b.y, sum);
        sum = __dp4a(a.z, b.z, sum);
        sum = __dp4a(a.w, b.w, sum);
    }
    out[i] = sum;
}
