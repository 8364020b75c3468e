"""
The second kernel of a parallel split-K, which sums the slices' partial results into the output.

The interface is one kernel for each stage: ``ReductionKernel`` as a schedule, ``TimedReduction`` in time, ``Reduction``
on real data, ``specialise_reduction`` for CUDA. The room never knows how the partial sums were made.
"""
