// The consumers' epilogue: subtiles go through shared memory, C comes and D leaves by TMA.
// Mirrors gpusim/families/hopper/program/epilogue.py.
#pragma once

#include "hopper/output_op.cuh"
#include "hopper/pipeline.cuh"
#include "hopper/producer.cuh"
#include "hopper/scheduler.cuh"

namespace gpusim {

constexpr int kEpilogueBarrier = 1;
constexpr bool kMatrix = kOutputBytes == 2;  // stmatrix and ldmatrix move 16-bit elements
constexpr int kMatrixColumns = 16;           // of an x4 matrix instruction; its other two matrices are eight rows below
constexpr int kRowBytes = kSubtileN * kOutputBytes;
constexpr int kColumnBlocks = kSubtileN / 8;

// 16-byte chunks are exchanged by row.
GPUSIM_DEVICE uint32 swizzled(uint32 offset) {
  return offset ^ (offset / kLineBytes % (kOutputSwizzle / kVectorBytes) * kVectorBytes);
}

// Where a consumer's epilogue stands, from tile to tile.
struct Epilogue {
  uint32 base;
  uint32 row;       // bytes from a stage to the thread's row: of its matrix instructions, or of its pairs
  bool first_warp;  // of the warpgroup that issues the stores
  LinearCombination op;
  PipelineState<kStagesC> awaited;  // the next stage of C
  PipelineState<kStagesC> released;  // the next one to release
  PipelineState<kStoreStages> store;
  int issued = 0;

  // `slot`: which of the warpgroups that share a subtile, each with 64 rows.
  GPUSIM_DEVICE Epilogue(Params const& params, uint32 base, int slot) : base(base), op(params) {
    int const thread = threadIdx.x % kWarpgroup, warp = thread / kWarpSize, lane = thread % kWarpSize;
    int const first = slot * kMmaRows + 16 * warp;
    row = kMatrix ? swizzled((first + lane % 16) * kRowBytes + lane / 16 * kVectorBytes)
                  : (first + lane / 4) * kRowBytes + lane % 4 * 2 * kOutputBytes;
    first_warp = slot == 0 && warp_index() % 4 == 0;
  }

  // Address of matrix instruction `number` of the thread: its columns never leave the atom's row.
  GPUSIM_DEVICE uint32 matrix(uint32 stage, int number) const {
    return stage + (row ^ (number * kMatrixColumns * kOutputBytes));
  }
  // Address of the thread's pair in eight columns, of its upper row or of the one eight below.
  GPUSIM_DEVICE uint32 pair(uint32 stage, int column_block, int below) const {
    return stage + swizzled(row + column_block * 8 * kOutputBytes + below * 8 * kRowBytes);
  }

  // The pairs of a subtile in registers: [eight columns][upper row, the row eight below].
  using Pairs = uint32[kColumnBlocks][2][kPairWords];

  GPUSIM_DEVICE void load(Pairs& pairs, Recorder& recorder) {
    wait(barrier_at(base, kSourceFull, awaited.index), awaited.phase, recorder);
    uint32 const stage = base + kBaseC + awaited.index * kSubtileBytes;
    if constexpr (kMatrix) {
      GPUSIM_UNROLL
      for (int i = 0; i < kColumnBlocks / 2; ++i) {
        uint32 words[4];
        GPUSIM_RECORD(write(GPUSIM_EVENT_SM75_U32X4_LDSM_N, recorder.shared(matrix(stage, i))));
        ldmatrix_x4(words, matrix(stage, i));
        GPUSIM_UNROLL
        for (int j = 0; j < 4; ++j) pairs[2 * i + j / 2][j % 2][0] = words[j];
      }
    } else {
      GPUSIM_UNROLL
      for (int i = 0; i < kColumnBlocks; ++i) {
        GPUSIM_UNROLL
        for (int below = 0; below < 2; ++below) {
          if constexpr (kOutputBytes == 4) {
            load_shared(pairs[i][below][0], pairs[i][below][kPairWords - 1], pair(stage, i, below));
          } else {
            pairs[i][below][0] = load_shared_half(pair(stage, i, below));
          }
        }
      }
    }
    if constexpr (!kReusesC) {
      proxy_fence(recorder);
      release(recorder);
    }
    awaited.advance();
  }

