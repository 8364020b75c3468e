"""The costs of the global iterators of CUTLASS's kernels, counted from machine code."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from gpusim.tile.operand import Side

PREDICATE_BIT: Final = 3
"""Instructions that test one bit of a mask: and, shift, compare."""


@dataclass(frozen=True, slots=True)
class AccessCost:
    """
    The cost of one access of an operand.

    Attributes:
        setup: Instructions in the iterator's constructor.
        copy: Instructions at every fetch, if it begins a row of the thread map.
        beside: Instructions at every fetch, if it lies in the row of the access before it.
        registers: Registers that a thread keeps for it.
    """

    setup: int
    copy: int
    beside: int
    registers: int


@dataclass(frozen=True, slots=True)
class IteratorCosts:
    """
    The costs of both operands' iterators in one of CUTLASS's kernels.

    Attributes:
        setup: Instructions before the iterators' own: parameters, grid, strides, bases of shared memory.
        walk: Instructions of a step to the next k tile beyond those of the mainloop.
        access: Cost of one access by operand.
    """

    setup: int
    walk: int
    access: Mapping[Side, AccessCost]


MASKED: Final = AccessCost(setup=6, copy=PREDICATE_BIT + 2, beside=PREDICATE_BIT, registers=2)
"""
An access whose predicate is a bit of a mask, and whose pointer advances: a GEMM's, and an optimized filter's.

It takes the bit (3) and a 64-bit addition (2). The constructor computes the bit for the residue tile and for whole
ones. An access beside another in its row needs no pointer.
"""

GEMM_COSTS: Final = IteratorCosts(setup=210, walk=0, access={"a": MASKED, "b": MASKED})
"""Costs of ``PredicatedTileAccessIterator``, for both operands of a GEMM."""
