// The order of CUTLASS's fused attention (example 41): two GEMMs of the CTA's tile a key block, chained through shared
// memory. Scores by a first multistage GEMM, whose k tiles all have a stage; row statistics in shared memory; probabilities
// through shared memory, as operand A of the second; V's tiles prefetched right after the first. The output stays in
// registers, or in a global fp32 buffer. Mirrors gpusim/schedule/attention.py.
#pragma once

#include "attention/output.cuh"
#include "attention/softmax_ptx.cuh"
#include "attention/shape.cuh"
#include "attention/tiles.cuh"
#include "attention/warp_gemm.cuh"
#include "platform.cuh"
#include "ptx.cuh"
#include "record.cuh"

namespace gpusim {

struct Chained {
  static constexpr bool kKeepOutput = GPUSIM_KEEP_OUTPUT_IN_REGISTERS;
  static constexpr bool kPreloadV = GPUSIM_PRELOAD_V;
  static constexpr int kColumns = kBlockKeys;  // of the output, that the second GEMM computes at once
  static constexpr int kColumnBlocks = ceil_div(kHeadDimV, kColumns);
  static constexpr int kKTilesQk = ceil_div(kHeadDim, kTileK), kKTilesPv = kBlockKeys / kTileK;
  static constexpr int kTilesM = kWarpM / 16, kTilesKeys = kWarpN / 8, kTilesV = kColumns / kWarpsN / 8;

  static_assert(kKTilesQk <= kStages && kKTilesPv <= kStages, "every k tile has a stage");
  static_assert(!kKeepOutput || kColumnBlocks == 1, "one warp tile holds the output");
  static_assert(kTileK == 32 && kWarpM % 16 == 0 && kWarpN % 16 == 0, "k tiles are two k groups");

  // Operand A of the second GEMM: rows padded, as the epilogue-like store writes them.
  struct TileP {
    static constexpr int kId = 1;  // where an operand lies in mma.sync
    static constexpr bool kKContiguous = true;
    static constexpr int kWarpExtent = kWarpM;
    static constexpr Walk kWalk = Walk::add;
    using Layout = PaddedLayout<kVectorElements, kBlockKeys, kBlockQueries, 1>;
    static constexpr int kSharedBytes = Layout::kElements * kElementBytes;
  };
  struct RecordedP : TileP {
    static constexpr int kId = 0;  // P, in a trace record
  };
  using TileQ = TileOf<1, true, kBlockQueries, kHeadDim, kTileK, kWarpM>;
  using TileK = TileOf<2, true, kBlockKeys, kHeadDim, kTileK, kWarpN>;
  using TileV = TileOf<3, false, kBlockKeys, kColumns, 64, kColumns / kWarpsN>;
  using CopyQ = TileCopy<TileQ, kBlockQueries, kTileK, kRowQk>;
  using CopyK = TileCopy<TileK, kBlockKeys, kTileK, kRowQk>;
  using CopyV = TileCopy<TileV, kTileK, kColumns, kRowV>;

  static constexpr int kBaseQ = 0, kBaseK = TileQ::kSharedBytes;
  static constexpr int kBaseP = 0, kBaseV = TileP::kSharedBytes;
  static constexpr int kGemmBytes = greatest(kBaseK + TileK::kSharedBytes, kBaseV + TileV::kSharedBytes);
  // Row statistics, a float for each query: greatest score so far, that of the blocks before, what rescales the output,
  // the sum, and each warp column's part of this block's sum.
  static constexpr int kBaseStatistics = greatest(kGemmBytes, kKeepOutput ? OutputTile::Tile::kSharedBytes : 0);
  static constexpr int kGreatest = 0, kBefore = 1, kRescale = 2, kSum = 3, kPartial = 4;
  static constexpr int kSharedBytes = kBaseStatistics + (kPartial + kWarpsN) * kBlockQueries * 4;
  static_assert(kSharedBytes == GPUSIM_SHARED_BYTES, "gpusim/hardware/specialise_attention.py asks for as much");
  static_assert(kBaseK % kLineBytes == 0 && kBaseV % kLineBytes == 0, "a swizzle begins on a line");

