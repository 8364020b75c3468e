"""
CUTLASS's own kernels of a GEMM or convolution: how they are launched, and what their code is estimated to be.

Its face is ``launch_structure``, ``CutlassLowering`` and ``registers_per_thread``. It never knows how long they take.
"""
