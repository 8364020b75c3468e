// FlashAttention-2's order: warps split over queries only, scores stay in registers, where they become operand A of the
// second GEMM. K of the next key block and V of this one are in flight while the other is consumed; the last key block
// comes first, so that the blocks that need a mask do. Mirrors gpusim/families/attention/program/flash.py.
// Dao, "FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning", 2023.
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

struct Flash {
  static_assert(kWarpsN == 1, "a warp has all keys of its queries");

  static constexpr int kComputedV = GPUSIM_COMPUTED_V;  // columns of the output, in pairs of tiles
  static constexpr int kColumnsV = kTileN;
  static constexpr int kTilesM = kWarpM / 16, kTilesKeys = kBlockKeys / 8, kTilesV = kComputedV / 8;
  static constexpr int kDepth = kHeadDim % 64 ? 32 : 64;  // of a k tile of the first GEMM
  static constexpr int kKTilesQk = ceil_div(kHeadDim, kDepth), kGroupsQk = kDepth / 16, kGroupsPv = kBlockKeys / 16;
  static constexpr bool kQueriesInRegisters = GPUSIM_QUERIES_IN_REGISTERS;
  static constexpr int kHeldQ = kQueriesInRegisters ? kKTilesQk * kGroupsQk : 2;  // k groups

  using Queries = TileQk<1, kBlockQueries, kDepth, kWarpM>;
  using Keys = TileQk<2, kBlockKeys, kDepth, kBlockKeys>;
  using Values = TileV<kBlockKeys, kColumnsV, kBlockKeys, kComputedV>;

  static constexpr int kBaseQ = 0, kBaseK = Queries::kSharedBytes, kBaseV = kBaseK + Keys::kSharedBytes;
  static constexpr int kSharedBytes = greatest(kBaseV + Values::kSharedBytes, AttentionEpilogue::kSharedBytes);
  static_assert(kSharedBytes <= GPUSIM_SHARED_BYTES, "gpusim/families/attention/cuda.py asks for as much");

  Block const& block;
  Recorder& recorder;
  uint32 const base;
  int const thread, first_row;  // of the warp in the block
  float const scale_log2;
  TileCopy<Keys> copy_k;
  TileCopy<Values> copy_v;
  WarpIterator<Queries> const warp_q;
  WarpIterator<Keys> const warp_k;
  WarpIterator<Values> const warp_v;
  uint32 fragment_q[kHeldQ][kTilesM][4];
  WarpTile<kTilesM, kTilesV> output;
  float greatest_log2[kTilesM][2];  // of a row so far, times scale_log2
  float sum[kTilesM][2];            // this lane's part of it

  GPUSIM_DEVICE Flash(AttentionParams const& params, Block const& block, uint32 base, int thread, int warp,
                      Recorder& recorder)
      : block(block),
        recorder(recorder),
        base(base),
        thread(thread),
        first_row(warp * kWarpM),
        scale_log2(params.scale_log2),
        copy_k(params.common.b, block.offset_k(), base + kBaseK, thread),
        copy_v(params.v, block.offset_v(), base + kBaseV, thread),
        warp_q(base + kBaseQ, first_row, thread % kWarpSize),
        warp_k(base + kBaseK, 0, thread % kWarpSize),
        warp_v(base + kBaseV, 0, thread % kWarpSize) {
    output.clear();
    GPUSIM_UNROLL
    for (int m = 0; m < kTilesM; ++m) {
      GPUSIM_UNROLL
      for (int half = 0; half < 2; ++half) {
        greatest_log2[m][half] = no_score();
        sum[m][half] = 0.0f;
      }
    }
  }

  GPUSIM_DEVICE void commit() {
    GPUSIM_RECORD(commit_group());
    commit_group();
  }

  GPUSIM_DEVICE void wait_all() {
    GPUSIM_RECORD(wait_group(0));
    wait_group<0>();
    GPUSIM_RECORD(barrier());
    barrier();
  }

  GPUSIM_DEVICE float shuffle(float value, int mask) {
    GPUSIM_RECORD_SOFTMAX(SHUFFLE, mask, true);
    return shuffle_xor(value, mask);
  }

