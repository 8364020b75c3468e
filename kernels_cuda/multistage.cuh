// The cp.async mainloop with two or more stages: which op comes when, for GEMM and for convolution. Mirrors
// gpusim/schedule/multistage.py; addresses and predicates come from the iterators.
#pragma once

#include "mainloop.cuh"
#include "platform.cuh"
#include "ptx.cuh"
#include "record.cuh"
#include "scenario.cuh"

namespace gpusim {

static_assert(kStages >= 2, "the multistage mainloop reads one stage while it fills others");

// Every way in which the mainloops of GEMM and of convolution differ, besides the cache operators (OperandOf).
struct Family {
  static constexpr bool kCopiesBeforeMma = kConvolution;
  static constexpr int kShareLead = kConvolution ? 1 : 0;
  static constexpr bool kLastSharesTogether = !kConvolution;
  static constexpr bool kZfillInMainloop = kConvolution;
};

struct Multistage : MainloopBase {
  using MainloopBase::MainloopBase;

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
