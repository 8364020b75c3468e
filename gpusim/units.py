"""Sizes that are equal on all NVIDIA GPUs from sm_70 on: warps, words, vectors, sectors, cache lines and TPCs."""

from typing import Final

WARP_SIZE: Final = 32
"""Lanes in a warp."""

WORD_BYTES: Final = 4
"""Bytes of one 32-bit word: one register of one lane, and the width of one shared-memory bank."""

VECTOR_BITS: Final = 128
"""Bits of the widest access one lane makes to global or shared memory, which is also one row of an ldmatrix matrix."""

SECTOR_BYTES: Final = 32
"""Bytes of one sector of L1 and L2, the unit in which global memory is requested."""

SECTOR_BITS: Final = 8 * SECTOR_BYTES

LINE_BYTES: Final = 128
"""Bytes of one L1 line, the most that one request covers; also the width of all 32 shared-memory banks together."""

LINE_BITS: Final = 8 * LINE_BYTES

SECTORS_PER_LINE: Final = LINE_BYTES // SECTOR_BYTES

SCOREBOARDS: Final = 6
"""
Number of scoreboards a warp has. An instruction's 3-bit control field names one; the value 7 means none.

Source: Jia et al. 2018; Huerta MICRO'25.
"""

SMS_PER_TPC: Final = 2
"""SMs of a TPC, which are neighbours in launch order."""

PAGE_LINE_BITS: Final = 14
"""Bits of a line's number in its page of 2 MiB."""