  GPUSIM_DEVICE void stage(Pairs const& pairs, Recorder& recorder) {
    uint32 const stage = base + kBaseD + store.index * kSubtileBytes;
    if constexpr (kMatrix) {
      GPUSIM_UNROLL
      for (int i = 0; i < kColumnBlocks / 2; ++i) {
        uint32 const words[4] = {pairs[2 * i][0][0], pairs[2 * i][1][0], pairs[2 * i + 1][0][0],
                                 pairs[2 * i + 1][1][0]};
        GPUSIM_RECORD(write(GPUSIM_EVENT_SM90_U32X4_STSM_N, recorder.shared(matrix(stage, i))));
        stmatrix_x4(matrix(stage, i), words);
      }
    } else {
      GPUSIM_UNROLL
      for (int i = 0; i < kColumnBlocks; ++i) {
        GPUSIM_UNROLL
        for (int below = 0; below < 2; ++below) {
          if constexpr (kOutputBytes == 4) {
            store_shared(pair(stage, i, below), pairs[i][below][0], pairs[i][below][kPairWords - 1]);
          } else {
            store_shared_half(pair(stage, i, below), pairs[i][below][0]);
          }
        }
      }
    }
  }

  GPUSIM_DEVICE void proxy_fence(Recorder& recorder) {
    GPUSIM_RECORD(write(GPUSIM_EVENT_FENCE_VIEW_ASYNC_SHARED));
    fence_proxy_async();
  }
  GPUSIM_DEVICE void release(Recorder& recorder) {
    arrive_remote(barrier_at(base, kSourceEmpty, released.index), Place().rank(), recorder);
    released.advance();
  }
  GPUSIM_DEVICE void meet(Recorder& recorder) {
    GPUSIM_RECORD(write(GPUSIM_EVENT_BAR_SYNC, kConsumerThreads, kEpilogueBarrier));
    named_barrier<kEpilogueBarrier, kConsumerThreads>();
  }

  // The TMA store of a staged subtile, and the wait until a next one can be staged.
  GPUSIM_DEVICE void put(Params const& params, Tile const& tile, int m, int n, Recorder& recorder) {
    proxy_fence(recorder);
    meet(recorder);
    if (first_warp) {
      if (elect_one()) {
        uint32 const stage = base + kBaseD + store.index * kSubtileBytes;
        int const x = tile.n * kTileN + n * kSubtileN, y = tile.m * kTileM + m * kSubtileM;
        GPUSIM_RECORD(write(GPUSIM_EVENT_SM90_TMA_STORE_3D, kTensorD, recorder.shared(stage), x, y, tile.l));
        tma_store(params.d, stage, x, y, tile.l);
        GPUSIM_RECORD(write(GPUSIM_EVENT_TMA_STORE_COMMIT_GROUP));
        tma_store_commit();
        GPUSIM_RECORD(write(GPUSIM_EVENT_TMA_STORE_WAIT_GROUP_READ, kStagesD - 1));
        tma_store_wait_read<kStagesD - 1>();
      }
      warp_barrier();
    }
    meet(recorder);
    store.advance();
    if constexpr (kReusesC && kLoadsC) {
      if (++issued > kStagesD - 1) release(recorder);
    }
  }

