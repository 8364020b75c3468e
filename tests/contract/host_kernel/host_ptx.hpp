// The PTX instructions of kernels_cuda/ptx.cuh on a CPU: every thread of a CTA is a fiber, warp-wide and CTA-wide
// instructions wait for all their lanes, cp.async lands as late as its wait_group allows, and global memory is checked.
#pragma once

#include "standard.hpp"

#define GPUSIM_PTX_CUH  // these definitions stand in for kernels_cuda/ptx.cuh
#define __global__
#define __launch_bounds__(...)

#include "platform.cuh"
#include "scenario.cuh"

namespace host {

constexpr std::uint32_t kSharedBase = 1024;  // where dynamic shared memory begins on sm_90

[[noreturn]] inline void fail(char const* what) {
  std::fprintf(stderr, "%s\n", what);
  std::exit(3);
}

// Global memory a launch may touch: [begin, begin + bytes).
struct Region {
  char const* begin;
  std::size_t bytes;
};
inline std::vector<Region> regions;

inline void check_global(void const* at, std::size_t bytes) {
  auto const* first = static_cast<char const*>(at);
  if (reinterpret_cast<std::uintptr_t>(at) % bytes) fail("misaligned global access");
  for (Region const& region : regions) {
    if (first >= region.begin && first + bytes <= region.begin + region.bytes) return;
  }
  fail("global access outside every tensor");
}

struct Copy {
  std::uint32_t shared;
  int bytes;
  unsigned char data[16];
};

struct Fiber {
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  bool done = false;
  std::vector<Copy> open;
  std::vector<std::vector<Copy>> groups;
};

// An instruction that `lanes` fibers execute together.
struct Rendezvous {
  int arrived = 0;
  unsigned generation = 0;
};

struct Warp {
  Rendezvous together;
  std::uint32_t addresses[32];
  std::uint32_t a[32][4], b[32][2];
  std::uint32_t c[32][4];
};

inline std::vector<Fiber> fibers;
inline std::vector<Warp> warps;
inline Rendezvous cta;
inline std::vector<unsigned char> shared;
inline ucontext_t scheduler;
inline int thread, block[3];
inline long long ticks;

inline void yield() { swapcontext(&fibers[thread].context, &scheduler); }

// All `lanes` fibers come together; the last one does `work` for all.
template <class Work>
void meet(Rendezvous& at, int lanes, Work work) {
  unsigned const generation = at.generation;
  if (++at.arrived == lanes) {
    work();
    at.arrived = 0;
    ++at.generation;
  } else {
    while (at.generation == generation) yield();
  }
}

inline Warp& warp() { return warps[thread / 32]; }
inline int lane() { return thread % 32; }

inline unsigned char* shared_at(std::uint32_t address, int bytes) {
  if (address % bytes) fail("misaligned shared access");
  if (address < kSharedBase || address - kSharedBase + bytes > shared.size()) fail("shared access outside the CTA's");
  return shared.data() + (address - kSharedBase);
}

inline float half_to_float(std::uint16_t half) {
  int const exponent = half >> 10 & 31, mantissa = half & 1023;
  float const magnitude = exponent == 31  ? (mantissa ? NAN : INFINITY)
                          : exponent == 0 ? std::ldexp(float(mantissa), -24)
                                          : std::ldexp(float(mantissa + 1024), exponent - 25);
  return half & 0x8000 ? -magnitude : magnitude;
}

// To nearest, ties to even.
inline std::uint16_t float_to_half(float value) {
  std::uint16_t const sign = std::signbit(value) ? 0x8000 : 0;
  float const magnitude = std::fabs(value);
  if (std::isnan(value)) return 0x7fff;
  if (magnitude >= 65520.0f) return sign | 0x7c00;
  if (magnitude < std::ldexp(1.0f, -14)) return sign | std::uint16_t(std::nearbyint(std::ldexp(magnitude, 24)));
  int exponent;
  float const fraction = std::frexp(magnitude, &exponent);  // in [0.5, 1)
  int const mantissa = int(std::nearbyint(std::ldexp(fraction, 11)));  // 1024 to 2048
  return sign | std::uint16_t((exponent + 14) * 1024 + mantissa - 1024);
}

inline float half_of(std::uint32_t word, int index) { return half_to_float(std::uint16_t(word >> 16 * index)); }

}  // namespace host

