// What the trace and timeline builds write down. In the plain build both macros are empty.
//
// Trace (GPUSIM_TRACE): `records` is int64 [slot][warp][record_capacity][32 lanes][4], slot being the position of the
// CTA in Params::recorded; the words of a lane are
//   0  header, the same in all lanes: bits 0-7 operation (GPUSIM_OP_*), 8-9 operand (1 a, 2 b), 10 zero-fill,
//      11 around L1 (.cg), 12-19 stage, 20-27 k group, 28-43 index, 44-62 k tile; from operand on, a field that the
//      operation lacks is 0, and stage, k group, index and k tile are stored plus one
//   1  shared offset in elements from the operand's base (the epilogue's: in accumulators from its own base), or -1
//   2  global offset in elements from the tensor's base, or -1
//   3  predicate
// `record_counts` is int32 [slot][warp]: records the warp had, which may exceed the capacity (the rest was dropped).
// index is access * vecs + vec of a copy or a global load, the access of a tile's store, the instruction of a fragment load,
// the mma.sync of a WarpMma, the pending groups of a wait, the access of the epilogue's operations, whose step stands in
// the k tile's place, as does the slice of a reduction's partial sums.
//
// Timeline (GPUSIM_TIMELINE): `records` is uint32 [slot][warp][16 + record_capacity * kRowWords]; lane 0 writes. The
// first 16 words are eight int64: clock64 at the start, globaltimer there, SM, clock64 after the prologue, after the
// tail, at the end; k tiles; linear block. Row r follows at word 16 + r * kRowWords, the low words of the SM's clock:
//   0  before the first copy (pipelined: global load) of fetch r
//   1  before the wait_group that brings k tile r (pipelined: before its stores)      2  after its barrier
//   3 + 3g  before the ldmatrix of (k tile r, k group g), 4 + 3g  after its first mma.sync was issued,
//   5 + 3g  after its last one was
// Places nothing was written to stay as the host left them. `record_capacity` must be at least k tiles + stages;
// with less, nothing but the first 16 words is written.
#pragma once

#include "extents.cuh"
#include "params.cuh"
#include "platform.cuh"
#include "ptx.cuh"
#include "scenario.cuh"

#if defined(GPUSIM_TRACE)
#define GPUSIM_RECORD(...) recorder.__VA_ARGS__
#define GPUSIM_STAMP(...)
#elif defined(GPUSIM_TIMELINE)
#define GPUSIM_RECORD(...)
#define GPUSIM_STAMP(...) recorder.__VA_ARGS__
#else
#define GPUSIM_RECORD(...)
#define GPUSIM_STAMP(...)
#endif

namespace gpusim {

#if defined(GPUSIM_TRACE) || defined(GPUSIM_TIMELINE)
// The position in Params::recorded of the CTA with this linear index, or -1.
GPUSIM_DEVICE int recorded_slot(Params const& params, int block) {
  int slot = -1;
  GPUSIM_UNROLL
  for (int index = 0; index < kRecordedBlocks; ++index) {
    if (index < params.recorded_blocks && params.recorded[index] == block) slot = index;
  }
  return slot;
}
#endif

#if defined(GPUSIM_TRACE)

struct Recorder {
  int64* lane_;  // this lane's words of record 0, or null: not recorded
  int* count_at_;
  int count_;
  int capacity_;

  static constexpr int kWords = 4;
  static constexpr int kNone = -1;

  // `warps` is how many a CTA has.
  GPUSIM_DEVICE Recorder(Params const& params, int block, int warps, int warp, int lane)
      : count_(0), capacity_(params.record_capacity) {
    int const slot = recorded_slot(params, block);
    int64 const place = int64(slot) * warps + warp;
    lane_ = slot < 0 ? nullptr
                     : static_cast<int64*>(params.records) + (place * capacity_ * kWarpSize + lane) * kWords;
    count_at_ = slot < 0 || lane ? nullptr : params.record_counts + place;
  }

  GPUSIM_DEVICE void write(int operation, int operand, int flags, int stage, int k_group, int index, int k_tile,
                           int64 shared, int64 global, bool predicate) {
    if (lane_ && count_ < capacity_) {
      int64* words = lane_ + int64(count_) * kWarpSize * kWords;
      words[0] = operation | operand << 8 | flags << 10 | (stage + 1) << 12 | (k_group + 1) << 20 |
                 int64(index + 1) << 28 | int64(k_tile + 1) << 44;
      words[1] = shared;
      words[2] = global;
      words[3] = predicate;
    }
    ++count_;
  }

