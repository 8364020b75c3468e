// What tests/own/kernels/ptx.cuh offers, on the CPU.
#pragma once

using u32 = unsigned int;
using u64 = unsigned long long;

#define DEVICE static inline

// Shared memory. A copy lands at once: a wait only orders.

DEVICE void copy_16(void* to, const void* from) { std::memcpy(to, from, 16); }
DEVICE void copy_commit() {}
template <int kPending>
void copy_wait() {}

// Lane 8 m + r has the address of row r of matrix m; register m of lane l gets the elements 2 (l % 4) and one more of row l / 4.
template <int kMatrices>
void load_matrices(u32 (&to)[kMatrices], const void* row, bool transposed) {
    const void* rows[32];
    host::collect(~0u, row, rows);
    const int lane = host::lane(), own = lane / 4, pair = lane % 4 * 2;
    for (int m = 0; m < kMatrices; ++m) {
        auto element = [&](int r, int c) {
            unsigned short value;
            std::memcpy(&value, static_cast<const char*>(rows[8 * m + r]) + 2 * c, sizeof value);
            return static_cast<u32>(value);
        };
        to[m] = transposed ? element(pair, own) | element(pair + 1, own) << 16 : element(own, pair) | element(own, pair + 1) << 16;
    }
    host::meet_warp(~0u);
}
DEVICE void ldmatrix_x2(u32 (&to)[2], const void* row) { load_matrices(to, row, false); }
DEVICE void ldmatrix_x4(u32 (&to)[4], const void* row) { load_matrices(to, row, false); }
DEVICE void ldmatrix_x4_trans(u32 (&to)[4], const void* row) { load_matrices(to, row, true); }

DEVICE void barrier_sync(int id, int threads) { host::meet(host::barriers[id], threads); }
DEVICE void barrier_arrive(int id, int threads) { host::arrive(host::barriers[id], threads); }

// Half precision

DEVICE float float_of(unsigned short half) { return bits_as<_Float16>(half); }
DEVICE unsigned short half_of(float value) { return bits_as<unsigned short>(static_cast<_Float16>(value)); }
DEVICE u32 halves_of(float low, float high) { return half_of(low) | static_cast<u32>(half_of(high)) << 16; }

// Applies a function of three doubles, which hold products and sums of halves exactly, to both halves.
template <class Function>
u32 of_both(u32 a, u32 b, u32 c, Function function) {
    u32 result = 0;
    for (int shift = 0; shift < 32; shift += 16) {
        auto value = [&](u32 pair) { return static_cast<double>(bits_as<_Float16>(static_cast<unsigned short>(pair >> shift))); };
        const auto rounded = static_cast<_Float16>(function(value(a), value(b), value(c)));
        result |= static_cast<u32>(bits_as<unsigned short>(rounded)) << shift;
    }
    return result;
}
DEVICE u32 fma_halves(u32 a, u32 b, u32 c) {
    return of_both(a, b, c, [](double x, double y, double z) { return x * y + z; });
}
DEVICE u32 multiply_halves(u32 a, u32 b) {
    return of_both(a, b, 0, [](double x, double y, double) { return x * y; });
}
DEVICE u32 subtract_halves(u32 a, u32 b) {
    return of_both(a, b, 0, [](double x, double y, double) { return x - y; });
}

// Matrix products, c += a * b. A register has kPacked elements. Of a, register i has row lane / 4 + 8 (i % 2), and elements
// kPacked (lane % 4 + 4 (i / 2)) and following of it; of b, register i has column lane / 4 and the same elements.
template <int kPacked, class Sum, int kA, int kB, class Decode>
void multiply(Sum (&c)[4], const u32 (&a)[kA], const u32 (&b)[kB], Decode decode) {
    u32 all_a[kA][32], all_b[kB][32];
    for (int i = 0; i < kA; ++i) host::collect(~0u, a[i], all_a[i]);
    for (int i = 0; i < kB; ++i) host::collect(~0u, b[i], all_b[i]);
    for (int i = 0; i < 4; ++i) {
        const int lane = host::lane(), row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
        double sum = 0;
        for (int k = 0; k < 4 * kPacked * kB; ++k) {
            const int quarter = k / kPacked % 4, upper = k / (4 * kPacked);
            sum += decode(all_a[row / 8 + 2 * upper][row % 8 * 4 + quarter], k % kPacked) *
                   decode(all_b[upper][column * 4 + quarter], k % kPacked);
        }
        c[i] += static_cast<Sum>(sum);
    }
}
DEVICE double decode_f16(u32 word, int at) { return bits_as<_Float16>(static_cast<unsigned short>(word >> 16 * at)); }
DEVICE double decode_bf16(u32 word, int at) { return bits_as<float>(word >> 16 * at << 16); }
DEVICE double decode_tf32(u32 word, int) { return bits_as<float>(word & 0xffffe000); }
DEVICE double decode_s8(u32 word, int at) { return static_cast<signed char>(word >> 8 * at); }

DEVICE void mma_f16_16(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    const u32 b[] = {b0, b1};
    multiply<2>(c, a, b, decode_f16);
}
DEVICE void mma_bf16_16(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    const u32 b[] = {b0, b1};
    multiply<2>(c, a, b, decode_bf16);
}
DEVICE void mma_tf32_8(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    const u32 b[] = {b0, b1};
    multiply<1>(c, a, b, decode_tf32);
}
DEVICE void mma_s8_32(int (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    const u32 b[] = {b0, b1};
    multiply<4>(c, a, b, decode_s8);
}
DEVICE void mma_f16_8(float (&c)[4], const u32 (&a)[2], u32 b0) {
    const u32 b[] = {b0};
    multiply<2>(c, a, b, decode_f16);
}