namespace gpusim {

inline int thread_index() { return host::thread; }
inline int block_x() { return host::block[0]; }
inline int block_y() { return host::block[1]; }
inline int block_z() { return host::block[2]; }
inline int warp_index() { return host::thread / 32; }
inline uint32 shared_base() { return host::kSharedBase; }

template <int kBytes, CacheOperator kCache>
void copy(uint32 shared, void const* global, bool valid, bool zfill) {
  static_assert(kCache == CacheOperator::ca || kBytes == 16, "cp.async.cg moves 16 bytes");
  host::shared_at(shared, kBytes);
  host::Copy landed{shared, kBytes, {}};
  if (valid) {
    host::check_global(global, kBytes);
    std::memcpy(landed.data, global, kBytes);
  }
  if (valid || zfill) host::fibers[host::thread].open.push_back(landed);
}

template <int kBytes, CacheOperator kCache>
void copy_async(uint32 shared, void const* global, uint32 valid) {
  copy<kBytes, kCache>(shared, global, valid != 0, false);
}

template <int kBytes, CacheOperator kCache>
void copy_async_zfill(uint32 shared, void const* global, uint32 valid) {
  copy<kBytes, kCache>(shared, global, valid != 0, true);
}

inline void commit_group() {
  host::Fiber& fiber = host::fibers[host::thread];
  fiber.groups.push_back(std::move(fiber.open));
  fiber.open.clear();
}

template <int kPending>
void wait_group() {
  auto& groups = host::fibers[host::thread].groups;
  while (int(groups.size()) > kPending) {
    for (host::Copy const& landed : groups.front()) {
      std::memcpy(host::shared_at(landed.shared, landed.bytes), landed.data, landed.bytes);
    }
    groups.erase(groups.begin());
  }
}

inline void barrier() {
  host::meet(host::cta, int(host::fibers.size()), [] {});
}
inline void warp_barrier() {
  host::meet(host::warp().together, 32, [] {});
}

template <bool kTrans>
void ldmatrix_x4(uint32 (&registers)[4], uint32 shared) {
  host::Warp& warp = host::warp();
  warp.addresses[host::lane()] = shared;
  host::meet(warp.together, 32, [&warp] {
    for (int lane = 0; lane < 32; ++lane) {
      for (int matrix = 0; matrix < 4; ++matrix) {
        auto* const word = reinterpret_cast<unsigned char*>(&warp.a[lane][matrix]);
        for (int byte = 0; byte < 4; ++byte) {
          // Halfword h of lane i is element (i / 4, 2 (i mod 4) + h) of the matrix; transposed, with these exchanged.
          int const row = lane / 4, column = lane % 4 * 2 + byte / 2;
          int const from = kTrans ? column : row, at = kTrans ? row : column;
          word[byte] = host::shared_at(warp.addresses[8 * matrix + from], 16)[at * 2 + byte % 2];
        }
      }
    }
  });
  std::memcpy(registers, warp.a[host::lane()], sizeof registers);
}

inline void load_shared_word(uint32& word, uint32 shared) { std::memcpy(&word, host::shared_at(shared, 4), 4); }

// One fragment's word of an operand, element by element, as the tensor core multiplies it.
inline double operand_value(uint32 word, int index) {
  if constexpr (kAb == Element::f16) return host::half_of(word, index);
  if constexpr (kAb == Element::bf16 || kAb == Element::tf32) {
    uint32 const bits = kAb == Element::tf32 ? word & 0xffffe000u : word >> 16 * index << 16;
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
  }
  constexpr int kAbove = 32 - kElementBits;
  uint32 const top = word << (kAbove - index * kElementBits);
  constexpr bool kSigned = kAb == Element::s8 || kAb == Element::s4;
  return kSigned ? double(int(top) >> kAbove) : double(top >> kAbove);
}

inline double accumulator_value(uint32 const* words, int index) {
  if constexpr (kAccumulator == Element::f16) return host::half_of(words[index / 2], index % 2);
  if constexpr (kAccumulator == Element::s32) return int(words[index]);
  float value;
  std::memcpy(&value, &words[index], 4);
  return value;
}

inline void set_accumulator(uint32* words, int index, double sum) {
  if constexpr (kAccumulator == Element::f16) {
    int const shift = index % 2 * 16;
    words[index / 2] = (words[index / 2] & ~(0xffffu << shift)) | uint32(host::float_to_half(float(sum))) << shift;
  } else if constexpr (kAccumulator == Element::s32) {
    words[index] = uint32(int(std::fmin(std::fmax(sum, -2147483648.0), 2147483647.0)));
  } else {
    float const value = float(sum);
    std::memcpy(&words[index], &value, 4);
  }
}

// Of any types and shape: what kernels_cuda/scenario.cuh says.
template <class Register, int kC, int kA, int kB>
void mma_sync(Register (&d)[kC], uint32 const (&a)[kA], uint32 const (&b)[kB]) {
  host::Warp& warp = host::warp();
  int const self = host::lane();
  std::memcpy(warp.a[self], a, sizeof a);
  std::memcpy(warp.b[self], b, sizeof b);
  std::memcpy(warp.c[self], d, sizeof d);
  host::meet(warp.together, 32, [&warp] {
    constexpr int kOfWord = 32 / kElementBits, kBlocks = kInstructionM / 8;
    static double left[kInstructionM][kInstructionK], right[kInstructionK][kInstructionN];
    for (int lane = 0; lane < 32; ++lane) {
      for (int element = 0; element < kOfWord; ++element) {
        int const row = lane / 4, k = lane % 4 * kOfWord + element;
        for (int matrix = 0; matrix < kA; ++matrix) {
          left[row + matrix % kBlocks * 8][k + matrix / kBlocks * kVectorElements] =
              operand_value(warp.a[lane][matrix], element);
        }
        for (int matrix = 0; matrix < kB; ++matrix) {
          right[k + matrix * kVectorElements][row] = operand_value(warp.b[lane][matrix], element);
        }
      }
    }
    for (int lane = 0; lane < 32; ++lane) {
      for (int element = 0; element < 2 * kBlocks; ++element) {
        int const row = lane / 4 + element / 2 * 8, column = lane % 4 * 2 + element % 2;
        double sum = accumulator_value(warp.c[lane], element);
        for (int k = 0; k < kInstructionK; ++k) sum += left[row][k] * right[k][column];
        set_accumulator(warp.c[lane], element, sum);
      }
    }
  });
  std::memcpy(d, warp.c[self], sizeof d);
}

inline void store_shared_v4(uint32 shared, uint32 first, uint32 second, uint32 third, uint32 fourth) {
  uint32 const words[4] = {first, second, third, fourth};
  std::memcpy(host::shared_at(shared, 16), words, 16);
}

template <class Register, int kWords>
void store_shared(uint32 shared, Register const (&words)[kWords]) {
  std::memcpy(host::shared_at(shared, 4 * kWords), words, 4 * kWords);
}

template <int kBytes>
void load_shared(uint32* words, uint32 shared) {
  words[0] = 0;
  std::memcpy(words, host::shared_at(shared, kBytes), kBytes);
}

template <int kBytes>
void load_global(uint32* words, void const* global, bool valid) {
  if (!valid) return;
  host::check_global(global, kBytes);
  std::memcpy(words, global, kBytes);
}

template <int kBytes>
void load_global_or_zero(uint32 (&words)[ceil_div(kBytes, 4)], void const* global, uint32 valid) {
  std::memset(words, 0, sizeof words);
  load_global<kBytes>(words, global, valid != 0);
}

template <int kBytes>
void store_global(void* global, uint32 const (&words)[ceil_div(kBytes, 4)], bool valid) {
  if (!valid) return;
  host::check_global(global, kBytes);
  std::memcpy(global, words, kBytes);
}

inline uint32 pack_f16(float low, float high) {
  return host::float_to_half(low) | uint32(host::float_to_half(high)) << 16;
}
inline float unpack_f16(uint32 packed, int half) { return host::half_of(packed, half); }
inline float word_as_float(uint32 word) {
  float value;
  std::memcpy(&value, &word, 4);
  return value;
}
inline uint32 float_as_word(float value) {
  uint32 word;
  std::memcpy(&word, &value, 4);
  return word;
}
inline float multiply(float left, float right) { return left * right; }
inline float fused_multiply_add(float left, float right, float added) { return std::fma(left, right, added); }
inline float add(float left, float right) { return left + right; }
inline float not_negative(float value) { return std::fmax(value, 0.0f); }

inline uint32 pack_bf16(float low, float high) {
  auto const upper = [](float value) {
    uint32 const bits = float_as_word(value);
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  };
  return upper(low) | upper(high) << 16;
}
inline float unpack_bf16(uint32 packed, int half) { return word_as_float(packed >> 16 * half << 16); }

inline float to_float(int value) { return float(value); }
inline int to_integer(float value) {
  return value >= 2147483648.0f ? 2147483647 : value < -2147483648.0f ? -2147483647 - 1 : int(std::nearbyint(value));
}

template <Element kElement>
uint32 pack_integers(int low, int high, uint32 above) {
  constexpr int kBits = bits_of(kElement);
  constexpr bool kSigned = kElement == Element::s8 || kElement == Element::s4;
  constexpr int kLeast = kSigned ? -(1 << (kBits - 1)) : 0, kMost = (1 << (kBits - kSigned)) - 1;
  auto const clamped = [](int value) {
    return uint32(value < kLeast ? kLeast : value > kMost ? kMost : value) & ((1u << kBits) - 1);
  };
  return above << 2 * kBits | clamped(high) << kBits | clamped(low);
}

template <class Work>
uint32 on_halves(uint32 left, uint32 right, uint32 added, Work work) {
  uint32 result = 0;
  for (int half = 0; half < 2; ++half) {
    float const value = work(host::half_of(left, half), host::half_of(right, half), host::half_of(added, half));
    result |= uint32(host::float_to_half(value)) << 16 * half;
  }
  return result;
}
inline uint32 multiply_f16x2(uint32 left, uint32 right) {
  return on_halves(left, right, 0, [](float a, float b, float) { return a * b; });
}
inline uint32 fused_multiply_add_f16x2(uint32 left, uint32 right, uint32 added) {
  return on_halves(left, right, added, [](float a, float b, float c) { return std::fma(a, b, c); });
}
inline uint32 add_f16x2(uint32 left, uint32 right) {
  return on_halves(left, right, 0, [](float a, float b, float) { return a + b; });
}
inline uint32 not_negative_f16x2(uint32 value) {
  return on_halves(value, 0, 0, [](float a, float, float) { return std::fmax(a, 0.0f); });
}

inline int load_acquire(int const* flag) {
  host::yield();
  return *flag;
}
inline int add_release(int* flag, int added) {
  *flag += added;
  return *flag - added;
}
inline void store_relaxed(int* flag, int value) { *flag = value; }

inline uint32 clock_low() { return uint32(++host::ticks); }
inline int64 clock_wide() { return ++host::ticks; }
inline int64 global_timer() { return ++host::ticks; }
inline int sm_index() { return 0; }

}  // namespace gpusim
