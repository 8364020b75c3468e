// Points by length and angle: precise square root, division, sine, cosine and arc tangent.
extern "C" __global__ void polar(const float2* in, float2* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float2 p = in[i];
    const float length = sqrtf(p.x * p.x + p.y * p.y);
    const float angle = atan2f(p.y, p.x) / (1 + length);
    out[i] = make_float2(length * cosf(angle), length * sinf(angle));
}