  template <bool kAllRows>
  GPUSIM_DEVICE void copies_k(int number, int rows) {
    GPUSIM_STAMP(copy_issue(number));
    GPUSIM_UNROLL
    for (int fetch = 0; fetch < kKTilesQk; ++fetch) copy_k.template fetch_qk<kAllRows>(recorder, fetch, rows);
    copy_k.advance(-kBlockKeys);
    commit();
  }

  // Operand A of the first GEMM: Q's fragments, of which registers hold all or two k groups.
  struct QueryFragments {
    Flash& flash;
    bool const first;  // of the block's key blocks

    GPUSIM_DEVICE void load(int k_tile, int k_group) {
      if (!kQueriesInRegisters || first) {
        load_fragment<Queries>(flash.recorder, flash.fragment_q[(k_tile * kGroupsQk + k_group) % kHeldQ], flash.warp_q,
                               k_tile, k_group, flash.base + kBaseQ);
      }
    }
    GPUSIM_DEVICE uint32 const (&fragment(int k_tile, int k_group) const)[kTilesM][4] {
      return flash.fragment_q[(k_tile * kGroupsQk + k_group) % kHeldQ];
    }
  };

  // Operand A of the second: two tiles of 8 keys, as the accumulators hold them, are a tile of 16.
  struct ProbabilityFragments {
    WarpTile<kTilesM, kTilesKeys> const& probability;
    uint32 words[2][kTilesM][4];

    GPUSIM_DEVICE void load(int, int k_group) {
      GPUSIM_UNROLL
      for (int m = 0; m < kTilesM; ++m) {
        GPUSIM_UNROLL
        for (int word = 0; word < 4; ++word) {
          float const(&of_tile)[4] = probability.registers[m][2 * k_group + word / 2];
          words[k_group % 2][m][word] = pack_pair(of_tile[word % 2 * 2], of_tile[word % 2 * 2 + 1]);
        }
      }
    }
    GPUSIM_DEVICE uint32 const (&fragment(int, int k_group) const)[kTilesM][4] { return words[k_group % 2]; }
  };

  // Scores that a query does not see become -inf.
  GPUSIM_DEVICE void mask(WarpTile<kTilesM, kTilesKeys>& score, int key_block) const {
    int const lane = thread % kWarpSize;
    GPUSIM_UNROLL
    for (int m = 0; m < kTilesM; ++m) {
      GPUSIM_UNROLL
      for (int half = 0; half < 2; ++half) {
        int const query = block.query_start + first_row + 16 * m + 8 * half + lane / 4;
        int const visible = block.visible(query, key_block * kBlockKeys) - lane % 4 * 2;
        GPUSIM_UNROLL
        for (int n = 0; n < kTilesKeys; ++n) {
          GPUSIM_UNROLL
          for (int element = 0; element < 2; ++element) {
            if (8 * n + element >= visible) score.registers[m][n][2 * half + element] = no_score();
          }
        }
      }
    }
  }

  // Scores to probabilities, not yet divided by their sum; the output so far to the new maximum.
  template <bool kMasked>
  GPUSIM_DEVICE void softmax(WarpTile<kTilesM, kTilesKeys>& score) {
    GPUSIM_UNROLL
    for (int m = 0; m < kTilesM; ++m) {
      GPUSIM_UNROLL
      for (int half = 0; half < 2; ++half) {
        float most = score.registers[m][0][2 * half];
        GPUSIM_UNROLL
        for (int n = 0; n < kTilesKeys; ++n) {
          most = greater_of(most, score.registers[m][n][2 * half]);
          most = greater_of(most, score.registers[m][n][2 * half + 1]);
        }
        most = greater_of(most, shuffle(most, 1));
        most = greater_of(most, shuffle(most, 2));
        float const before = greatest_log2[m][half];
        float const now = greater_of(before, multiply(most, scale_log2));
        greatest_log2[m][half] = now;
        float const subtracted = kMasked && now == no_score() ? 0.0f : now;
        float const rescale = exp2_approximate(add(before, -subtracted));
        output.scale_row(m, half, rescale);
        float total = multiply(sum[m][half], rescale);
        GPUSIM_UNROLL
        for (int n = 0; n < kTilesKeys; ++n) {
          GPUSIM_UNROLL
          for (int element = 0; element < 2; ++element) {
            float& value = score.registers[m][n][2 * half + element];
            value = exp2_approximate(fused_multiply_add(value, scale_log2, -subtracted));
            total = add(total, value);
          }
        }
        sum[m][half] = total;
      }
    }
  }

