// One step of Conway's game of life on a torus, one byte a cell.
extern "C" __global__ void life(const unsigned char* in, unsigned char* out, int height, int width) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const int left = (x + width - 1) % width, right = (x + 1) % width;
    int alive = in[y * width + left] + in[y * width + right];
    for (int dy = -1; dy <= 1; dy += 2) {
        const int row = (y + dy + height) % height * width;
        alive += in[row + left] + in[row + x] + in[row + right];
    }
    out[y * width + x] = alive == 3 || (alive == 2 && in[y * width + x]);
}
