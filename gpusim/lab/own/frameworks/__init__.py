"""
Kernels of Triton and CuPy, with launches and answers by numpy; their machine code is kept, so that neither is needed.

Its face is ``TRITON_KERNELS`` and ``CUPY_KERNELS``, and ``TRITON_CONSTANTS``, which Triton compiles with. It never
compiles, and never imports Triton or CuPy.
"""
