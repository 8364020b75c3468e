// Accumulators through shared memory to the output, 8 rows of every warp at a time. Mirrors gpusim/tile/epilogue.py and
// gpusim/schedule/epilogue.py.
#pragma once

#include "extents.cuh"
#include "mma.cuh"
#include "output_op.cuh"
#include "platform.cuh"
#include "ptx.cuh"
#include "record.cuh"
#include "scenario.cuh"
#include "thread_map.cuh"
#include "threadblock_swizzle.cuh"

namespace gpusim {

struct EpilogueTile {
  static constexpr int kVector = GPUSIM_ACCESS_C;  // elements of one global access
  static constexpr int kOutputBits = bits_of(kOutput), kAccumulatorBits = bits_of(kAccumulator);
  static constexpr int kAccumulatorBytes = kAccumulatorBits / 8;
  static constexpr int kAccessBytes = kVector * kOutputBits / 8;
  static constexpr int kAccessWords = words_of(kVector, kOutput);

  using Map = OutputThreadMap<kTileN, kWarpsM, kWarpM, kThreads, kVector, kOutputBits>;

  static constexpr int kRows = Map::kRows;
  static constexpr int kSteps = Map::kSteps;
  // Shared memory is permuted, so that the several 16-byte loads of a vector do not conflict.
  static constexpr bool kMixed = GPUSIM_EPILOGUE_MIXED;
  static constexpr int kPadding = 256 / kAccumulatorBits;
  static constexpr int kColumns = kTileN + kPadding;  // accumulators from a row of shared memory to the next
  static constexpr int kLineElements = 32;
  static constexpr int kPair = 2;                         // accumulators of one shared store
  static constexpr int kPairWords = kPair * kAccumulatorBits / 32;
  static constexpr int kStores = kWarpN / kInstructionN;  // shared stores of one thread in one step
  static constexpr int kLoadElements = least(128 / kAccumulatorBits, kVector);
  static constexpr int kLoadBytes = kLoadElements * kAccumulatorBits / 8;
  static constexpr int kLoadWords = ceil_div(kLoadBytes, 4);
  static constexpr int kLoadsPerAccess = kVector / kLoadElements;
  static constexpr int kAccumulatorWords = kLoadsPerAccess * kLoadWords;  // of one access
  static constexpr int kAccesses = Map::kAccesses;
  static constexpr int kBiasAccesses = Map::kIterationsColumn;

  // First of the two accumulators of a shared store, in accumulators from the epilogue's base. Mixed: within a vector,
  // the 16-byte parts change places by XOR with the number of their 128-byte line.
  GPUSIM_HOST_DEVICE static int store_offset(int warp, int lane, int store) {
    int const corner = warp_n(warp) * kWarpN + store * kInstructionN;
    int const pair = (lane % 4) ^ (kMixed ? corner / kLineElements % 2 * 2 : 0);
    int const block = corner ^ (kMixed && kLoadsPerAccess == 4 ? corner / kLineElements / 2 % 2 * kInstructionN : 0);
    return (warp_m(warp) * kRows + lane / 4) * kColumns + block + pair * 2;
  }

  GPUSIM_HOST_DEVICE static int load_offset(int thread, int load) {
    int const access = load / kLoadsPerAccess;
    int const row = Map::group(thread) * kRows + Map::row_in_group(thread) + Map::access_row(access);
    int const column = Map::column(thread) + Map::access_column(access);
    int const vector = (load % kLoadsPerAccess) ^ (kMixed ? column / kLineElements % kLoadsPerAccess : 0);
    return row * kColumns + column + vector * kLoadElements;
  }

  GPUSIM_HOST_DEVICE static int64 bytes(int64 elements) { return bytes_of(elements, kOutput); }
};

// What the slices of a parallel split-K do: store their accumulators as they are.
struct StoreAsIs {
  static constexpr bool kWithSource = false, kWithBias = false;

  GPUSIM_DEVICE void operator()(uint32 (&result)[EpilogueTile::kAccessWords],
                                uint32 const (&accumulators)[EpilogueTile::kAccumulatorWords], uint32 const*,
                                uint32 const*) const {
    GPUSIM_UNROLL
    for (int word = 0; word < EpilogueTile::kAccessWords; ++word) result[word] = accumulators[word];
  }
};

// Serial split-K: the warps of a slice wait until all warps of the slice before have stored their part of the tile.
struct Semaphore {
  int* flag;  // counts warps that are done

  GPUSIM_DEVICE Semaphore(int* flags, Extents const& extents, Tile const& tile)
      : flag(flags + tile.m + tile.n * extents.tiles_m) {}

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

  template <bool kWithSource, bool kWithBias, bool kWithRelu>
  using Op = OutputOp<E::kVector, kWithSource, kWithBias, kWithRelu>;

