// The output of a block in registers, through shared memory to global memory, 16 bytes a thread; and its log-sum-exp.
#pragma once

#include "attention/shape.cuh"
#include "attention/softmax_ptx.cuh"
#include "attention/tiles.cuh"
#include "attention/warp_gemm.cuh"
#include "platform.cuh"
#include "ptx.cuh"
#include "record.cuh"
#include "thread_map.cuh"

namespace gpusim {

struct OutputTile {
  using Tile = TileOf<0, true, kBlockQueries, kHeadDimV, panel_of(kHeadDimV), kWarpM>;
  using Map = ThreadMap<Tile::kPadded, kBlockQueries, kThreads, Tile::kPanel / kVectorElements>;

  // `first_row` and `first_column` are the warp tile's in the block; `factor[m][half]` multiplies the rows. All of shared
  // memory is free.
  template <int kTilesM, int kTilesN>
  GPUSIM_DEVICE static void store(Recorder& recorder, WarpTile<kTilesM, kTilesN> const& output,
                                  float const (&factor)[kTilesM][2], void* tensor, Block const& block, uint32 base,
                                  int thread, int first_row, int first_column) {
    int const lane = thread % kWarpSize;
    // Other tiles of 8 columns are an XOR away inside a line, other rows and panels a constant.
    uint32 const first_offset = Tile::Layout::offset(first_column + lane % 4 * 2, first_row + lane / 4);
    GPUSIM_UNROLL
    for (int m = 0; m < kTilesM; ++m) {
      GPUSIM_UNROLL
      for (int half = 0; half < 2; ++half) {
        GPUSIM_UNROLL
        for (int n = 0; n < kTilesN; ++n) {
          if (first_column + 8 * n < Tile::kPadded) {  // more columns may have been computed
            int const in_line = 8 * n % Tile::kPanel;
            uint32 const offset = (first_offset ^ Tile::Layout::offset(in_line, 0)) +
                                  Tile::Layout::offset(8 * n - in_line, 16 * m + 8 * half);
            uint32 const words[1] = {pack_pair(multiply(output.registers[m][n][2 * half], factor[m][half]),
                                               multiply(output.registers[m][n][2 * half + 1], factor[m][half]))};
            GPUSIM_RECORD(store_shared(m * 2 + half, n, offset));
            store_shared(base + offset * kElementBytes, words);
          }
        }
      }
    }
    GPUSIM_RECORD(barrier());
    barrier();
    TileCoordinate const first = Map::initial_offset(thread);
    GPUSIM_UNROLL
    for (int access = 0; access < Map::kAccesses; ++access) {
      TileCoordinate const step = Map::access_offset(access);
      int const row = first.strided + step.strided, column = first.contiguous + step.contiguous;
      uint32 const shared = Tile::Layout::offset(column, row);
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

// ln(sum) + greatest score, both of which are in base 2 here; -inf for a query that sees no key.
GPUSIM_DEVICE float log_sum_exp(float greatest_log2, float sum) {
  constexpr float kLn2 = 0.693147180559945309f;
  return sum == 0.0f ? no_score() : multiply(add(greatest_log2, log2_approximate(sum)), kLn2);
}

// 1 / sum; 0 for a query that sees no key.
GPUSIM_DEVICE float normaliser(float sum) { return sum == 0.0f ? 0.0f : reciprocal(sum); }

}  // namespace gpusim
