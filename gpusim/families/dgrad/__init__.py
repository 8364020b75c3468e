"""
What the gradient of a 2-d convolution to its activation asks of a tile kernel: its problem and its global iterators.

Its face is ``family.DGRAD``. All else it takes from the GEMM's family, which it extends; it never knows a mainloop, an
epilogue, a machine or a GPU.
"""