  Extents const extents;
  uint32 const base;  // shared-space byte address
  int const thread, warp;
  int const row, column;  // of the output, of the thread's first access of step 0
  int const slice;
  Recorder& recorder;

  GPUSIM_DEVICE Epilogue(Extents const& extents, uint32 base, int thread, int warp, Tile const& tile,
                         Recorder& recorder)
      : extents(extents),
        base(base),
        thread(thread),
        warp(warp),
        row(tile.m * kTileM + Map::group(thread) * kWarpM + Map::row_in_group(thread)),
        column(tile.n * kTileN + Map::column(thread)),
        slice(tile.slice),
        recorder(recorder) {}

  GPUSIM_DEVICE int64 output_offset(int step, int access) const {
    int64 const leading = extents.leading_c;
    int64 const added = int64(step * E::kRows + Map::access_row(access)) * leading + Map::access_column(access);
    return (kReduces ? slice * partial_stride(extents) : 0) + int64(row) * leading + column + added;
  }

  GPUSIM_DEVICE bool column_valid(int access) const { return column + Map::access_column(access) < extents.n; }

  GPUSIM_DEVICE bool output_valid(int step, int access) const {
    return row + step * E::kRows + Map::access_row(access) < extents.m && column_valid(access);
  }

  template <class Op>
  GPUSIM_DEVICE void step(int step, Accumulators const& accumulators, char const* source, char* output,
                          uint32 const (&bias)[E::kBiasAccesses][E::kAccessWords], Op const& op) {
    uint32 source_words[E::kAccesses][E::kAccessWords] = {};
    if constexpr (Op::kWithSource) {
      GPUSIM_UNROLL
      for (int access = 0; access < E::kAccesses; ++access) {
        int64 const offset = output_offset(step, access);
        bool const valid = output_valid(step, access);
        GPUSIM_RECORD(load_source(step, access, offset, valid));
        load_global<E::kAccessBytes>(source_words[access], source + E::bytes(offset), valid);
      }
    }
    GPUSIM_RECORD(barrier());
    barrier();
    GPUSIM_UNROLL
    for (int store = 0; store < E::kStores; ++store) {
      uint32 const offset = E::store_offset(warp, thread % kWarpSize, store);
      constexpr int kTileRows = kInstructionM / E::kRows;  // steps that one instruction tile lasts
      AccumulatorRegister pair[E::kPairWords];
      GPUSIM_UNROLL
      for (int word = 0; word < E::kPairWords; ++word) {
        pair[word] = accumulators.registers[store][step / kTileRows][step % kTileRows * E::kPairWords + word];
      }
      GPUSIM_RECORD(store_shared(step, store, offset));
      store_shared(base + offset * E::kAccumulatorBytes, pair);
    }
    GPUSIM_RECORD(barrier());
    barrier();
    uint32 loaded[E::kAccesses][E::kAccumulatorWords];
    GPUSIM_UNROLL
    for (int load = 0; load < E::kAccesses * E::kLoadsPerAccess; ++load) {
      uint32 const offset = E::load_offset(thread, load);
      GPUSIM_RECORD(load_shared(step, load, offset));
      load_shared<E::kLoadBytes>(loaded[load / E::kLoadsPerAccess] + load % E::kLoadsPerAccess * E::kLoadWords,
                                 base + offset * E::kAccumulatorBytes);
    }
    GPUSIM_UNROLL
    for (int access = 0; access < E::kAccesses; ++access) {
      uint32 result[E::kAccessWords];
      op(result, loaded[access], source_words[access], bias[access % E::kBiasAccesses]);
      int64 const offset = output_offset(step, access);
      bool const valid = output_valid(step, access);
      GPUSIM_RECORD(store_global(step, access, offset, valid));
      store_global<E::kAccessBytes>(output + E::bytes(offset), result, valid);
    }
  }

  template <class Op>
  GPUSIM_DEVICE void run(Accumulators const& accumulators, void const* source, void* output, void const* bias,
                         Op const& op) {
    uint32 bias_words[E::kBiasAccesses][E::kAccessWords] = {};
    if constexpr (Op::kWithBias) {
      GPUSIM_UNROLL
      for (int access = 0; access < E::kBiasAccesses; ++access) {
        int64 const offset = column + Map::access_column(access);
        GPUSIM_RECORD(load_bias(access, offset, column_valid(access)));
        load_global<E::kAccessBytes>(bias_words[access], static_cast<char const*>(bias) + E::bytes(offset),
                                     column_valid(access));
      }
    }
    GPUSIM_UNROLL
    for (int index = 0; index < E::kSteps; ++index) {
      step(index, accumulators, static_cast<char const*>(source), static_cast<char*>(output), bias_words, op);
    }
  }
};

}  // namespace gpusim
