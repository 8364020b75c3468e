"""
The gradient of a convolution to its activation, as input of a tile kernel: its problem and its analytic iterators.

The interface is ``problem.Conv2dDgradProblem``. The room knows the walk that all convolutions share, and never another
operator.
"""
