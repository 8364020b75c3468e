// Accumulators through shared memory to the output, 8 rows of every warp at a time. Mirrors gpusim/tile/epilogue.py and
// gpusim/schedule/epilogue.py.
#pragma once

#include "mma.cuh"
#include "platform.cuh"
#include "ptx.cuh"
#include "record.cuh"
#include "scenario.cuh"
#include "thread_map.cuh"
#include "threadblock_swizzle.cuh"

namespace gpusim {

struct EpilogueTile {
  static constexpr bool kHalfOutput = GPUSIM_OUTPUT_F16;
  static constexpr int kOutputBytes = kHalfOutput ? 2 : 4;
  static constexpr int kVector = GPUSIM_ACCESS_C;  // elements of one global access
  static constexpr int kAccessBytes = kVector * kOutputBytes;
  static constexpr int kAccessWords = ceil_div(kAccessBytes, 4);

  using Map = OutputThreadMap<kTileN, kWarpsM, kWarpM, kThreads, kVector, kOutputBytes>;

  static constexpr int kRows = Map::kRows;
  static constexpr int kSteps = Map::kSteps;
  static constexpr bool kMixed = kHalfOutput && kVector == 8;  // permuted, so that two 16-byte loads do not conflict
  static constexpr int kPadding = 8;
  static constexpr int kColumns = kTileN + kPadding;  // accumulators from a row of shared memory to the next
  static constexpr int kLineElements = 32;
  static constexpr int kStores = kWarpN / kInstructionN;  // shared stores of one thread in one step
  static constexpr int kLoadElements = least(4, kVector);
  static constexpr int kLoadsPerAccess = kVector / kLoadElements;
  static constexpr int kAccesses = Map::kAccesses;

  // First of the two accumulators of a shared store, in accumulators from the epilogue's base. Mixed: in odd 128-byte
  // lines the halves of each group of 8 columns are exchanged.
  GPUSIM_HOST_DEVICE static int store_offset(int warp, int lane, int store) {
    int const corner = warp_n(warp) * kWarpN + store * kInstructionN;
    int const pair = (lane % 4) ^ (kMixed ? corner / kLineElements % 2 * 2 : 0);
    return (warp_m(warp) * kRows + lane / 4) * kColumns + corner + pair * 2;
  }

  GPUSIM_HOST_DEVICE static int load_offset(int thread, int load) {
    int const access = load / kLoadsPerAccess;
    int const row = Map::group(thread) * kRows + Map::row_in_group(thread) + Map::access_row(access);
    int const column = Map::column(thread) + Map::access_column(access);
    int const vector = (load % kLoadsPerAccess) ^ (kMixed ? column / kLineElements % 2 : 0);
    return row * kColumns + column + vector * kLoadElements;
  }
};

// Serial split-K: the warps of a slice wait until all warps of the slice before have stored their part of the tile.
struct Semaphore {
  int* flag;  // counts warps that are done

  GPUSIM_DEVICE Semaphore(int* flags, Tile const& tile) : flag(flags + tile.m + tile.n * kTilesM) {}

  GPUSIM_DEVICE void wait(int slice, int lane) const {
    if (slice && lane == 0) {
      while (load_acquire(flag) < slice * kWarps) {
      }
    }
    warp_barrier();
  }

  // The last warp of the last slice leaves the flag as it was before the launch.
  GPUSIM_DEVICE void release(int lane) const {
    warp_barrier();
    if (lane == 0 && add_release(flag, 1) == kSplitKSlices * kWarps - 1) store_relaxed(flag, 0);
  }
};

struct Epilogue {
  using E = EpilogueTile;
  using Map = E::Map;

  uint32 const base;  // shared-space byte address
  int const thread, warp;
  int const row, column;  // of the output, of the thread's first access of step 0
  Recorder& recorder;

  GPUSIM_DEVICE Epilogue(uint32 base, int thread, int warp, Tile const& tile, Recorder& recorder)
      : base(base),
        thread(thread),
        warp(warp),
        row(tile.m * kTileM + Map::group(thread) * kWarpM + Map::row_in_group(thread)),
        column(tile.n * kTileN + Map::column(thread)),
        recorder(recorder) {}

  GPUSIM_DEVICE int64 output_offset(int step, int access) const {
    int64 const added = int64(step * E::kRows + Map::access_row(access)) * kLeadingC + Map::access_column(access);
    return int64(row) * kLeadingC + column + added;
  }

