// The attention problem this kernel is compiled for, and what a CTA sees of it: the macros of
// gpusim/families/attention/cuda.py as constants. scenario.cuh's tile is that of the second GEMM: M are a block's
// queries, N columns of head_dim_v.
#pragma once

#include "attention/launch.cuh"
#include "element.cuh"
#include "extents.cuh"
#include "layout.cuh"
#include "platform.cuh"
#include "scenario.cuh"

// A record of an operation of the softmax: its place (a float of the statistics, an element of P, the mask of a shuffle)
// and whether this lane takes part. gpusim/families/attention/cuda.py numbers the operations.
#if defined(GPUSIM_TRACE)
#define GPUSIM_RECORD_SOFTMAX(operation, place, takes_part) \
  recorder.write(GPUSIM_OP_##operation, 0, 0, -1, -1, -1, -1, place, -1, takes_part)
#else
#define GPUSIM_RECORD_SOFTMAX(operation, place, takes_part)
#endif

namespace gpusim {

enum class Mask { none, causal_top_left, causal_bottom_right };

constexpr int kHeads = GPUSIM_HEADS;
constexpr int kHeadDim = GPUSIM_HEAD_DIM, kHeadDimV = GPUSIM_HEAD_DIM_V;
constexpr Mask kMask = Mask::GPUSIM_MASK;
constexpr bool kCausal = kMask != Mask::none;
constexpr bool kRagged = GPUSIM_RAGGED;

constexpr int kBlockQueries = kTileM, kBlockKeys = GPUSIM_BLOCK_KEYS;
constexpr int kMostQueries = Extents::m, kMostKeys = GPUSIM_KEYS;  // lengths of the tensors
constexpr int kStatisticRows = ceil_div(kMostQueries, 32) * 32;  // of a log-sum-exp, for each head
constexpr int kQueryBlocks = ceil_div(kMostQueries, kBlockQueries);

constexpr int kElementBytes = kElementBits / 8;
constexpr int64 kRowQk = int64(kHeads) * kHeadDim, kRowV = int64(kHeads) * kHeadDimV;  // elements from a token to the next

// The score of a key that a query does not see: minus infinity, which NVRTC has no constant for.
#if defined(__CUDACC__)
GPUSIM_DEVICE float no_score() { return __int_as_float(static_cast<int>(0xff800000)); }
#else
inline float no_score() { return -__builtin_huge_valf(); }
#endif

static_assert(kElementBits == 16 && kInstructionM == 16 && kInstructionK == 16, "attention is of m16n8k16");
static_assert(kHeadDim % kVectorElements == 0 && kHeadDimV % kVectorElements == 0, "copies are whole vectors");

// One CTA's queries, and the keys that any of them sees.
struct Block {
  int batch, head, query_start;
  int queries;        // length of the batch's queries
  int keys;           // keys up to the last that a query of this block sees
  int causal_offset;  // query i sees the keys up to i + causal_offset
  int key_blocks;
  int whole_blocks;  // key blocks, from the first, of which every query sees every key

  GPUSIM_DEVICE Block(AttentionParams const& params, int x, int head, int batch)
      : batch(batch),
        head(head),
        query_start(x * kBlockQueries),
        queries(kRagged ? params.query_lengths[batch] : kMostQueries),
        keys(kRagged ? params.key_lengths[batch] : kMostKeys),
        causal_offset(kMask == Mask::causal_bottom_right ? keys - queries : 0) {
    int seen_by_all = keys;
    if constexpr (kCausal) {
      seen_by_all = least(keys, greatest(query_start + causal_offset + 1, 0));
      keys = least(keys, greatest(query_start + causal_offset + kBlockQueries, 0));
    }
    key_blocks = ceil_div(keys, kBlockKeys);
    whole_blocks = seen_by_all / kBlockKeys;
  }

  GPUSIM_DEVICE bool exists() const { return !kRagged || query_start < queries; }

  // Keys from `first` on that a query sees.
  GPUSIM_DEVICE int visible(int query, int first) const {
    return (kCausal ? least(keys, query + causal_offset + 1) : keys) - first;
  }

  GPUSIM_DEVICE int64 offset_q() const { return ((int64(batch) * kMostQueries + query_start) * kHeads + head) * kHeadDim; }
  GPUSIM_DEVICE int64 offset_k() const { return (int64(batch) * kMostKeys * kHeads + head) * kHeadDim; }
  GPUSIM_DEVICE int64 offset_v() const { return (int64(batch) * kMostKeys * kHeads + head) * kHeadDimV; }
  GPUSIM_DEVICE int64 offset_o() const {
    return ((int64(batch) * kMostQueries + query_start) * kHeads + head) * kHeadDimV;
  }
  GPUSIM_DEVICE int64 offset_log_sum_exp() const {
    return (int64(batch) * kHeads + head) * kStatisticRows + query_start;
  }
};

}  // namespace gpusim
