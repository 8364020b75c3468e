// The cp.async mainloop with three or more stages: which op comes when, for GEMM and for convolution. Mirrors
// gpusim/schedule/multistage.py; addresses and predicates come from the iterators.
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

// Every way in which the mainloops of GEMM and of convolution differ, besides the cache operators (OperandOf).
struct Family {
  static constexpr bool kCopiesBeforeMma = kConvolution;
  static constexpr int kShareLead = kConvolution ? 1 : 0;
  static constexpr bool kLastSharesTogether = !kConvolution;
  static constexpr bool kZfillInMainloop = kConvolution;
};

template <class Operand>
struct OperandPath {
  SharedStoreIterator<Operand> store;
  WarpIterator<Operand> warp;
  uint32 shared;  // base of the operand's stages, shared-space bytes

  GPUSIM_DEVICE OperandPath(uint32 base, int thread, int first_row, int lane)
      : store(base, thread), warp(base, first_row, lane), shared(base) {}
};

struct Multistage {
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

  GPUSIM_DEVICE Multistage(uint32 base, int thread, int warp, int k_iterations, IteratorA& iterator_a,
                           IteratorB& iterator_b, Recorder& recorder)
      : iterator_a(iterator_a),
        iterator_b(iterator_b),
        a(base + kSharedBaseA, thread, warp_m(warp) * kWarpM, thread % kWarpSize),
        b(base + kSharedBaseB, thread, warp_n(warp) * kWarpN, thread % kWarpSize),
        recorder(recorder),
        k_iterations(k_iterations) {}

  // `count` accesses of one operand from access `first` on, as far as they exist.
  template <class Operand, bool kZfill, class Iterator>
  GPUSIM_DEVICE void copies(Iterator const& iterator, OperandPath<Operand> const& path, int fetch, int first,
                            int count) {
    GPUSIM_UNROLL
    for (int index = 0; index < count; ++index) {
      int const access = first + index;
      if (access < Operand::kAccesses) {
        GPUSIM_UNROLL
        for (int vec = 0; vec < Operand::kVecs; ++vec) {
          uint32 const shared = path.store.get(access, vec);
          char const* const global = iterator.get(access, vec);
          auto const valid = iterator.valid(access, vec);
          GPUSIM_RECORD(copy_async<Operand>(fetch, access, vec, write_stage, kZfill, shared - path.shared,
                                            global - iterator.base_, valid != 0));
          if constexpr (kZfill) {
            copy_async_zfill<Operand::kCopyBytes, Operand::kCache>(shared, global, valid);
          } else {
            copy_async<Operand::kCopyBytes, Operand::kCache>(shared, global, valid);
          }
        }
      }
    }
  }

  // What k group `index` of the schedule issues of a fetch: a share of both operands.
  GPUSIM_DEVICE void share(int fetch, int index) {
    if (index == 0) GPUSIM_STAMP(copy_issue(fetch));
    copies<OperandA, Family::kZfillInMainloop>(iterator_a, a, fetch, index * OperandA::kShare, OperandA::kShare);
    copies<OperandB, Family::kZfillInMainloop>(iterator_b, b, fetch, index * OperandB::kShare, OperandB::kShare);
  }

  GPUSIM_DEVICE void k_group_copies(int k_tile, int k_group) {
    constexpr int last = kKGroups - 1;
    if constexpr (Family::kLastSharesTogether) {
      if (k_group < last) share(k_tile + kStages - 1, k_group);
      if (k_group == last - 1) share(k_tile + kStages - 1, last);
    } else {
      int const index = k_group + Family::kShareLead;
      share(k_tile + kStages - 1 + index / kKGroups, index % kKGroups);
    }
  }

  template <class Operand>
  GPUSIM_DEVICE void fragment_load(Fragment<Operand>& fragment, OperandPath<Operand> const& path, int k_tile,
                                   int k_group) {
    GPUSIM_UNROLL
    for (int instruction = 0; instruction < WarpIterator<Operand>::kInstructions; ++instruction) {
      uint32 const shared = path.warp.get(k_group, instruction);
      GPUSIM_RECORD(ldmatrix<Operand>(k_tile, k_group, instruction, read_stage, shared - path.shared));
      ldmatrix_x4(fragment.registers[instruction], shared);
    }
  }

