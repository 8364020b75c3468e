// Halves a volume in all three dimensions: the mean of 2 x 2 x 2 elements. Grid and CTA have three dimensions.
extern "C" __global__ void grid_3d(const float* in, float* out, int depth, int height, int width) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    const int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= width || y >= height || z >= depth) return;
    float sum = 0;
#pragma unroll
    for (int corner = 0; corner < 8; ++corner) {
        const int cx = 2 * x + corner % 2, cy = 2 * y + corner / 2 % 2, cz = 2 * z + corner / 4;
        sum += in[(cz * 2 * height + cy) * 2 * width + cx];
    }
    out[(z * height + y) * width + x] = 0.125f * sum;
}