  template <class Operand>
  GPUSIM_DEVICE void copy_async(int fetch, int access, int vec, int stage, bool zfill, uint32 shared, int64 global,
                                bool valid) {
    int const flags = int(zfill) | int(Operand::kCache == CacheOperator::cg) << 1;
    write(GPUSIM_OP_COPY_ASYNC, Operand::kId, flags, stage, kNone, access * Operand::kVecs + vec, fetch,
          operand_elements(shared), operand_elements(global), valid);
  }
  template <class Operand>
  GPUSIM_DEVICE void load_global(int fetch, int access, int vec, int64 global, bool valid) {
    write(GPUSIM_OP_LOAD_GLOBAL, Operand::kId, 1, kNone, kNone, access * Operand::kVecs + vec, fetch, -1,
          operand_elements(global), valid);
  }
  template <class Operand>
  GPUSIM_DEVICE void store_tile(int fetch, int access, int stage, uint32 shared) {
    write(GPUSIM_OP_STORE_TILE, Operand::kId, 0, stage, kNone, access, fetch, operand_elements(shared), -1, true);
  }
  GPUSIM_DEVICE void commit_group() { write(GPUSIM_OP_COMMIT_GROUP, 0, 0, kNone, kNone, kNone, kNone, -1, -1, true); }
  GPUSIM_DEVICE void wait_group(int pending) {
    write(GPUSIM_OP_WAIT_GROUP, 0, 0, kNone, kNone, pending, kNone, -1, -1, true);
  }
  GPUSIM_DEVICE void barrier() { write(GPUSIM_OP_BARRIER, 0, 0, kNone, kNone, kNone, kNone, -1, -1, true); }
  template <class Operand>
  GPUSIM_DEVICE void fragment_load(int k_tile, int k_group, int instruction, int stage, uint32 shared) {
    constexpr bool words = !Operand::kKContiguous && kElementBits == 32;
    write(words ? GPUSIM_OP_LOAD_FRAGMENT : GPUSIM_OP_LDMATRIX, Operand::kId, 0, stage, k_group, instruction, k_tile, operand_elements(shared), -1, true);
  }
  GPUSIM_DEVICE void warp_mma(int k_tile, int k_group, int instructions) {
    write(GPUSIM_OP_WARP_MMA, 0, 0, kNone, k_group, instructions, k_tile, -1, -1, true);
  }
  GPUSIM_DEVICE void store_shared(int step, int access, uint32 shared) {
    write(GPUSIM_OP_STORE_SHARED, 0, 0, kNone, kNone, access, step, shared, -1, true);
  }
  GPUSIM_DEVICE void load_shared(int step, int access, uint32 shared) {
    write(GPUSIM_OP_LOAD_SHARED, 0, 0, kNone, kNone, access, step, shared, -1, true);
  }
  GPUSIM_DEVICE void load_source(int step, int access, int64 global, bool valid) {
    write(GPUSIM_OP_LOAD_SOURCE, 0, 0, kNone, kNone, access, step, -1, global, valid);
  }
  GPUSIM_DEVICE void load_bias(int access, int64 global, bool valid) {
    write(GPUSIM_OP_LOAD_BIAS, 0, 0, kNone, kNone, access, kNone, -1, global, valid);
  }
  GPUSIM_DEVICE void load_partial(int slice, int access, int64 global, bool valid) {
    write(GPUSIM_OP_LOAD_PARTIAL, 0, 0, kNone, kNone, access, slice, -1, global, valid);
  }
  GPUSIM_DEVICE void store_global(int step, int access, int64 global, bool valid) {
    write(GPUSIM_OP_STORE_GLOBAL, 0, 0, kNone, kNone, access, step, -1, global, valid);
  }
  GPUSIM_DEVICE void finish() {
    if (count_at_) *count_at_ = count_;
  }
};

#elif defined(GPUSIM_TIMELINE)

struct Recorder {
  static constexpr int kHeaderWords = 16;
  static constexpr int kRowWords = 3 + 3 * kKGroups;

  int64* header_;  // null: not recorded, or not lane 0
  uint32* rows_;

  GPUSIM_DEVICE Recorder(Params const& params, Extents const& extents, int warp, int lane, int k_iterations) {
    int64 const begin = clock_wide();
    int const block = linear_block(extents, block_x(), block_y(), block_z());
    int const slot = recorded_slot(params, block);
    bool const recorded = slot >= 0 && lane == 0;
    int64 const place = (int64(slot) * kWarps + warp) * (kHeaderWords + int64(params.record_capacity) * kRowWords);
    uint32* const words = static_cast<uint32*>(params.records) + place;
    header_ = recorded ? reinterpret_cast<int64*>(words) : nullptr;
    rows_ = recorded && params.record_capacity >= k_iterations + kStages ? words + kHeaderWords : nullptr;
    if (header_) {
      header_[0] = begin;
      header_[1] = global_timer();
      header_[2] = sm_index();
      header_[6] = k_iterations;
      header_[7] = block;
    }
  }

  GPUSIM_DEVICE void row(int k_tile, int word) {
    uint32 const cycles = clock_low();
    if (rows_) rows_[k_tile * kRowWords + word] = cycles;
  }
  GPUSIM_DEVICE void mark(int place) {
    int64 const cycles = clock_wide();
    if (header_) header_[place] = cycles;
  }

  GPUSIM_DEVICE void copy_issue(int fetch) { row(fetch, 0); }
  GPUSIM_DEVICE void wait_begin(int k_tile) { row(k_tile, 1); }
  GPUSIM_DEVICE void wait_end(int k_tile) { row(k_tile, 2); }
  GPUSIM_DEVICE void ldmatrix_issue(int k_tile, int k_group) { row(k_tile, 3 + 3 * k_group); }
  GPUSIM_DEVICE void mma_begin(int k_tile, int k_group) { row(k_tile, 4 + 3 * k_group); }
  GPUSIM_DEVICE void mma_end(int k_tile, int k_group) { row(k_tile, 5 + 3 * k_group); }
  GPUSIM_DEVICE void prologue_end() { mark(3); }
  GPUSIM_DEVICE void tail_end() { mark(4); }
  GPUSIM_DEVICE void kernel_end() { mark(5); }
};

#else

struct Recorder {};

#endif

}  // namespace gpusim
