"""
CUTLASS's own kernels of a matrix product: what they are launched with, and what their code is estimated to be.

Its face is ``LaunchStructure``, ``GEMM_STRUCTURES``, ``CutlassLowering`` and ``registers_per_thread``. It never knows
how long they take.
"""