  // The epilogue of a tile. Without a C, the store of a subtile is issued just before the next one is staged.
  GPUSIM_DEVICE void run(Params const& params, Tile const& tile, Accumulators const& d, Recorder& recorder) {
    GPUSIM_UNROLL
    for (int n = 0; n < kSubtilesN; ++n) {
      GPUSIM_UNROLL
      for (int m = 0; m < kSubtilesM; ++m) {
        Pairs pairs;
        if constexpr (kLoadsC) load(pairs, recorder);
        combine(pairs, d[m], n * kColumnBlocks);
        if (!kHasC && m + n > 0) {
          int const before = n * kSubtilesM + m - 1;
          put(params, tile, before % kSubtilesM, before / kSubtilesM, recorder);
        }
        stage(pairs, recorder);
        if constexpr (kHasC) put(params, tile, m, n, recorder);
      }
    }
    if constexpr (!kHasC) put(params, tile, kSubtilesM - 1, kSubtilesN - 1, recorder);
  }

  GPUSIM_DEVICE void combine(Pairs& pairs, Accumulator const (&d)[kAccumulators], int first) const {
    GPUSIM_UNROLL
    for (int i = 0; i < kColumnBlocks; ++i) {
      GPUSIM_UNROLL
      for (int below = 0; below < 2; ++below) {
        Value const left = sum_of(d, first + i, 2 * below), right = sum_of(d, first + i, 2 * below + 1);
        if constexpr (kLoadsC) {
          Value source[2];
          unpack_pair(source, pairs[i][below]);
          pack_pair(pairs[i][below], op(left, source[0]), op(right, source[1]));
        } else {
          pack_pair(pairs[i][below], op(left), op(right));
        }
      }
    }
  }

  // All stores have read shared memory, and the stages of C that D lay in are released.
  GPUSIM_DEVICE void tail(Recorder& recorder) {
    GPUSIM_RECORD(write(GPUSIM_EVENT_TMA_STORE_WAIT_GROUP_READ, 0));
    tma_store_wait_read<0>();
    if constexpr (kReusesC && kLoadsC) {
      for (int i = least(kStagesD - 1, issued); i > 0; --i) release(recorder);
      issued = 0;
    }
  }

  // Another group's tile: its stages are passed over.
  GPUSIM_DEVICE void skip() {
    constexpr int kSubtiles = kSubtilesM * kSubtilesN;
    awaited.skip(kSubtiles / kStagesC, kSubtiles % kStagesC);
    released.skip(kSubtiles / kStagesC, kSubtiles % kStagesC);
    store.skip(kSubtiles / kStoreStages, kSubtiles % kStoreStages);
  }
};

// The epilogue of a kernel without shared memory for it: each thread stores its pairs to global memory.
GPUSIM_DEVICE void store_from_registers(Params const& params, Tile const& tile, Accumulators const& d) {
  int const warp = threadIdx.x / kWarpSize, lane = threadIdx.x % kWarpSize;
  LinearCombination const op(params);
  int const first_row = tile.m * kTileM + 16 * warp + lane / 4, first_column = tile.n * kTileN + lane % 4 * 2;
  GPUSIM_UNROLL
  for (int m = 0; m < kMBlocks; ++m) {
    GPUSIM_UNROLL
    for (int below = 0; below < 2; ++below) {
      int const row = first_row + m * kMmaRows + 8 * below;
      char* const at = static_cast<char*>(params.output) +
                       ((int64(tile.l) * params.m + row) * params.n + first_column) * kOutputBytes;
      GPUSIM_UNROLL
      for (int block = 0; block < kTileN / 8; ++block) {
        if (row >= params.m || first_column + 8 * block >= params.n) continue;
        uint32 words[kPairWords];
        pack_pair(words, op(sum_of(d[m], block, 2 * below)), op(sum_of(d[m], block, 2 * below + 1)));
        char* const to = at + block * 8 * kOutputBytes;
        if constexpr (kOutputBytes == 4) {
          store_global(to, words[0], words[kPairWords - 1]);
        } else if constexpr (kOutputBytes == 2) {
          store_global(to, words[0]);
        } else {
          store_global_half(to, words[0]);
        }
      }
    }
  }
}

}  // namespace gpusim
