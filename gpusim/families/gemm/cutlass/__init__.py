"""
CUTLASS's own kernels of a GEMM or convolution: how they are launched.

Its face is ``launch_structure``. It never knows how a kernel is compiled or timed.
"""
