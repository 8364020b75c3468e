"""Copies a column of a matrix by Triton, with a fault: neighbouring lanes load floats that lie 4,096 bytes apart."""

import numpy as np
import triton
import triton.language as tl

import gpusim


@triton.jit
def column(x, y, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    one = tl.load(x + row * columns)  # a sector for each lane
    tl.store(y + row, one)


x, y = np.ones((1024, 1024), np.float32), np.zeros(1024, np.float32)
print(gpusim.triton(column, machine="a100")[4,](x, y, 1024, BLOCK=256))
