"""
A forward convolution as input of a tile kernel: its problem and its global iterators, analytic and optimized.

The interface is ``problem.Conv2dFpropProblem``, and ``IMPLICIT_GEMM``, with which CUTLASS's own kernel is launched. The
room knows the walk that all convolutions share, and never another operator.
"""
