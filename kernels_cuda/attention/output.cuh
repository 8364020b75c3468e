// The output of a block from registers to global memory, through shared memory where it has 16 bits; its log-sum-exp.
#pragma once

#include "attention/shape.cuh"
#include "attention/softmax_ptx.cuh"
#include "attention/warp_gemm.cuh"
#include "layout.cuh"
#include "platform.cuh"
#include "ptx.cuh"
#include "record.cuh"
#include "thread_map.cuh"

namespace gpusim {

// Two neighbours of the output, in its type, to the global memory of the accumulators that hold them.
GPUSIM_DEVICE void store_pair(void* tensor, int64 offset, float low, float high, bool valid) {
  char* const at = static_cast<char*>(tensor) + bytes_of(offset, kOutput);
  if constexpr (kOutput == Element::f32) {
    uint32 const words[2] = {float_as_word(low), float_as_word(high)};
    store_global<8>(at, words, valid);
  } else {
    uint32 const words[1] = {pack_pair(low, high)};
    store_global<4>(at, words, valid);
  }
}

struct OutputTile {
  static constexpr bool kStaged = bits_of(kOutput) == 16;
  static constexpr int kPanel = kHeadDimV > 32 ? 64 : 32, kPanels = ceil_div(kHeadDimV, kPanel);
  static constexpr int kPadded = kPanel * kPanels;
  using Layout = CrosswiseLayout<kPanel, kBlockQueries, kPanels>;
  using Map = ThreadMap<kPadded, kBlockQueries, kThreads, kPanel / kVectorElements>;
  static constexpr int kSharedBytes = kStaged ? Layout::kElements * kElementBytes : 0;

  // `first_row` and `first_column` are the warp tile's in the block; `factor[m][half]` multiplies the rows. Shared memory
  // from `base` on is free.
  template <int kTilesM, int kTilesN>
  GPUSIM_DEVICE static void store(Recorder& recorder, WarpTile<kTilesM, kTilesN> const& output,
                                  float const (&factor)[kTilesM][2], void* tensor, Block const& block, uint32 base,
                                  int thread, int first_row, int first_column) {
    int const lane = thread % kWarpSize;
    // Other tiles of 8 columns are an XOR away inside a line, other rows and panels a constant.
    uint32 const first_offset = Layout::offset(first_column + lane % 4 * 2, first_row + lane / 4);
    GPUSIM_UNROLL
    for (int m = 0; m < kTilesM; ++m) {
      GPUSIM_UNROLL
      for (int half = 0; half < 2; ++half) {
        int const row = first_row + 16 * m + 8 * half + lane / 4;
        GPUSIM_UNROLL
        for (int n = 0; n < kTilesN; ++n) {
          float const low = multiply(output.registers[m][n][2 * half], factor[m][half]);
          float const high = multiply(output.registers[m][n][2 * half + 1], factor[m][half]);
          if constexpr (kStaged) {
            if (first_column + 8 * n < kPadded) {  // more columns may have been computed
              int const in_line = 8 * n % kPanel;
              uint32 const offset = (first_offset ^ Layout::offset(in_line, 0)) +
                                    Layout::offset(8 * n - in_line, 16 * m + 8 * half);
              uint32 const words[1] = {pack_pair(low, high)};
              GPUSIM_RECORD(store_shared(m * 2 + half, n, offset));
              store_shared(base + offset * kElementBytes, words);
            }
          } else {
            int const column = first_column + 8 * n + lane % 4 * 2;
            int64 const offset = block.offset_o() + row * kRowV + column;
            bool const valid = block.query_start + row < block.queries && column < kHeadDimV;
            GPUSIM_RECORD(store_global(m * 2 + half, n, offset, valid));
            store_pair(tensor, offset, low, high, valid);
          }
        }
      }
    }
    if constexpr (kStaged) {
      GPUSIM_RECORD(barrier());
      barrier();
      to_global(recorder, tensor, block, base, thread);
    }
  }

  GPUSIM_DEVICE static void to_global(Recorder& recorder, void* tensor, Block const& block, uint32 base, int thread) {
    TileCoordinate const first = Map::initial_offset(thread);
    GPUSIM_UNROLL
    for (int access = 0; access < Map::kAccesses; ++access) {
      TileCoordinate const step = Map::access_offset(access);
      int const row = first.strided + step.strided, column = first.contiguous + step.contiguous;
      uint32 const shared = Layout::offset(column, row);
      int64 const global = block.offset_o() + row * kRowV + column;
      bool const valid = block.query_start + row < block.queries && column < kHeadDimV;
      uint32 words[4];
      GPUSIM_RECORD(load_shared(0, access, shared));
      load_shared<kVectorBytes>(words, base + shared * kElementBytes);
      GPUSIM_RECORD(store_global(0, access, global, valid));
      store_global<kVectorBytes>(static_cast<char*>(tensor) + global * kElementBytes, words, valid);
    }
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
