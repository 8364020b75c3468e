// Partial sums of all slices to the output. Mirrors gpusim/families/gemm/reduction/tile.py and gpusim/families/gemm/reduction/schedule.py.
#pragma once

#include "extents.cuh"
#include "output_op.cuh"
#include "params.cuh"
#include "platform.cuh"
#include "ptx.cuh"
#include "record.cuh"
#include "scenario.cuh"

namespace gpusim {

struct ReductionTile {
  static constexpr int kRows = 4;              // output rows of a CTA: one for each of its warps
  static constexpr int kWarps = kRows;
  static constexpr int kPartitionsPerStage = 4;  // slices that are loaded before the first of them is added
  static constexpr int kVector = GPUSIM_ACCESS_C;
  static constexpr int kLoadElements = GPUSIM_ACCESS_PARTIAL;
  static constexpr int kLoadsPerSlice = kVector / kLoadElements;
  static constexpr int kLoadBytes = kLoadElements * bits_of(kAccumulator) / 8;
  static constexpr int kLoadWords = ceil_div(kLoadBytes, 4);
  static constexpr int kColumns = kWarpSize * kVector;
  static constexpr int64 kPartialStride = partial_stride({});
  static constexpr int kGridX = ceil_div(Extents::m, kRows);
  static constexpr int kAccessBytes = kVector * bits_of(kOutput) / 8;
  static constexpr int kAccessWords = words_of(kVector, kOutput);
  static constexpr int kAccumulatorWords = kLoadsPerSlice * kLoadWords;

  GPUSIM_HOST_DEVICE static int linear(int x, int y) { return x + kGridX * y; }
};

// The sum of packed accumulators, each rounded to their type.
GPUSIM_DEVICE uint32 add_accumulators(uint32 left, uint32 right) {
  if constexpr (kAccumulator == Element::f16) {
    return add_f16x2(left, right);
  } else if constexpr (kAccumulator == Element::f32) {
    return float_as_word(add(word_as_float(left), word_as_float(right)));
  } else {
    return left + right;
  }
}

struct Reduction {
  using R = ReductionTile;

  int const row, column;
  bool const valid;
  Recorder& recorder;

  GPUSIM_DEVICE Reduction(int block_row, int block_column, int thread, Recorder& recorder)
      : row(block_row * R::kRows + thread / kWarpSize),
        column(block_column * R::kColumns + thread % kWarpSize * R::kVector),
        valid(row < Extents::m && column < Extents::n),
        recorder(recorder) {}

  // `count` slices from `first` on: all their loads, then all their additions.
  GPUSIM_DEVICE void stage(uint32 (&sum)[R::kAccumulatorWords], char const* partial, int first, int count) {
    uint32 words[R::kPartitionsPerStage][R::kAccumulatorWords] = {};
    GPUSIM_UNROLL
    for (int index = 0; index < count; ++index) {
      GPUSIM_UNROLL
      for (int load = 0; load < R::kLoadsPerSlice; ++load) {
        int64 const offset = (first + index) * R::kPartialStride + int64(row) * Extents::n + column +
                             load * R::kLoadElements;
        GPUSIM_RECORD(load_partial(first + index, load, offset, valid));
        load_global<R::kLoadBytes>(words[index] + load * R::kLoadWords,
                                   partial + offset * (bits_of(kAccumulator) / 8), valid);
      }
    }
    GPUSIM_UNROLL
    for (int index = 0; index < count; ++index) {
      GPUSIM_UNROLL
      for (int word = 0; word < R::kAccumulatorWords; ++word) {
        sum[word] = add_accumulators(sum[word], words[index][word]);
      }
    }
  }

  GPUSIM_DEVICE void run(Params const& params) {
    uint32 sum[R::kAccumulatorWords] = {};
    GPUSIM_UNROLL
    for (int first = 0; first < kSplitKSlices; first += R::kPartitionsPerStage) {
      stage(sum, static_cast<char const*>(params.partial), first,
            least(R::kPartitionsPerStage, kSplitKSlices - first));
    }
    constexpr bool kReadsSource = !GPUSIM_BETA_IS_ZERO;
    int64 const offset = int64(row) * Extents::leading_c + column;
    uint32 source[R::kAccessWords] = {}, bias[R::kAccessWords] = {};
    if constexpr (kReadsSource) {
      GPUSIM_RECORD(load_source(0, 0, offset, valid));
      load_global<R::kAccessBytes>(source, static_cast<char const*>(params.source) + bytes(offset), valid);
    }
    if constexpr (kHasBias) {
      GPUSIM_RECORD(load_bias(0, column, valid));
      load_global<R::kAccessBytes>(bias, static_cast<char const*>(params.bias) + bytes(column), valid);
    }
    uint32 result[R::kAccessWords];
    OutputOp<R::kVector, kReadsSource, kHasBias, kHasRelu> const op{params.alpha, params.beta};
    op(result, sum, source, bias);
    GPUSIM_RECORD(store_global(0, 0, offset, valid));
    store_global<R::kAccessBytes>(static_cast<char*>(params.output) + bytes(offset), result, valid);
  }

  GPUSIM_HOST_DEVICE static int64 bytes(int64 elements) { return bytes_of(elements, kOutput); }
};

}  // namespace gpusim