  using Output = WarpTile<kTilesM, kTilesV>;
  using Scores = WarpTile<kTilesM, kTilesKeys>;

  AttentionParams const& params;
  Block const& block;
  Recorder& recorder;
  uint32 const base;
  int const thread, first_row, first_key, first_column;  // of the warp in the block
  float const scale_log2;
  CopyQ const copy_q;
  CopyK copy_k;
  CopyV copy_v;
  WarpIterator<TileQ> const warp_q;
  WarpIterator<TileK> const warp_k;
  WarpIterator<TileP> const warp_p;
  WarpIterator<TileV> const warp_v;

  GPUSIM_DEVICE Chained(AttentionParams const& params, Block const& block, uint32 base, int thread, int warp,
                        Recorder& recorder)
      : params(params),
        block(block),
        recorder(recorder),
        base(base),
        thread(thread),
        first_row(warp_m(warp) * kWarpM),
        first_key(warp_n(warp) * kWarpN),
        first_column(warp_n(warp) * kTilesV * 8),
        scale_log2(params.scale_log2),
        copy_q(params.common.a, block.offset_q(), base + kBaseQ, thread),
        copy_k(params.common.b, block.offset_k(), base + kBaseK, thread),
        copy_v(params.v, block.offset_v(), base + kBaseV, thread),
        warp_q(base + kBaseQ, first_row, thread % kWarpSize),
        warp_k(base + kBaseK, first_key, thread % kWarpSize),
        warp_p(base + kBaseP, first_row, thread % kWarpSize),
        warp_v(base + kBaseV, first_column, thread % kWarpSize) {}

  GPUSIM_DEVICE uint32 statistic(int which, int row) const {
    return base + kBaseStatistics + (which * kBlockQueries + row) * 4;
  }

  // The block's row of a lane's accumulators.
  GPUSIM_DEVICE int row_of(int m, int half) const { return first_row + 16 * m + 8 * half + thread % kWarpSize / 4; }

  GPUSIM_DEVICE void barrier() {
    GPUSIM_RECORD(barrier());
    gpusim::barrier();
  }

  GPUSIM_DEVICE void commit() {
    GPUSIM_RECORD(commit_group());
    commit_group();
  }

  // Until k tile `k_tile` of `k_tiles`, one commit group each, is there for all warps.
  template <int kKTiles>
  GPUSIM_DEVICE void wait_for(int k_tile) {
    int const pending = kKTiles - 1 - k_tile;
    GPUSIM_RECORD(wait_group(pending));
    switch (pending) {
      case 0: wait_group<0>(); break;
      case 1: wait_group<1>(); break;
      case 2: wait_group<2>(); break;
      default: wait_group<3>();
    }
    barrier();
  }

  GPUSIM_DEVICE void copies_qk(int key_block) {
    GPUSIM_STAMP(copy_issue(key_block));
    GPUSIM_UNROLL
    for (int k_tile = 0; k_tile < kKTilesQk; ++k_tile) {
      int const column = k_tile * kTileK;
      copy_q.template copy<false>(recorder, key_block, k_tile, 0, column, block.queries - block.query_start);
      copy_k.template copy<false>(recorder, key_block, k_tile, 0, column, block.keys - key_block * kBlockKeys);
      commit();
    }
    copy_k.advance(kBlockKeys);
  }

  GPUSIM_DEVICE void copies_v(int key_block, int column_block) {
    int const rows = block.keys - key_block * kBlockKeys;
    CopyV copy = copy_v;
    copy.global += column_block * kColumns * kElementBytes;
    constexpr bool kAllColumns = kHeadDimV % kColumns == 0;
    int const columns = kHeadDimV - column_block * kColumns;
    GPUSIM_UNROLL
    for (int k_tile = 0; k_tile < kKTilesPv; ++k_tile) {
      copy.template copy<false, kAllColumns>(recorder, key_block * kColumnBlocks + column_block, k_tile,
                                             k_tile * kTileK, 0, rows, columns);
      commit();
    }
  }

