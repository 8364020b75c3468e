"""
CUTLASS's own kernels of a matrix product: what they are launched with, and what their code is estimated to be.

Its face is ``LaunchStructure``, ``IteratorCosts`` and ``CutlassLowering``. It never knows how long they take, nor which
problem it is: a family hands it structures and costs.
"""
