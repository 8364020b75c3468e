// The transpose of a matrix with 16-byte accesses to global memory. Extents are multiples of 32.
constexpr int kTile = 32;  // 256 threads, each with 4 elements of a row

extern "C" __global__ void transpose_float4(const float* in, float* out, int rows, int columns) {
    __shared__ float tile[kTile][kTile + 1];
    const int left = blockIdx.x * kTile, top = blockIdx.y * kTile;
    const int y = threadIdx.x / 8, x = threadIdx.x % 8 * 4;
    const float4 read = *reinterpret_cast<const float4*>(in + (top + y) * columns + left + x);
    tile[y][x] = read.x;
    tile[y][x + 1] = read.y;
    tile[y][x + 2] = read.z;
    tile[y][x + 3] = read.w;
    __syncthreads();
    const float4 written = make_float4(tile[x][y], tile[x + 1][y], tile[x + 2][y], tile[x + 3][y]);
    *reinterpret_cast<float4*>(out + (left + y) * rows + top + x) = written;
}