  GPUSIM_DEVICE void first_gemm(Scores& scores, int key_block) {
    scores.clear();
    uint32 a[2][kTilesM][4], b[2][kTilesKeys / 2][4];
    GPUSIM_UNROLL
    for (int k_tile = 0; k_tile < kKTilesQk; ++k_tile) {
      GPUSIM_STAMP(wait_begin(key_block));
      wait_for<kKTilesQk>(k_tile);
      GPUSIM_STAMP(wait_end(key_block));
      int const stage = k_tile * TileQ::Layout::kStageElements * kElementBytes;
      GPUSIM_UNROLL
      for (int k_group = 0; k_group < kKGroups; ++k_group) {
        load_fragment<TileQ>(recorder, a[k_group], warp_q, k_tile, k_group, stage, base + kBaseQ);
        load_fragment<TileK>(recorder, b[k_group], warp_k, k_tile, k_group, stage, base + kBaseK);
      }
      GPUSIM_UNROLL
      for (int k_group = 0; k_group < kKGroups; ++k_group) {
        warp_mma(scores, a[k_group], b[k_group]);
        GPUSIM_RECORD(warp_mma(k_tile, k_group, kTilesM * kTilesKeys));
      }
    }
    GPUSIM_STAMP(mma_end(key_block, 0));
  }

  GPUSIM_DEVICE void mask(Scores& scores, int key_block) const {
    int const lane = thread % kWarpSize;
    GPUSIM_UNROLL
    for (int m = 0; m < kTilesM; ++m) {
      GPUSIM_UNROLL
      for (int half = 0; half < 2; ++half) {
        int const visible = block.visible(block.query_start + row_of(m, half), key_block * kBlockKeys) - first_key -
                            lane % 4 * 2;
        GPUSIM_UNROLL
        for (int n = 0; n < kTilesKeys; ++n) {
          GPUSIM_UNROLL
          for (int element = 0; element < 2; ++element) {
            if (8 * n + element >= visible) scores.registers[m][n][2 * half + element] = no_score();
          }
        }
      }
    }
  }

  // Each row's greatest score, over the quad that has it and by atomics over the warps.
  GPUSIM_DEVICE void row_maxima(Scores const& scores) {
    GPUSIM_UNROLL
    for (int m = 0; m < kTilesM; ++m) {
      GPUSIM_UNROLL
      for (int half = 0; half < 2; ++half) {
        float most = scores.registers[m][0][2 * half];
        GPUSIM_UNROLL
        for (int n = 0; n < kTilesKeys; ++n) {
          most = greater_of(most, scores.registers[m][n][2 * half]);
          most = greater_of(most, scores.registers[m][n][2 * half + 1]);
        }
        most = greater_of(most, shuffle_xor(most, 2));
        most = greater_of(most, shuffle_xor(most, 1));
        if (thread % 4 == 0) atomic_greatest(statistic(kGreatest, row_of(m, half)), multiply(most, scale_log2));
      }
    }
  }

  // By one thread a query: what the new maximum makes of the sum and the output so far.
  GPUSIM_DEVICE void rescale_rows() {
    if (thread < kBlockQueries) {
      float const now = load_shared_float(statistic(kGreatest, thread));
      float const before = load_shared_float(statistic(kBefore, thread));
      float const rescale = before == now ? 1.0f : exp2_approximate(add(before, -now));
      store_shared_float(statistic(kRescale, thread), rescale);
      store_shared_float(statistic(kBefore, thread), now);
      store_shared_float(statistic(kSum, thread), multiply(load_shared_float(statistic(kSum, thread)), rescale));
    }
  }

