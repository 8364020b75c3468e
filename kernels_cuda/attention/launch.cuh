// What one launch of an attention kernel is given at run time. Extents, tiles and masks are compiled in (shape.cuh).
#pragma once

#include "params.cuh"
#include "platform.cuh"

namespace gpusim {

// 168 bytes; gpusim/families/attention/cuda.py packs it (PARAMS). Of `common`: a is Q, b is K, output is O, partial
// the fp32 accumulation buffer [batch][query][head][head_dim_v], alpha the scale of the scores, and the records' fields.
struct AttentionParams {
  Params common;
  void const* v;
  float* log_sum_exp;        // [batch][head][kStatisticRows], natural logarithm
  int const* query_lengths;  // one for each batch; ragged builds only
  int const* key_lengths;
  float scale_log2;  // scale * log2(e): exponentials are in base 2
  int reserved;
};

static_assert(sizeof(AttentionParams) == 168, "gpusim/families/attention/cuda.py packs it by these offsets");

}  // namespace gpusim
