// What every mainloop shares: the operands' iterators, the fragments, and how a k tile's MMAs, barriers and stages
// follow one another. Mirrors gpusim/schedule/mainloop.py; which op comes when is each mainloop's own.
#pragma once

#include "global_iterators.cuh"
#include "ldmatrix.cuh"
#include "mma.cuh"
#include "platform.cuh"
#include "ptx.cuh"
#include "record.cuh"
#include "scenario.cuh"
#include "shared_store.cuh"

namespace gpusim {

template <class Operand>
struct OperandPath {
  SharedStoreIterator<Operand> store;
  WarpIterator<Operand> warp;
  uint32 shared;  // base of the operand's stages, shared-space bytes

  GPUSIM_DEVICE OperandPath(uint32 base, int thread, int first_row, int lane)
      : store(base, thread), warp(base, first_row, lane), shared(base) {}
};

struct MainloopBase {
  IteratorA& iterator_a;
  IteratorB& iterator_b;
  OperandPath<OperandA> a;
  OperandPath<OperandB> b;
  Recorder& recorder;
  int const k_iterations;
  int write_stage = 0;
  int read_stage = 0;
  Fragment<OperandA> fragment_a[2];
  Fragment<OperandB> fragment_b[2];

  GPUSIM_DEVICE MainloopBase(uint32 base, int thread, int warp, int k_iterations, IteratorA& iterator_a,
                             IteratorB& iterator_b, Recorder& recorder)
      : iterator_a(iterator_a),
        iterator_b(iterator_b),
        a(base + kSharedBaseA, thread, warp_m(warp) * kWarpM, thread % kWarpSize),
        b(base + kSharedBaseB, thread, warp_n(warp) * kWarpN, thread % kWarpSize),
        recorder(recorder),
        k_iterations(k_iterations) {}

  template <class Operand>
  GPUSIM_DEVICE void fragment_load(Fragment<Operand>& fragment, OperandPath<Operand> const& path, int k_tile,
                                   int k_group) {
    GPUSIM_UNROLL
    for (int instruction = 0; instruction < WarpIterator<Operand>::kInstructions; ++instruction) {
      uint32 const shared = path.warp.get(k_group, instruction);
      GPUSIM_RECORD(fragment_load<Operand>(k_tile, k_group, instruction, read_stage, shared - path.shared));
      if constexpr (WarpIterator<Operand>::kWords) {
        load_shared_word(fragment.registers[instruction][0], shared);
      } else {
        ldmatrix_x4<WarpIterator<Operand>::kTrans>(fragment.registers[instruction], shared);
      }
    }
  }

  GPUSIM_DEVICE void fragment_loads(int k_tile, int k_group) {
    GPUSIM_STAMP(ldmatrix_issue(k_tile, k_group));
    fragment_load(fragment_a[k_group % 2], a, k_tile, k_group);
    fragment_load(fragment_b[k_group % 2], b, k_tile, k_group);
  }

  GPUSIM_DEVICE void warp_mma(Accumulators& accumulators, int k_tile, int k_group) {
    GPUSIM_UNROLL
    for (int outer = 0; outer < kMmaOuter; ++outer) {
      GPUSIM_UNROLL
      for (int inner = 0; inner < kMmaInner; ++inner) {
        mma_tile(accumulators, fragment_a[k_group % 2], fragment_b[k_group % 2], outer, inner);
        if (outer + inner == 0) GPUSIM_STAMP(mma_begin(k_tile, k_group));
      }
    }
    GPUSIM_STAMP(mma_end(k_tile, k_group));
    GPUSIM_RECORD(warp_mma(k_tile, k_group, kMmaTilesM * kMmaTilesN));
  }

  // The global iterators go on to `fetch`; past the last k tile a GEMM's bring nothing more.
  GPUSIM_DEVICE void advance_global(int fetch) {
#if GPUSIM_CONVOLUTION
    iterator_a.advance();
    iterator_b.advance();
#else
    if (fetch == 1) {
      iterator_a.advance_residue();
      iterator_b.advance_residue();
    } else {
      iterator_a.advance();
      iterator_b.advance();
    }
    iterator_a.clear_mask(fetch >= k_iterations);
    iterator_b.clear_mask(fetch >= k_iterations);
#endif
  }

  GPUSIM_DEVICE void advance_write_stage() {
    bool const wraps = write_stage == kStages - 1;
    a.store.advance(wraps);
    b.store.advance(wraps);
    write_stage = wraps ? 0 : write_stage + 1;
  }

  GPUSIM_DEVICE void advance_read_stage() {
    bool const wraps = read_stage == kStages - 1;
    a.warp.advance(wraps);
    b.warp.advance(wraps);
    read_stage = wraps ? 0 : read_stage + 1;
  }
};

}  // namespace gpusim