  // Scores to probabilities, not yet divided by their sum: to shared memory as operand A, and their sums.
  template <bool kMasked>
  GPUSIM_DEVICE void probabilities(Scores& scores, Output& output, int key_block) {
    int const lane = thread % kWarpSize;
    GPUSIM_UNROLL
    for (int m = 0; m < kTilesM; ++m) {
      GPUSIM_UNROLL
      for (int half = 0; half < 2; ++half) {
        int const row = row_of(m, half);
        float const greatest = load_shared_float(statistic(kGreatest, row));
        if constexpr (kKeepOutput) output.scale_row(m, half, load_shared_float(statistic(kRescale, row)));
        float const subtracted = kMasked && greatest == no_score() ? 0.0f : greatest;
        float total = 0.0f;
        GPUSIM_UNROLL
        for (int n = 0; n < kTilesKeys; ++n) {
          float pair[2];
          GPUSIM_UNROLL
          for (int element = 0; element < 2; ++element) {
            float const score = scores.registers[m][n][2 * half + element];
            pair[element] = exp2_approximate(fused_multiply_add(score, scale_log2, -subtracted));
            total = add(total, pair[element]);
          }
          uint32 const offset = TileP::Layout::offset(first_key + 8 * n + lane % 4 * 2, row);
          uint32 const words[1] = {pack_pair(pair[0], pair[1])};
          GPUSIM_RECORD(store_shared(key_block, (m * 2 + half) * kTilesKeys + n, offset));
          store_shared(base + kBaseP + offset * kElementBytes, words);
        }
        total = add(total, shuffle_xor(total, 2));
        total = add(total, shuffle_xor(total, 1));
        if (lane % 4 == 0) store_shared_float(statistic(kPartial + first_key / kWarpN, row), total);
      }
    }
  }

  GPUSIM_DEVICE void sum_rows() {
    if (thread < kBlockQueries) {
      float total = load_shared_float(statistic(kSum, thread));
      GPUSIM_UNROLL
      for (int part = 0; part < kWarpsN; ++part) {
        total = add(total, load_shared_float(statistic(kPartial + part, thread)));
      }
      store_shared_float(statistic(kSum, thread), total);
    }
  }

  // Its first wait and barrier bring the probabilities, too.
  GPUSIM_DEVICE void second_gemm(Output& output, int key_block, bool first_columns) {
    GPUSIM_UNROLL
    for (int k_tile = 0; k_tile < kKTilesPv; ++k_tile) {
      wait_for<kKTilesPv>(k_tile);
      if (k_tile == 0 && first_columns) sum_rows();
      uint32 a[2][kTilesM][4], b[2][kTilesV / 2][4];
      GPUSIM_UNROLL
      for (int k_group = 0; k_group < kKGroups; ++k_group) {
        int const at = k_tile * kKGroups + k_group;
        load_fragment<RecordedP>(recorder, a[k_group], warp_p, k_tile, at, 0, base + kBaseP);
        load_fragment<TileV>(recorder, b[k_group], warp_v, k_tile, at, 0, base + kBaseV);
      }
      GPUSIM_UNROLL
      for (int k_group = 0; k_group < kKGroups; ++k_group) {
        warp_mma(output, a[k_group], b[k_group]);
        GPUSIM_RECORD(warp_mma(k_tile, k_tile * kKGroups + k_group, kTilesM * kTilesV));
      }
    }
    GPUSIM_STAMP(mma_end(key_block, 1));
  }

  // A column block of the output joins what the key blocks before left in the buffer, or leaves as the result.
  GPUSIM_DEVICE void to_buffer(Output const& output, int column_block, bool first, bool last) {
    float* const buffer = static_cast<float*>(params.common.partial);
    GPUSIM_UNROLL
    for (int m = 0; m < kTilesM; ++m) {
      GPUSIM_UNROLL
      for (int half = 0; half < 2; ++half) {
        int const row = row_of(m, half);
        float const rescale = load_shared_float(statistic(kRescale, row));
        float const factor = last ? normaliser(load_shared_float(statistic(kSum, row))) : 1.0f;
        bool const exists = block.query_start + row < block.queries;
        GPUSIM_UNROLL
        for (int n = 0; n < kTilesV; ++n) {
          int const column = column_block * kColumns + first_column + 8 * n + thread % 4 * 2;
          int64 const offset = block.offset_o() + row * kRowV + column;
          bool const valid = exists && column < kHeadDimV;
          uint32 before[2] = {0, 0};
          if (!first) {
            GPUSIM_RECORD(load_partial(column_block, (m * 2 + half) * kTilesV + n, offset, valid));
            load_global<8>(before, buffer + offset, valid);
          }
          float sums[2];
          GPUSIM_UNROLL
          for (int element = 0; element < 2; ++element) {
            sums[element] = fused_multiply_add(word_as_float(before[element]), rescale,
                                               output.registers[m][n][2 * half + element]);
          }
          GPUSIM_RECORD(store_global(column_block, (m * 2 + half) * kTilesV + n, offset, valid));
          if (last) {
            uint32 const words[1] = {pack_pair(multiply(sums[0], factor), multiply(sums[1], factor))};
            store_global<4>(static_cast<char*>(params.common.output) + offset * kElementBytes, words, valid);
          } else {
            uint32 const words[2] = {float_as_word(sums[0]), float_as_word(sums[1])};
            store_global<8>(buffer + offset, words, valid);
          }
        }
      }
    }
  }

