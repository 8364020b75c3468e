"""Sizes that every NVIDIA GPU from sm_70 on shares: lanes of a warp, widths of words, vectors, sectors and lines."""

from typing import Final

WARP_SIZE: Final = 32
"""Lanes of a warp."""

WORD_BYTES: Final = 4
"""One 32-bit word: a register of one lane, the width of a bank of shared memory."""

VECTOR_BITS: Final = 128
"""Widest access of one lane to global or shared memory; one row of an ldmatrix matrix."""

SECTOR_BYTES: Final = 32
"""One sector of L1 and L2, the unit of global memory requests."""

SECTOR_BITS: Final = 8 * SECTOR_BYTES

LINE_BYTES: Final = 128
"""One line of L1, whose sectors one request can ask for; all banks of shared memory once."""

LINE_BITS: Final = 8 * LINE_BYTES

SECTORS_PER_LINE: Final = LINE_BYTES // SECTOR_BYTES

SCOREBOARDS: Final = 6
"""
Scoreboards of a warp, numbered in an instruction's control field (3 bits, 7 meaning none).

Source: Jia et al. 2018; Huerta MICRO'25.
"""
