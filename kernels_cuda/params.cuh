// What every launch is given at run time. Tiles and layouts are compiled in (scenario.cuh), and mostly extents, too
// (extents.cuh).
#pragma once

#include "platform.cuh"

namespace gpusim {

constexpr int kRecordedBlocks = 8;

// 128 bytes, no padding; gpusim/cuda/specialise.py packs it (PARAMS) and a test compares the offsets.
struct Params {
  void const* a;         // operand A, or the activation
  void const* b;         // operand B, or the filter
  void const* source;    // C of the linear combination; read by slice 0 when beta is not 0
  void* output;          // D
  int* semaphore;        // one per output tile, zero before the launch and after it; serial split-K only
  float alpha;
  float beta;
  void* records;         // trace and timeline builds: see record.cuh
  int* record_counts;    // trace build: records of each warp, [slot][warp]
  int record_capacity;   // records (trace) or rows (timeline) of one warp
  int recorded_blocks;   // how many of `recorded` count
  int recorded[kRecordedBlocks];  // linear block indices (x fastest) whose warps are recorded; slot = position
  int k_iterations;      // k tiles of slice 0, which no other slice exceeds
  int reserved;          // keeps what follows at a multiple of 8
  void const* bias;      // one element for each column of the output
  void* partial;         // partial sums [slice][m][n] of a parallel split-K, which one kernel stores and another reads
};

static_assert(sizeof(Params) == 128, "gpusim/cuda/specialise.py packs Params by these offsets");

}  // namespace gpusim
