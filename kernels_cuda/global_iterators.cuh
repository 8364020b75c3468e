// Which global tile iterators a scenario's operands have: the header that GPUSIM_ITERATORS names defines IteratorA and
// IteratorB, and gemm_k_iterations.
#pragma once

#define GPUSIM_QUOTED(name) #name
#define GPUSIM_HEADER(name) GPUSIM_QUOTED(name.cuh)

#include GPUSIM_HEADER(GPUSIM_ITERATORS)
