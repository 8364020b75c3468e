// Prices of European calls and puts by Black and Scholes; the normal distribution is a polynomial of Abramowitz and Stegun.
__device__ float normal(float d) {
    const float k = 1 / (1 + 0.2316419f * fabsf(d));
    const float tail = 0.39894228f * expf(-0.5f * d * d) *
                       (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
    return d > 0 ? 1 - tail : tail;
}

extern "C" __global__ void black_scholes(const float* prices, const float* strikes, const float* years, float* calls, float* puts,
                                         float rate, float volatility, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float price = prices[i], strike = strikes[i], time = years[i];
    const float spread = volatility * sqrtf(time);
    const float d1 = (logf(price / strike) + (rate + 0.5f * volatility * volatility) * time) / spread;
    const float d2 = d1 - spread;
    const float discounted = strike * expf(-rate * time);
    calls[i] = price * normal(d1) - discounted * normal(d2);
    puts[i] = discounted * normal(-d2) - price * normal(-d1);
}