  template <bool kMasked>
  GPUSIM_DEVICE void key_block(int number, Output& output) {
    Scores scores;
    copies_qk(number);
    first_gemm(scores, number);
    barrier();  // Q and K are free
    if constexpr (kPreloadV) copies_v(number, 0);
    if constexpr (kMasked) mask(scores, number);
    row_maxima(scores);
    barrier();
    rescale_rows();
    barrier();
    probabilities<kMasked>(scores, output, number);
    if constexpr (!kPreloadV) copies_v(number, 0);
    if constexpr (kKeepOutput) {
      second_gemm(output, number, true);
      barrier();  // P and V are free
    } else {
      GPUSIM_NO_UNROLL
      for (int column_block = 0; column_block < kColumnBlocks; ++column_block) {
        output.clear();
        second_gemm(output, number, column_block == 0);
        barrier();  // V is free
        if (column_block + 1 < kColumnBlocks) copies_v(number, column_block + 1);
        to_buffer(output, column_block, number == 0, number == block.key_blocks - 1);
      }
    }
    copy_v.advance(kBlockKeys);
  }

  GPUSIM_DEVICE void run() {
    if (thread < kBlockQueries) {
      store_shared_float(statistic(kGreatest, thread), no_score());
      store_shared_float(statistic(kBefore, thread), no_score());
      store_shared_float(statistic(kRescale, thread), 1.0f);
      store_shared_float(statistic(kSum, thread), 0.0f);
    }
    barrier();
    Output output;
    output.clear();
    GPUSIM_STAMP(prologue_end());
    int const whole = least(block.whole_blocks, block.key_blocks);
    int number = 0;
    GPUSIM_NO_UNROLL
    for (; number < whole; ++number) key_block<false>(number, output);
    GPUSIM_NO_UNROLL
    for (; number < block.key_blocks; ++number) key_block<true>(number, output);
    GPUSIM_STAMP(tail_end());
    finish(output);
  }

  GPUSIM_DEVICE void finish(Output const& output) {
    if constexpr (kKeepOutput) {
      float factor[kTilesM][2];
      GPUSIM_UNROLL
      for (int m = 0; m < kTilesM; ++m) {
        GPUSIM_UNROLL
        for (int half = 0; half < 2; ++half) {
          factor[m][half] = normaliser(load_shared_float(statistic(kSum, row_of(m, half))));
        }
      }
      OutputTile::store(recorder, output, factor, params.common.output, block, base, thread, first_row, first_column);
    } else if (block.key_blocks == 0) {  // no key block has stored anything
      GPUSIM_NO_UNROLL
      for (int column_block = 0; column_block < kColumnBlocks; ++column_block) to_buffer(output, column_block, true, true);
    }
    if (thread < kBlockQueries) {
      float const value = log_sum_exp(load_shared_float(statistic(kGreatest, thread)),
                                      load_shared_float(statistic(kSum, thread)));
      uint32 const words[1] = {float_as_word(value)};
      store_global<4>(params.log_sum_exp + block.offset_log_sum_exp() + thread, words,
                      block.query_start + thread < block.queries);
    }
  }
};

}  // namespace gpusim
