// The mainloop of two stages without cp.async: global loads into registers, stores to shared memory, one barrier a k
// tile. Mirrors gpusim/schedule/pipelined.py; addresses and predicates come from the iterators.
#pragma once

#include "mainloop.cuh"
#include "platform.cuh"
#include "ptx.cuh"
#include "record.cuh"
#include "scenario.cuh"

namespace gpusim {

static_assert(kStages == 2, "the pipelined mainloop reads one stage while it fills the other");

// The registers in which one k tile of an operand waits for its store. A transform of them (CUTLASS's TransformA and
// TransformB) would stand between load and store; these kernels' is the identity.
template <class Operand>
struct ThreadblockFragment {
  static constexpr int kVecWords = ceil_div(Operand::kCopyBytes, 4);
  static constexpr int kAccessWords = Operand::kVecs * kVecWords;

  uint32 words[Operand::kAccesses][Operand::kVecs][kVecWords];
};

struct Pipelined : MainloopBase {
  ThreadblockFragment<OperandA> threadblock_fragment_a;
  ThreadblockFragment<OperandB> threadblock_fragment_b;

  using MainloopBase::MainloopBase;

  template <class Operand, class Iterator>
  GPUSIM_DEVICE void load(ThreadblockFragment<Operand>& fragment, Iterator const& iterator, int fetch) {
    GPUSIM_UNROLL
    for (int access = 0; access < Operand::kAccesses; ++access) {
      GPUSIM_UNROLL
      for (int vec = 0; vec < Operand::kVecs; ++vec) {
        char const* const global = iterator.get(access, vec);
        auto const valid = iterator.valid(access, vec);
        GPUSIM_RECORD(load_global<Operand>(fetch, access, vec, global - iterator.base_, valid != 0));
        load_global_or_zero<Operand::kCopyBytes>(fragment.words[access][vec], global, valid);
      }
    }
  }

  template <class Operand>
  GPUSIM_DEVICE void store(ThreadblockFragment<Operand> const& fragment, OperandPath<Operand> const& path, int fetch) {
    constexpr int words = ThreadblockFragment<Operand>::kVecWords;
    GPUSIM_UNROLL
    for (int access = 0; access < Operand::kAccesses; ++access) {
      uint32 const shared = path.store.get(access, 0);
      auto const& held = fragment.words[access];
      GPUSIM_RECORD(store_tile<Operand>(fetch, access, write_stage, shared - path.shared));
      store_shared_v4(shared, held[0][0], held[1 / words][1 % words], held[2 / words][2 % words],
                      held[3 / words][3 % words]);
    }
  }

  GPUSIM_DEVICE void loads(int fetch) {
    GPUSIM_STAMP(copy_issue(fetch));
    load(threadblock_fragment_a, iterator_a, fetch);
    load(threadblock_fragment_b, iterator_b, fetch);
    advance_global(fetch + 1);
  }

  // Until k tile `fetch` is in shared memory, for all warps.
  GPUSIM_DEVICE void stores(int fetch) {
    GPUSIM_STAMP(wait_begin(fetch));
    store(threadblock_fragment_a, a, fetch);
    store(threadblock_fragment_b, b, fetch);
    GPUSIM_RECORD(barrier());
    barrier();
    GPUSIM_STAMP(wait_end(fetch));
    advance_write_stage();
  }

  GPUSIM_DEVICE void iteration(Accumulators& accumulators, int k_tile) {
    constexpr int last = kKGroups - 1;
    GPUSIM_UNROLL
    for (int k_group = 0; k_group < kKGroups; ++k_group) {
      if (k_group < last) {
        fragment_loads(k_tile, k_group + 1);
      } else {
        stores(k_tile + 1);
        advance_read_stage();
        fragment_loads(k_tile + 1, 0);
      }
      if (k_group == 0) loads(k_tile + 1);
      warp_mma(accumulators, k_tile, k_group);
    }
  }

  GPUSIM_DEVICE void operator()(Accumulators& accumulators) {
    loads(0);
    stores(0);
    fragment_loads(0, 0);
    GPUSIM_STAMP(prologue_end());
    GPUSIM_NO_UNROLL
    for (int k_tile = 0; k_tile < k_iterations; ++k_tile) iteration(accumulators, k_tile);
    GPUSIM_STAMP(tail_end());
  }

  // Readies the mainloop for another problem: the read iterators catch up with the write iterators, so that the next
  // prologue fills the stage which no warp has read since the last barrier.
  GPUSIM_DEVICE void wind_down() { advance_read_stage(); }
};

}  // namespace gpusim
