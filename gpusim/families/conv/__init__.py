"""
The 2-d convolutions as implicit GEMM: their problems, the global iterators of their operands, CUTLASS's launch.

The interface is ``family.CONV``. Each operator has a room: fprop computes the output, dgrad the gradient of the
activation. All else a convolution takes from the GEMM's family, which this one extends; the room never knows a
mainloop, an epilogue or a GPU.
"""
