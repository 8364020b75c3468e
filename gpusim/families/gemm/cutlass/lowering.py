"""
Makes the stream of CUTLASS's own kernel of a GEMM or forward convolution by stated estimates.

The ops are the schedule's, as for gpusim's kernels. What CUTLASS's iterators compute at each access was counted from
the machine code of eighteen kernels that nvcc 13.0 makes of its headers for sm_90: tiles of 64x64 to 256x128, 32 and 64
deep, 2 to 6 stages, TN, NN and NT, analytic and optimized iterators. None of them is a measured row; two figures were
adjusted with the measured rows in view. Unlike gpusim's, the extents are run-time values, so strides and limits are
loaded and offsets are computed in 64 bits.

Sources: CUTLASS include/cutlass/transform/threadblock/predicated_tile_access_iterator.h,
conv/threadblock/conv2d_fprop_*_tile_access_iterator_*.h, {gemm,conv}/threadblock/*multistage.h.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from gpusim.element_types import element_bits
from gpusim.families.gemm.cutlass.costs import IteratorCosts
from gpusim.families.gemm.program import mainloop_policy
from gpusim.lower.estimated import BRANCH_STALL, Lowering, in_epilogue
from gpusim.lower.estimated_output import integer, repeated
from gpusim.lower.stream import Instruction
from gpusim.machine.spec import Machine
from gpusim.numerics.output_op import OutputOp
from gpusim.scenario.gemm import GemmScenario
from gpusim.schedule.ops import CopyAsync, LoadGlobal, Op, Program, WarpMma
from gpusim.tile.operand import SIDES, Operand
from gpusim.units import VECTOR_BITS, WARP_SIZE

LOOP: Final = 26
"""
Instructions per k tile of a multistage mainloop.

They are the stages (16: adds, wraps and moves of both rings' offsets), the counter (3), both operands' pointers (4) and
the cleared masks (3).
"""

LOOP_THROUGH_REGISTERS: Final = 20
"""Those of a pipelined mainloop, whose two stages swap by a sign."""

NEVER_EXECUTED: Final = 3
"""``@!PT LDS RZ, [RZ]``, which ptxas puts before the copies of a k group of the mainloop."""

OUTPUT_SETUP: Final = 100
"""Instructions before the epilogue's first step: scales, pointers of source and output, limits, masks."""

BEYOND_FRAGMENTS: Final = 22
"""Registers of one thread for loop state, stages and addresses of shared memory."""


def registers_per_thread(scenario: GemmScenario, costs: IteratorCosts, machine: Machine) -> int:
    """
    Return the registers of one thread: accumulators, two fragments of each operand, what accesses keep, and a constant.

    A pipelined mainloop holds the threadblock fragments, and has one pointer for all accesses of an operand.
    """
    warp_m, warp_n, _ = scenario.kernel.warp
    dtype, instruction_k = scenario.problem.dtype, scenario.kernel.instruction[2]
    accumulators = warp_m * warp_n * element_bits(dtype.accumulator) // 32 // WARP_SIZE
    fragments = 2 * (warp_m + warp_n) * instruction_k * element_bits(dtype.ab) // 32 // WARP_SIZE
    operands = scenario.operands
    if mainloop_policy(scenario).through_registers:
        kept = 4 + sum(one.thread_map.accesses for one in operands.values()) * VECTOR_BITS // 32
    else:
        kept = sum(costs.access[side].registers * _rows(operands[side]) for side in SIDES)
    return min(accumulators + fragments + kept + BEYOND_FRAGMENTS, machine.limits.registers_per_thread)


def _groups_with_copies(ops: Sequence[Op]) -> int:
    """Return the number of k groups of a k tile in which copies are issued."""
    group, found = 0, set()
    for op in ops:
        if isinstance(op, WarpMma):
            group += 1
        elif isinstance(op, CopyAsync):
            found.add(group)
    return len(found)


def _rows(operand: Operand) -> int:
    """Return the accesses that begin a row of the thread map; along the contiguous dimension offsets are immediate."""
    contiguous, strided = operand.thread_map.iterations
    return contiguous * strided if operand.k_contiguous else strided


class CutlassLowering(Lowering):
    """Turns the ops of one GEMM or forward convolution into the instructions of CUTLASS's kernel."""

    def __init__(self, scenario: GemmScenario, costs: IteratorCosts, machine: Machine) -> None:
        super().__init__(scenario.operands, scenario.mma, machine, scenario.epilogue)
        self.costs = costs
        self.wide = {
            side: 1 if one.k_contiguous else one.thread_map.iterations[0] for side, one in scenario.operands.items()
        }
        self.control = costs.walk + (LOOP_THROUGH_REGISTERS if mainloop_policy(scenario).through_registers else LOOP)

    def prologue(self, program: Program) -> Iterator[Instruction]:
        """Yield the prologue: constructors, cleared accumulators, then the copies, waits and fragment loads."""
        yield from integer(self.costs.setup)
        fetched = [op for op in program.prologue if isinstance(op, CopyAsync | LoadGlobal)]
        for side in SIDES:
            accesses = {op.access for op in fetched if op.operand == side}
            yield from integer(self.costs.access[side].setup * len(accesses))
        yield from integer(self.tiling.warp[0] * self.tiling.warp[1] // WARP_SIZE // 2, "CS2R")
        yield from self.straight(program.prologue)

    def iteration(self, ops: Sequence[Op]) -> Iterator[Instruction]:
        """Yield one k tile of the mainloop, loop control and backward branch included."""
        control = list(integer(self.control))
        through_registers = not any(isinstance(op, CopyAsync) for op in ops)
        control += repeated("LDS", "alu", NEVER_EXECUTED * _groups_with_copies(ops))
        yield from (self.k_tile_through_registers if through_registers else self.copied_k_tile)(ops, control)
        yield Instruction("BRA", "pipe", "branch", stall=BRANCH_STALL)

    def address(self, op: CopyAsync | LoadGlobal) -> Iterator[Instruction]:
        """Yield the arithmetic for address and predicate of a copy or load."""
        cost = self.costs.access[op.operand]
        yield from integer(cost.beside if op.access % self.wide[op.operand] or op.vec else cost.copy)

    def epilogue(self, ops: Sequence[Op], does: OutputOp) -> Iterator[Instruction]:
        """Yield the epilogue, after the arithmetic of its pointers and limits; then EXIT."""
        yield from in_epilogue(((op, self.epilogue_access(op, does)) for op in ops), OUTPUT_SETUP)
        yield Instruction("EXIT", "exit")
