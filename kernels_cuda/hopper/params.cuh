// What every launch is given at run time: tensors, extents in tiles, and where to record. Knows no instructions.
#pragma once

#include "hopper/config.cuh"

namespace gpusim {

constexpr int kRecordedBlocks = 8;

// A CUtensorMap, which the driver makes.
struct alignas(64) TensorMap {
  uint64 words[16];
};

// floor(n / divisor) = 2 * n * multiplier >> 32 >> shift for 0 <= n < 2^31.
struct Divisor {
  uint32 divisor;
  uint32 multiplier;
  uint32 shift;
};

// gpusim/families/hopper/on_gpu/launch.py packs it (HOPPER_PARAMS); a test compares the offsets.
struct Params {
  TensorMap a;
  TensorMap b;
  TensorMap c;
  TensorMap d;
  void* output;         // D, for the kernel that stores from registers
  int m;
  int n;
  float alpha;
  float beta;
  int k_tiles;
  int tiles;            // those that have a number: padded to whole swizzles of whole clusters
  Divisor of_batch;     // numbered tiles of a batch
  Divisor of_strip;     // clusters along the raster's dimension
  int log_swizzle;
  int along_n;          // the raster's dimension is N
  void* records;        // trace build: rows of kRowWords int64, [slot][thread / 8][row]. Timed build: stamps
  int* record_counts;   // trace build: rows, [slot][thread / 8]
  int record_capacity;  // trace build: rows of one thread
  int recorded_blocks;  // how many of `recorded` count
  int recorded[kRecordedBlocks];  // linear block indices (x fastest); slot = position
};

static_assert(sizeof(Params) == 640, "gpusim/families/hopper/on_gpu/launch.py packs Params by these offsets");

}  // namespace gpusim
