// A pipelined mainloop that has computed another problem before: what is left of it must not be seen in the second.
#pragma once

#include "pipelined.cuh"

namespace gpusim {

struct TwoProblems : Pipelined {
  using Pipelined::Pipelined;

  void operator()(Accumulators& accumulators) {
    IteratorA const begin_a = iterator_a;
    IteratorB const begin_b = iterator_b;
    Accumulators first;
    Pipelined::operator()(first);
#if HOST_WIND_DOWN
    wind_down();
#endif
    iterator_a = begin_a;
    iterator_b = begin_b;
    Pipelined::operator()(accumulators);
  }
};

}  // namespace gpusim
