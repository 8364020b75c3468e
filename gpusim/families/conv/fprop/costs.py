"""The costs of the iterators of CUTLASS's forward convolutions, counted from machine code as for its GEMMs."""

from typing import Final

from gpusim.families.gemm.cutlass.costs import MASKED, AccessCost, IteratorCosts
from gpusim.tile.extents import ConvShape

_OPTIMIZED_WALK: Final = 24
"""Instructions of an optimized iterator's step to the next k tile beyond the mainloop's: s, r and c, and the deltas."""


def fprop_costs(shape: ConvShape, iterator: str) -> IteratorCosts:
    """
    Return the costs of both iterators.

    Optimized activation: a 64-bit addition to its own pointer (2), the bits of r and s (2), their combination (2), a
    move. The constructor divides twice, and makes masks in loops over r and s. The filter's are a GEMM's.

    Analytic activation: h and w with the mode's flip (9), three 64-bit products with sign extension (15) and their sum
    (6), scaling and base (4), six limits (6), branches around the padding (5), the predicate (4). The constructor
    divides twice, by floating-point reciprocals. Analytic filter: k (1), a 64-bit product (2) and sum (2), scaling and
    base (2), limits of k and c (2). An analytic iterator's step to the next k tile is counted with the mainloop.
    """
    if iterator == "optimized":
        activation = AccessCost(setup=18 + 9 * (shape.r + shape.s), copy=7, beside=7, registers=4)
        return IteratorCosts(setup=280, walk=_OPTIMIZED_WALK, access={"a": activation, "b": MASKED})
    activation = AccessCost(setup=50, copy=49, beside=49, registers=6)
    analytic_filter = AccessCost(setup=0, copy=9, beside=9, registers=4)
    return IteratorCosts(setup=60, walk=0, access={"a": activation, "b": analytic_filter})