  // `kMasked`: not every query sees every key of the block.
  template <bool kMasked>
  GPUSIM_DEVICE void key_block(int number) {
    GPUSIM_STAMP(wait_begin(number));
    wait_all();  // K is there, and V of the block before is free
    GPUSIM_STAMP(wait_end(number));
    copy_v.template fetch<!kMasked, kHeadDimV == kColumnsV>(recorder, 0, block.keys - number * kBlockKeys, kHeadDimV);
    copy_v.advance(-kBlockKeys);
    commit();
    WarpTile<kTilesM, kTilesKeys> score;
    GPUSIM_STAMP(ldmatrix_issue(number, 0));
    score.clear();
    QueryFragments queries{*this, number == block.key_blocks - 1};
    resident_gemm<kKTilesQk, kGroupsQk>(recorder, score, queries, warp_k, base + kBaseK);
    GPUSIM_STAMP(mma_end(number, 0));
    wait_all();  // V is there, and K is free
    if (number > 0) copies_k<true>(number - 1, kBlockKeys);
    if constexpr (kMasked) mask(score, number);
    softmax<kMasked>(score);
    GPUSIM_STAMP(ldmatrix_issue(number, 1));
    ProbabilityFragments probabilities{score, {}};
    resident_gemm<1, kGroupsPv>(recorder, output, probabilities, warp_v, base + kBaseV);
    GPUSIM_STAMP(mma_end(number, 1));
  }

  GPUSIM_DEVICE void run(AttentionParams const& params, int warp) {
    int const last = block.key_blocks - 1;
    if (last >= 0) {
      TileCopy<Queries> const copy_q(params.common.a, block.offset_q(), base + kBaseQ, thread);
      GPUSIM_UNROLL
      for (int fetch = 0; fetch < kKTilesQk; ++fetch) {
        copy_q.template fetch_qk<false>(recorder, fetch, block.queries - block.query_start);
      }
      copy_k.advance(last * kBlockKeys);
      copy_v.advance(last * kBlockKeys);
      copies_k<false>(last, block.keys - last * kBlockKeys);
      GPUSIM_STAMP(prologue_end());
      int number = last;
      GPUSIM_NO_UNROLL
      for (; number >= block.whole_blocks; --number) key_block<true>(number);
      GPUSIM_NO_UNROLL
      for (; number >= 0; --number) key_block<false>(number);
    }
    GPUSIM_STAMP(tail_end());
    finish(params, warp);
  }

  GPUSIM_DEVICE void finish(AttentionParams const& params, int warp) {
    int const lane = thread % kWarpSize;
    if (block.key_blocks > 0) {
      GPUSIM_UNROLL
      for (int m = 0; m < kTilesM; ++m) {
        GPUSIM_UNROLL
        for (int half = 0; half < 2; ++half) {
          sum[m][half] = add(sum[m][half], shuffle(sum[m][half], 1));
          sum[m][half] = add(sum[m][half], shuffle(sum[m][half], 2));
          output.scale_row(m, half, normaliser(sum[m][half]));
        }
      }
    }
    GPUSIM_UNROLL
    for (int m = 0; m < kTilesM; ++m) {
      GPUSIM_UNROLL
      for (int half = 0; half < 2; ++half) {
        int const row = first_row + 16 * m + 8 * half + lane / 4;
        int64 const offset = block.offset_log_sum_exp() + row;
        bool const valid = lane % 4 == 0 && block.query_start + row < block.queries;
        uint32 const words[1] = {float_as_word(log_sum_exp(greatest_log2[m][half], sum[m][half]))};
        GPUSIM_RECORD_SOFTMAX(STORE_LSE, offset, valid);
        store_global<4>(params.log_sum_exp + offset, words, valid);
      }
    }
    AttentionEpilogue(params, block, base, thread, warp, recorder).store(output);
  }
};

}  // namespace gpusim
