"""
CUTLASS's own kernels of a matrix product: what they are launched with, and what their code is estimated to be.

The interface is ``LaunchStructure``, ``IteratorCosts`` and ``CutlassLowering``. The room never knows how long they
take, nor which problem it is: a family hands it structures and costs.
"""
