// Which global tile iterators a scenario's operands have. Mirrors gpusim/tile/global_iterators.py.
#pragma once

#include "scenario.cuh"

#if !GPUSIM_CONVOLUTION
#include "gemm_iterators.cuh"
#elif GPUSIM_OPTIMIZED_ITERATOR
#include "conv_optimized.cuh"
#else
#include "conv_iterators.cuh"
#endif

namespace gpusim {

#if !GPUSIM_CONVOLUTION
using IteratorA = PredicatedIterator<OperandA, kExtentM, GPUSIM_GEMM_LDA>;
using IteratorB = PredicatedIterator<OperandB, kExtentN, GPUSIM_GEMM_LDB>;
#elif GPUSIM_OPTIMIZED_ITERATOR
using IteratorA = ActivationIteratorOptimized;
using IteratorB = FilterIteratorOptimized;
#else
using IteratorA = ActivationIterator;
using IteratorB = FilterIterator;
#endif

}  // namespace gpusim