  GPUSIM_DEVICE bool output_valid(int step, int access) const {
    return row + step * E::kRows + Map::access_row(access) < kExtentM &&
           column + Map::access_column(access) < kExtentN;
  }

  // D = alpha * accumulator + beta * source, rounded to the output's type.
  template <bool kWithSource>
  GPUSIM_DEVICE static void linear_combination(uint32 (&result)[E::kAccessWords],
                                               float const (&accumulators)[E::kVector],
                                               uint32 const (&source)[E::kAccessWords], float alpha, float beta) {
    float values[E::kVector];
    GPUSIM_UNROLL
    for (int element = 0; element < E::kVector; ++element) {
      if constexpr (kWithSource) {
        float const from_source = E::kHalfOutput ? unpack_f16(source[element / 2], element % 2)
                                                 : word_as_float(source[least(element, E::kAccessWords - 1)]);
        values[element] = fused_multiply_add(alpha, accumulators[element], multiply(beta, from_source));
      } else {
        values[element] = multiply(alpha, accumulators[element]);
      }
    }
    GPUSIM_UNROLL
    for (int word = 0; word < E::kAccessWords; ++word) {
      if constexpr (E::kHalfOutput) {
        result[word] = pack_f16(values[2 * word], E::kVector > 1 ? values[least(2 * word + 1, E::kVector - 1)] : 0.0f);
      } else {
        result[word] = float_as_word(values[word]);
      }
    }
  }

  static constexpr int kPairs = kRegistersC / 2;  // 8-row halves of an instruction tile

  template <bool kWithSource>
  GPUSIM_DEVICE void step(int step, Accumulators const& accumulators, char const* source, char* output, float alpha,
                          float beta) {
    uint32 source_words[E::kAccesses][E::kAccessWords] = {};
    if constexpr (kWithSource) {
      GPUSIM_UNROLL
      for (int access = 0; access < E::kAccesses; ++access) {
        int64 const offset = output_offset(step, access);
        bool const valid = output_valid(step, access);
        GPUSIM_RECORD(load_source(step, access, offset, valid));
        load_global<E::kAccessBytes>(source_words[access], source + offset * E::kOutputBytes, valid);
      }
    }
    GPUSIM_RECORD(barrier());
    barrier();
    GPUSIM_UNROLL
    for (int store = 0; store < E::kStores; ++store) {
      uint32 const offset = E::store_offset(warp, thread % kWarpSize, store);
      float const(&tile)[kRegistersC] = accumulators.registers[store][step / kPairs];
      GPUSIM_RECORD(store_shared(step, store, offset * 4));
      store_shared_v2(base + offset * 4, tile[step % kPairs * 2], tile[step % kPairs * 2 + 1]);
    }
    GPUSIM_RECORD(barrier());
    barrier();
    float loaded[E::kAccesses][E::kLoadsPerAccess][E::kLoadElements];
    GPUSIM_UNROLL
    for (int load = 0; load < E::kAccesses * E::kLoadsPerAccess; ++load) {
      uint32 const offset = E::load_offset(thread, load);
      GPUSIM_RECORD(load_shared(step, load, offset * 4));
      load_shared(loaded[load / E::kLoadsPerAccess][load % E::kLoadsPerAccess], base + offset * 4);
    }
    GPUSIM_UNROLL
    for (int access = 0; access < E::kAccesses; ++access) {
      float aligned[E::kVector];
      GPUSIM_UNROLL
      for (int element = 0; element < E::kVector; ++element) {
        aligned[element] = loaded[access][element / E::kLoadElements][element % E::kLoadElements];
      }
      uint32 result[E::kAccessWords];
      linear_combination<kWithSource>(result, aligned, source_words[access], alpha, beta);
      int64 const offset = output_offset(step, access);
      bool const valid = output_valid(step, access);
      GPUSIM_RECORD(store_global(step, access, offset, valid));
      store_global<E::kAccessBytes>(output + offset * E::kOutputBytes, result, valid);
    }
  }

  template <bool kWithSource>
  GPUSIM_DEVICE void run(Accumulators const& accumulators, void const* source, void* output, float alpha,
                                float beta) {
    GPUSIM_UNROLL
    for (int index = 0; index < E::kSteps; ++index) {
      step<kWithSource>(index, accumulators, static_cast<char const*>(source), static_cast<char*>(output), alpha, beta);
    }
  }
};

}  // namespace gpusim
