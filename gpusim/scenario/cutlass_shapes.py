"""The tiles that CUTLASS's kernels accept: rules of its iterators and mainloops that gpusim's kernels do not need."""

from typing import NamedTuple

from gpusim.element_types import element_bits
from gpusim.scenario.kernel import PIPELINED_STAGES, Kernel
from gpusim.scenario.product import MatrixProduct
from gpusim.scenario.text import shown
from gpusim.tile.operand import SIDES
from gpusim.units import LINE_BITS


class NotTaken(NamedTuple):
    """
    The reason why CUTLASS has no kernel for a scenario's tiles.

    Attributes:
        key: The key at fault.
        rule: Values that CUTLASS accepts.
        found: Value of the scenario.
    """

    key: str
    rule: str
    found: object

    @property
    def sentence(self) -> str:
        """The reason in words."""
        return f"{self.key} must be {self.rule}, got {shown(self.found)}"


def not_taken(problem: MatrixProduct, kernel: Kernel) -> NotTaken | None:
    """
    Return why CUTLASS has no kernel for a warp tile; None if it has one.

    For an operand contiguous along M or N, CUTLASS's warp iterator finds a later warp's tile by pointer arithmetic: it
    swaps its pointers for half a line of 128 bytes, and adds for whole lines. Any other extent compiles, but reads the
    wrong elements. CUTLASS's mainloops unroll k groups by two. Its default mainloop with two stages is the pipelined
    one.

    Source: CUTLASS include/cutlass/gemm/warp/mma_tensor_op_tile_iterator.h (add_tile_offset of both congruous
    iterators), include/cutlass/gemm/threadblock/mma_base.h (the static_assert on kWarpGemmIterations), default_mma.h.
    """
    if kernel.mainloop == "multistage" and kernel.stages <= PIPELINED_STAGES:
        rule = f"at least {PIPELINED_STAGES + 1} of a multistage mainloop: of {PIPELINED_STAGES} CUTLASS's is pipelined"
        return NotTaken("kernel.stages", rule, kernel.stages)
    if kernel.k_groups % 2:
        deep = 2 * kernel.instruction[2]
        return NotTaken("kernel.warp", f"a multiple of {deep} deep, two k groups", list(kernel.warp))
    for side in SIDES:
        if not problem.k_contiguous(side):
            line = LINE_BITS // element_bits(problem.dtype.ab)
            extent = kernel.warp[SIDES.index(side)]
            if extent != line // 2 and extent % line:
                axis = "M" if side == "a" else "N"
                rule = f"{line // 2} or a multiple of {line} along {axis}, as {side.upper()} is contiguous along it"
                return NotTaken("kernel.warp", rule, list(kernel.warp))
    return None
