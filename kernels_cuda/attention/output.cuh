// The output of a block, a tile of the second GEMM at a time, through shared memory to the output or to the fp32 buffer: the
// epilogue of a GEMM, whose tile scenario.cuh's is. And the log-sum-exp.
#pragma once

#include "attention/shape.cuh"
#include "attention/softmax_ptx.cuh"
#include "attention/warp_gemm.cuh"
#include "epilogue.cuh"
#include "output_op.cuh"
#include "platform.cuh"
#include "ptx.cuh"
#include "record.cuh"

namespace gpusim {

struct AttentionEpilogue {
  using E = EpilogueTile;
  using Map = E::Map;

  static constexpr int kParts = E::kVector * 32 / 128;  // 16-byte accesses of the buffer that make a vector of the output
  static constexpr int kPartElements = 4;
  static constexpr int kSharedBytes = kWarpsM * 2 * E::kRows * E::kColumns * E::kAccumulatorBytes;

  Recorder& recorder;
  Block const& block;
  void* const output;
  float* const buffer;
  uint32 const base;  // of the staging, shared-space byte address
  int const thread, warp;
  int const row, column;  // of the thread's first access of step 0, in the block and the column block

  GPUSIM_DEVICE AttentionEpilogue(AttentionParams const& params, Block const& block, uint32 base, int thread, int warp,
                                  Recorder& recorder)
      : recorder(recorder),
        block(block),
        output(params.common.output),
        buffer(static_cast<float*>(params.common.partial)),
        base(base),
        thread(thread),
        warp(warp),
        row(Map::group(thread) * kWarpM + Map::row_in_group(thread)),
        column(Map::column(thread)) {}

  GPUSIM_DEVICE int row_of(int step, int access) const { return row + step * E::kRows + Map::access_row(access); }

  GPUSIM_DEVICE int64 offset(int step, int access, int column_block) const {
    int64 const added = int64(step * E::kRows + Map::access_row(access)) * kRowV + Map::access_column(access);
    return block.offset_o() + row * kRowV + column_block * kTileN + column + added;
  }

  GPUSIM_DEVICE bool valid(int step, int access, int column_block) const {
    return block.query_start + row_of(step, access) < block.queries &&
           column_block * kTileN + column + Map::access_column(access) < kHeadDimV;
  }

  // `source`: the buffer is added, times what `rescale` gives for a row. `divides`: the sum times what `divisor` gives
  // leaves as the output; else it goes to the buffer if kToBuffer, and as it is to the output if not.
  template <bool kToBuffer, int kTilesM, int kTilesN, class Rescale, class Divisor>
  GPUSIM_DEVICE void run(WarpTile<kTilesM, kTilesN> const& tile, int column_block, bool source, bool divides,
                         Rescale const& rescale, Divisor const& divisor) const {
    GPUSIM_UNROLL
    for (int step = 0; step < E::kSteps; ++step) {
      uint32 before[E::kAccesses][kParts][kPartElements] = {};
      if (source) {
        GPUSIM_UNROLL
        for (int access = 0; access < E::kAccesses * kParts; ++access) {
          int const of = access / kParts, part = access % kParts;
          int64 const at = offset(step, of, column_block) + part * kPartElements;
          bool const exists = valid(step, of, column_block);
          GPUSIM_RECORD(load_source(step, access, at, exists));
          load_global<kVectorBytes>(before[of][part], buffer + at, exists);
        }
      }
      GPUSIM_RECORD(barrier());
      barrier();
      GPUSIM_UNROLL
      for (int store = 0; store < E::kStores; ++store) {
        uint32 const shared = E::store_offset(warp, thread % kWarpSize, store);
        float pair[2] = {0.0f, 0.0f};  // of columns that were not computed
        if (store < kTilesN) {
          pair[0] = tile.registers[step / 2][store % kTilesN][step % 2 * 2];
          pair[1] = tile.registers[step / 2][store % kTilesN][step % 2 * 2 + 1];
        }
        GPUSIM_RECORD(store_shared(step, store, shared));
        store_shared(base + shared * E::kAccumulatorBytes, pair);
      }
      GPUSIM_RECORD(barrier());
      barrier();
      uint32 loaded[E::kAccesses][E::kAccumulatorWords];
      GPUSIM_UNROLL
      for (int load = 0; load < E::kAccesses * E::kLoadsPerAccess; ++load) {
        uint32 const shared = E::load_offset(thread, load);
        GPUSIM_RECORD(load_shared(step, load, shared));
        load_shared<E::kLoadBytes>(loaded[load / E::kLoadsPerAccess] + load % E::kLoadsPerAccess * E::kLoadWords,
                                   base + shared * E::kAccumulatorBytes);
      }
      GPUSIM_UNROLL
      for (int access = 0; access < E::kAccesses; ++access) {
        float values[E::kVector];
        GPUSIM_UNROLL
        for (int element = 0; element < E::kVector; ++element) values[element] = word_as_float(loaded[access][element]);
        if constexpr (kToBuffer) {
          float const factor = source ? rescale(row_of(step, access)) : 0.0f;
          float const divided = divides ? divisor(row_of(step, access)) : 1.0f;
          GPUSIM_UNROLL
          for (int element = 0; element < E::kVector; ++element) {
            float const held = word_as_float(before[access][element / kPartElements][element % kPartElements]);
            values[element] = multiply(fused_multiply_add(held, factor, values[element]), divided);
          }
        }
        int64 const at = offset(step, access, column_block);
        bool const exists = valid(step, access, column_block);
        if (kToBuffer && !divides) {
          GPUSIM_UNROLL
          for (int part = 0; part < kParts; ++part) {
            uint32 words[kPartElements];
            GPUSIM_UNROLL
            for (int element = 0; element < kPartElements; ++element) {
              words[element] = float_as_word(values[part * kPartElements + element]);
            }
            GPUSIM_RECORD(store_global(step, access * kParts + part, at + part * kPartElements, exists));
            store_global<kVectorBytes>(buffer + at + part * kPartElements, words, exists);
          }
        } else {
          uint32 words[E::kAccessWords];
          pack<kOutput>(words, values);
          GPUSIM_RECORD(store_global(step, access, at, exists));
          store_global<E::kAccessBytes>(static_cast<char*>(output) + E::bytes(at), words, exists);
        }
      }
    }
  }

  // Of a tile that is the result.
  template <int kTilesM, int kTilesN>
  GPUSIM_DEVICE void store(WarpTile<kTilesM, kTilesN> const& tile) const {
    auto const none = [](int) { return 1.0f; };
    run<false>(tile, 0, false, false, none, none);
  }
};

// ln(sum) + greatest score, which is in base 2 here; -inf for a query that sees no key.
GPUSIM_DEVICE float log_sum_exp(float greatest_log2, float sum) {
  constexpr float kLn2 = 0.693147180559945309f;
  return sum == 0.0f ? no_score() : multiply(add(greatest_log2, log2_approximate(sum)), kLn2);
}

// 1 / sum; 0 for a query that sees no key.
GPUSIM_DEVICE float normaliser(float sum) { return sum == 0.0f ? 0.0f : reciprocal(sum); }

}  // namespace gpusim
