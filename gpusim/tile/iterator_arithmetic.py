"""
Integer instructions of single steps of kernels_cuda's global iterators; each iterator's source sums them.

They are counted from the sources line by line, as SASS instructions. Extents are compile-time constants, so a division
by an extent is a multiply-high and a shift, and loop invariants are computed once. A 64-bit addition is two
instructions. A comparison takes the previous one as its input, so a chain of n tests is n instructions.

Not modelled: offsets that need 64 bits before they are scaled, and tests the compiler finds always true (D1).
"""

from typing import Final

ADD_64: Final = 2
"""Instructions of a 64-bit addition: the low words, then the high words with the carry."""

DIVIDE: Final = 3
"""Instructions of quotient and remainder by a constant: multiply-high, shift, multiply-subtract."""

MASK_BIT: Final = 3
"""Instructions that compute one bit of a mask: a test, a select and an or."""

INDEX_VEC: Final = 1 + 2 + 1
"""
Instructions of each further copy of an access that is addressed by an index.

They are the index (1), its shift and addition to the base (2), and a test (1).
"""
