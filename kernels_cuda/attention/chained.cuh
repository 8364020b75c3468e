// The order of CUTLASS's fused attention (example 41): two GEMMs of the CTA's tile a key block, chained through shared
// memory. Scores by a first multistage GEMM, whose k tiles all have a stage; row statistics in shared memory; probabilities
// through shared memory, as operand A of the second; V's tiles prefetched right after the first. The output stays in
// registers, or in a global fp32 buffer. Mirrors gpusim/families/attention/program/chained.py.
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
  static constexpr int kOwnedRows = kBlockQueries / kWarps;  // of each warp, a lane each
  static constexpr int kTilesM = kWarpM / 16, kTilesKeys = kWarpN / 8, kTilesV = kColumns / kWarpsN / 8;

  // Operand A of the second GEMM: padded rows.
  using LayoutP = PaddedLayout<kVectorElements, kBlockKeys, kBlockQueries, 1>;

  using Queries = TileQk<1, kBlockQueries, kTileK, kWarpM>;
  using Keys = TileQk<2, kBlockKeys, kTileK, kWarpN>;
  using Probabilities = AttentionOperand<1, true, kWarpM, LayoutP, kTileK, Walk::add>;
  using Values = TileV<kBlockKeys, kColumns, kTileK, kColumns / kWarpsN>;

  static constexpr int kKTilesQk = Queries::kKTiles, kKTilesPv = Values::kKTiles;
  static_assert(kKTilesQk <= kStages, "every k tile of the first GEMM has a slot");
  static_assert(kTileN == kBlockKeys, "both GEMMs have one tile");
  static_assert(!kKeepOutput || kColumnBlocks == 1, "one warp tile holds the output");
  static_assert(kKGroups == 2 && kWarpM % 16 == 0 && kWarpN % 16 == 0, "k tiles are two k groups");

  // Row statistics, 4 bytes for each query: the greatest score so far (as ordered_bits), that of the key blocks before, the
  // sum, what rescales the output, and each warp column's part of this key block's sum.
  static constexpr int kMaximum = 0, kPrevious = 1, kSum = 2, kRescale = 3, kPartial = 4;
  static constexpr int kArea = (kPartial + kWarpsN) * kBlockQueries * 4;
  static constexpr int kBaseQ = kArea, kBaseK = kBaseQ + Queries::kSharedBytes;
  static constexpr int kBaseP = kArea, kBaseV = kBaseP + Probabilities::kSharedBytes;
  static constexpr int kOperandsEnd = greatest(kBaseK + Keys::kSharedBytes, kBaseV + Values::kSharedBytes);
  // The epilogue's staging takes their place, but while V's next columns arrive.
  static constexpr int kBaseStaging = kKeepOutput ? kArea : kBaseV + Values::kSharedBytes;
  static constexpr int kSharedBytes = greatest(kOperandsEnd, kBaseStaging + AttentionEpilogue::kSharedBytes);
  static_assert(kSharedBytes <= GPUSIM_SHARED_BYTES, "gpusim/families/attention/cuda.py asks for as much");
  static_assert(kArea % kLineBytes == 0 && kBaseV % kLineBytes == 0, "a swizzle begins on a line");

  using Output = WarpTile<kTilesM, kTilesV>;
  using Scores = WarpTile<kTilesM, kTilesKeys>;

  AttentionParams const& params;
  Block const& block;
  Recorder& recorder;
  uint32 const base;
  int const thread, warp, first_row, first_key, first_column;  // of the warp in the block
  int const owned_row;  // whose statistics this thread updates, if it is an owner
  bool const owner;
  float const scale_log2;
  float owned_sum, owned_maximum;
  TileCopy<Queries> const copy_q;
  TileCopy<Keys> copy_k;
  TileCopy<Values> copy_v;
  WarpIterator<Queries> const warp_q;
  WarpIterator<Keys> const warp_k;
  WarpIterator<Probabilities> const warp_p;
  WarpIterator<Values> const warp_v;

  GPUSIM_DEVICE Chained(AttentionParams const& params, Block const& block, uint32 base, int thread, int warp,
                        Recorder& recorder)
      : params(params),
        block(block),
        recorder(recorder),
        base(base),
        thread(thread),
        warp(warp),
        first_row(warp_m(warp) * kWarpM),
        first_key(warp_n(warp) * kWarpN),
        first_column(warp_n(warp) * kTilesV * 8),
        owned_row(warp * kOwnedRows + thread % kWarpSize),
        owner(thread % kWarpSize < kOwnedRows),
        scale_log2(params.scale_log2),
        copy_q(params.common.a, block.offset_q(), base + kBaseQ, thread),
        copy_k(params.common.b, block.offset_k(), base + kBaseK, thread),
        copy_v(params.v, block.offset_v(), base + kBaseV, thread),
        warp_q(base + kBaseQ, first_row, thread % kWarpSize),
        warp_k(base + kBaseK, first_key, thread % kWarpSize),
        warp_p(base + kBaseP, first_row, thread % kWarpSize),
        warp_v(base + kBaseV, first_column, thread % kWarpSize) {}

  // The block's row of a lane's accumulators.
  GPUSIM_DEVICE int row_of(int m, int half) const { return first_row + 16 * m + 8 * half + thread % kWarpSize / 4; }

  GPUSIM_DEVICE uint32 statistic(int which, int row) const { return base + (which * kBlockQueries + row) * 4; }
  GPUSIM_DEVICE float load_statistic(int which, int row, bool used = true) {
    GPUSIM_RECORD_SOFTMAX(LOAD_STATISTIC, which * kBlockQueries + row, used);
    return used ? load_shared_float(statistic(which, row)) : 0.0f;
  }
  GPUSIM_DEVICE float load_maximum(int row, bool used = true) {
    return of_ordered_bits(float_as_word(load_statistic(kMaximum, row, used)));
  }
  GPUSIM_DEVICE void store_statistic(int which, int row, float value, bool stores) {
    GPUSIM_RECORD_SOFTMAX(STORE_STATISTIC, which * kBlockQueries + row, stores);
    if (stores) store_shared_float(statistic(which, row), value);
  }

  GPUSIM_DEVICE void barrier() {
    GPUSIM_RECORD(barrier());
    gpusim::barrier();
  }

  GPUSIM_DEVICE void commit() {
    GPUSIM_RECORD(commit_group());
    commit_group();
  }

  template <int kPending>
  GPUSIM_DEVICE void wait_for() {
    GPUSIM_RECORD(wait_group(kPending));
    wait_group<kPending>();
    barrier();
  }

  // Both GEMMs: the multistage mainloop whose k tiles all have a slot. Fragments one k group ahead; a k tile but the last
  // closes an empty group, so that each wait leaves as many. `k_tiles` of them hold something.
  template <int kKTiles, bool kAllTiles, class OperandOfA, class OperandOfB, int kN>
  GPUSIM_DEVICE void mainloop(WarpTile<kTilesM, kN>& tile, WarpIterator<OperandOfA> const& iterator_a, uint32 base_a,
                              WarpIterator<OperandOfB> const& iterator_b, uint32 base_b, int k_tiles) {
    uint32 a[2][kTilesM][4], b[2][kN / 2][4];
    load_fragment<OperandOfA>(recorder, a[0], iterator_a, 0, 0, base_a);
    load_fragment<OperandOfB>(recorder, b[0], iterator_b, 0, 0, base_b);
    GPUSIM_UNROLL
    for (int k_tile = 0; k_tile < kKTiles; ++k_tile) {
      bool const goes_on = kAllTiles ? k_tile + 1 < kKTiles : k_tile + 1 < k_tiles;
      load_fragment<OperandOfA>(recorder, a[1], iterator_a, k_tile, 1, base_a);
      load_fragment<OperandOfB>(recorder, b[1], iterator_b, k_tile, 1, base_b);
      warp_mma(tile, a[0], b[0]);
      GPUSIM_RECORD(warp_mma(k_tile, 0, kTilesM * kN));
      if (goes_on) {
        commit();
        wait_for<kKTiles - 1>();
        load_fragment<OperandOfA>(recorder, a[0], iterator_a, k_tile + 1, 0, base_a);
        load_fragment<OperandOfB>(recorder, b[0], iterator_b, k_tile + 1, 0, base_b);
      }
      warp_mma(tile, a[1], b[1]);
      GPUSIM_RECORD(warp_mma(k_tile, 1, kTilesM * kN));
      if (!kAllTiles && !goes_on) break;
    }
    barrier();
  }

  GPUSIM_DEVICE void first_gemm(Scores& scores, int key_block) {
    GPUSIM_STAMP(copy_issue(key_block));
    GPUSIM_UNROLL
    for (int fetch = 0; fetch < kKTilesQk; ++fetch) {
      copy_q.template fetch_qk<false>(recorder, fetch, block.queries - block.query_start);
      copy_k.template fetch_qk<false>(recorder, fetch, block.keys - key_block * kBlockKeys);
      commit();
    }
    copy_k.advance(kBlockKeys);
    scores.clear();
    GPUSIM_STAMP(wait_begin(key_block));
    wait_for<kKTilesQk - 1>();
    GPUSIM_STAMP(wait_end(key_block));
    GPUSIM_STAMP(ldmatrix_issue(key_block, 0));
    mainloop<kKTilesQk, true>(scores, warp_q, base + kBaseQ, warp_k, base + kBaseK, kKTilesQk);
    GPUSIM_STAMP(mma_end(key_block, 0));
  }

  // V's k tiles that hold keys; the others' groups are empty.
  template <bool kMasked>
  GPUSIM_DEVICE void copies_v(int key_block, int column_block) {
    int const rows = block.keys - key_block * kBlockKeys;
    constexpr bool kAllColumns = kHeadDimV % kColumns == 0;
    int const columns = kHeadDimV - column_block * kColumns;
    TileCopy<Values> copy = copy_v;
    copy.global += column_block * kColumns * kElementBytes;
    if constexpr (kMasked) {
      // Not unrolled: ptxas would predicate the copies of k tiles without keys in place of branching around them.
      int const k_tiles = greatest(0, least(ceil_div(rows, kTileK), kKTilesPv));
      GPUSIM_NO_UNROLL
      for (int fetch = 0; fetch < k_tiles; ++fetch) {
        copy.template fetch<false, kAllColumns>(recorder, fetch, rows, columns);
        commit();
      }
      GPUSIM_NO_UNROLL
      for (int fetch = k_tiles; fetch < kKTilesPv; ++fetch) commit();
    } else {
      GPUSIM_UNROLL
      for (int fetch = 0; fetch < kKTilesPv; ++fetch) {
        copy.template fetch<true, kAllColumns>(recorder, fetch, rows, columns);
        commit();
      }
    }
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

  // Each row's greatest score, by atomics of all lanes that hold some of it.
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
        int const row = row_of(m, half);
        GPUSIM_RECORD_SOFTMAX(ATOMIC_MAX, kMaximum * kBlockQueries + row, true);
        atomic_greatest(statistic(kMaximum, row), ordered_bits(multiply(most, scale_log2)));
      }
    }
  }

  // By each row's owner: what the new maximum makes of the sum and the output so far.
  GPUSIM_DEVICE void rescale_rows() {
    float const previous = load_statistic(kPrevious, owned_row, owner);
    owned_maximum = load_maximum(owned_row, owner);
    owned_sum = load_statistic(kSum, owned_row, owner);
    float const rescale = previous == owned_maximum ? 1.0f : exp2_approximate(add(previous, -owned_maximum));
    owned_sum = multiply(owned_sum, rescale);
    store_statistic(kRescale, owned_row, rescale, owner);
    store_statistic(kSum, owned_row, owned_sum, owner);
  }

  // Scores to probabilities, not yet divided by their sum: to shared memory as operand A, and their sums.
  template <bool kMasked>
  GPUSIM_DEVICE void probabilities(Scores& scores) {
    int const lane = thread % kWarpSize;
    GPUSIM_UNROLL
    for (int m = 0; m < kTilesM; ++m) {
      GPUSIM_UNROLL
      for (int half = 0; half < 2; ++half) {
        float const maximum = load_maximum(row_of(m, half));
        float const subtracted = kMasked && maximum == no_score() ? 0.0f : maximum;
        GPUSIM_UNROLL
        for (int n = 0; n < kTilesKeys; ++n) {
          GPUSIM_UNROLL
          for (int element = 0; element < 2; ++element) {
            float& score = scores.registers[m][n][2 * half + element];
            score = exp2_approximate(fused_multiply_add(score, scale_log2, -subtracted));
          }
        }
      }
    }
    GPUSIM_UNROLL
    for (int m = 0; m < kTilesM; ++m) {
      GPUSIM_UNROLL
      for (int half = 0; half < 2; ++half) {
        float total = 0.0f;
        GPUSIM_UNROLL
        for (int n = 0; n < kTilesKeys; ++n) {
          total = add(total, add(scores.registers[m][n][2 * half], scores.registers[m][n][2 * half + 1]));
        }
        GPUSIM_RECORD_SOFTMAX(SHUFFLE, 1, true);
        total = add(total, shuffle_xor(total, 1));
        GPUSIM_RECORD_SOFTMAX(SHUFFLE, 2, true);
        total = add(total, shuffle_xor(total, 2));
        store_statistic(kPartial + first_key / kWarpN, row_of(m, half), total, lane % 4 == 0);
      }
    }
    GPUSIM_UNROLL
    for (int m = 0; m < kTilesM; ++m) {
      GPUSIM_UNROLL
      for (int half = 0; half < 2; ++half) {
        GPUSIM_UNROLL
        for (int n = 0; n < kTilesKeys; ++n) {
          uint32 const offset = LayoutP::offset(first_key + 8 * n + lane % 4 * 2, row_of(m, half));
          float const(&of_tile)[4] = scores.registers[m][n];
          uint32 const words[1] = {pack_pair(of_tile[2 * half], of_tile[2 * half + 1])};
          GPUSIM_RECORD_SOFTMAX(STORE_P, offset, true);
          store_shared(base + kBaseP + offset * kElementBytes, words);
        }
      }
    }
  }

  GPUSIM_DEVICE void rescale_output(Output& output) {
    GPUSIM_UNROLL
    for (int m = 0; m < kTilesM; ++m) {
      GPUSIM_UNROLL
      for (int half = 0; half < 2; ++half) output.scale_row(m, half, load_statistic(kRescale, row_of(m, half)));
    }
  }

  GPUSIM_DEVICE void sum_rows() {
    GPUSIM_UNROLL
    for (int part = 0; part < kWarpsN; ++part) {
      owned_sum = add(owned_sum, load_statistic(kPartial + part, owned_row, owner));
    }
    store_statistic(kSum, owned_row, owned_sum, owner);
    store_statistic(kPrevious, owned_row, owned_maximum, owner);
  }

  // Its first wait and barrier bring the probabilities, too.
  template <bool kMasked>
  GPUSIM_DEVICE void second_gemm(Output& output, int key_block, bool first_columns) {
    wait_for<kKTilesPv - 1>();
    if (first_columns) sum_rows();
    int const k_tiles = ceil_div(least(block.keys - key_block * kBlockKeys, kBlockKeys), kTileK);
    GPUSIM_STAMP(ldmatrix_issue(key_block, 1));
    mainloop<kKTilesPv, !kMasked>(output, warp_p, base + kBaseP, warp_v, base + kBaseV, k_tiles);
    GPUSIM_STAMP(mma_end(key_block, 1));
  }

  // A column block of the output joins what the key blocks before left in the buffer, or leaves as the result.
  GPUSIM_DEVICE void to_buffer(Output const& output, int column_block, bool first, bool last) {
    auto const rescale = [this](int row) { return load_statistic(kRescale, row); };
    auto const divisor = [this](int row) { return normaliser(load_statistic(kSum, row)); };
    AttentionEpilogue(params, block, base + kBaseStaging, thread, warp, recorder)
        .run<true>(output, column_block, !first, last, rescale, divisor);
  }

  template <bool kMasked>
  GPUSIM_DEVICE void key_block(int number, Output& output) {
    Scores scores;
    first_gemm(scores, number);
    if constexpr (kPreloadV) copies_v<kMasked>(number, 0);
    if constexpr (kMasked) mask(scores, number);
    row_maxima(scores);
    barrier();
    rescale_rows();
    barrier();
    if (kKeepOutput && number > 0) rescale_output(output);
    probabilities<kMasked>(scores);
    if constexpr (kKeepOutput) {
      if constexpr (!kPreloadV) copies_v<kMasked>(number, 0);
      second_gemm<kMasked>(output, number, true);
    } else {
      GPUSIM_NO_UNROLL
      for (int column_block = 0; column_block < kColumnBlocks; ++column_block) {
        if constexpr (!kPreloadV) copies_v<kMasked>(number, column_block);
        output.clear();
        second_gemm<kMasked>(output, number, column_block == 0);
        if (kPreloadV && column_block + 1 < kColumnBlocks) copies_v<kMasked>(number, column_block + 1);
        to_buffer(output, column_block, number == 0, number == block.key_blocks - 1);
      }
    }
    copy_v.advance(kBlockKeys);
  }

  GPUSIM_DEVICE void run() {
    store_statistic(kMaximum, owned_row, word_as_float(ordered_bits(no_score())), owner);
    store_statistic(kPrevious, owned_row, no_score(), owner);
    store_statistic(kSum, owned_row, 0.0f, owner);
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

  GPUSIM_DEVICE void finish(Output& output) {
    if constexpr (kKeepOutput) {
      GPUSIM_UNROLL
      for (int m = 0; m < kTilesM; ++m) {
        GPUSIM_UNROLL
        for (int half = 0; half < 2; ++half) {
          if (block.key_blocks) output.scale_row(m, half, normaliser(load_statistic(kSum, row_of(m, half))));
        }
      }
      AttentionEpilogue(params, block, base + kBaseStaging, thread, warp, recorder).store(output);
    } else if (block.key_blocks == 0) {
      GPUSIM_NO_UNROLL
      for (int column_block = 0; column_block < kColumnBlocks; ++column_block) to_buffer(output, column_block, true, true);
    }
    float const maximum = load_maximum(owned_row, owner), sum = load_statistic(kSum, owned_row, owner);
    uint32 const words[1] = {float_as_word(log_sum_exp(maximum, sum))};
    int64 const offset = block.offset_log_sum_exp() + owned_row;
    bool const valid = owner && block.query_start + owned_row < block.queries;
    GPUSIM_RECORD_SOFTMAX(STORE_LSE, offset, valid);
    store_global<4>(params.log_sum_exp + offset, words, valid);
  }
};

}  // namespace gpusim