  GPUSIM_DEVICE void fragment_loads(int k_tile, int k_group) {
    GPUSIM_STAMP(ldmatrix_issue(k_tile, k_group));
    fragment_load(fragment_a[k_group % 2], a, k_tile, k_group);
    fragment_load(fragment_b[k_group % 2], b, k_tile, k_group);
  }

  GPUSIM_DEVICE void warp_mma(Accumulators& accumulators, int k_tile, int k_group) {
    GPUSIM_UNROLL
    for (int m = 0; m < kMmaTilesM; ++m) {
      GPUSIM_UNROLL
      for (int step = 0; step < kMmaTilesN; ++step) {
        mma_tile(accumulators, fragment_a[k_group % 2], fragment_b[k_group % 2], m, step);
        if (m + step == 0) GPUSIM_STAMP(mma_begin(k_tile, k_group));
      }
    }
    GPUSIM_STAMP(mma_end(k_tile, k_group));
    GPUSIM_RECORD(warp_mma(k_tile, k_group, kMmaTilesM * kMmaTilesN));
  }

  GPUSIM_DEVICE void commit() {
    GPUSIM_RECORD(commit_group());
    commit_group();
  }

  // Until k tile `k_tile` is there, for all warps.
  template <int kPending>
  GPUSIM_DEVICE void wait_for(int k_tile) {
    GPUSIM_STAMP(wait_begin(k_tile));
    GPUSIM_RECORD(wait_group(kPending));
    wait_group<kPending>();
    GPUSIM_RECORD(barrier());
    barrier();
    GPUSIM_STAMP(wait_end(k_tile));
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

  GPUSIM_DEVICE void prologue() {
    GPUSIM_UNROLL
    for (int fetch = 0; fetch < kStages - 1; ++fetch) {
      GPUSIM_STAMP(copy_issue(fetch));
      copies<OperandA, true>(iterator_a, a, fetch, 0, OperandA::kAccesses);
      copies<OperandB, true>(iterator_b, b, fetch, 0, OperandB::kAccesses);
      commit();
      advance_global(fetch + 1);
      advance_write_stage();
    }
    wait_for<kStages - 2>(0);
    fragment_loads(0, 0);
    GPUSIM_UNROLL
    for (int index = 0; index < Family::kShareLead; ++index) share(kStages - 1, index);
  }

  GPUSIM_DEVICE void iteration(Accumulators& accumulators, int k_tile) {
    constexpr int last = kKGroups - 1;
    GPUSIM_UNROLL
    for (int k_group = 0; k_group < kKGroups; ++k_group) {
      if (k_group < last) {
        fragment_loads(k_tile, k_group + 1);
      } else {
        fragment_loads(k_tile + 1, 0);
      }
      if constexpr (Family::kCopiesBeforeMma) {
        k_group_copies(k_tile, k_group);
        warp_mma(accumulators, k_tile, k_group);
      } else {
        warp_mma(accumulators, k_tile, k_group);
        k_group_copies(k_tile, k_group);
      }
      if (k_group == last - 1) {
        commit();
        wait_for<kStages - 2>(k_tile + 1);
        advance_global(k_tile + kStages);
        advance_write_stage();
        advance_read_stage();
      }
    }
  }

  GPUSIM_DEVICE void operator()(Accumulators& accumulators) {
    prologue();
    GPUSIM_STAMP(prologue_end());
    GPUSIM_NO_UNROLL
    for (int k_tile = 0; k_tile < k_iterations; ++k_tile) iteration(accumulators, k_tile);
    commit();
    GPUSIM_RECORD(wait_group(0));
    wait_group<0>();
    GPUSIM_RECORD(barrier());
    barrier();
    GPUSIM_STAMP(tail_end());
  }
};

}  // namespace gpusim
