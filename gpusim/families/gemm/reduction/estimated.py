"""Makes the stream of a parallel split-K's second kernel by stated estimates."""

from collections.abc import Iterator

from gpusim.element_types import element_bits
from gpusim.families.gemm.reduction.schedule import reduction_ops, stage_ends
from gpusim.families.gemm.reduction.tile import ReductionTile, reduction_tile
from gpusim.lower.estimated_output import (
    OUTPUT_SCOREBOARD,
    bias_arithmetic,
    global_load,
    global_store,
    integer,
    output_arithmetic,
    repeated,
)
from gpusim.lower.stream import Instruction, Segment, Stream
from gpusim.numerics.output_op import OutputOp, reduction_output_op
from gpusim.scenario.gemm import GemmScenario
from gpusim.schedule.ops import LoadBias, LoadPartial, Op, StoreGlobal

REDUCTION_SETUP = 24
"""Instructions before the first load: indices (4), row, column and their tests (8), three 64-bit offsets (12)."""

REDUCTION_REGISTERS_BEYOND_DATA = 16
"""Registers of one thread of the reduction for pointers, offsets and the predicate."""


def estimated_reduction(scenario: GemmScenario) -> Stream:
    """
    Return the estimated stream of a parallel split-K's second kernel, which is one segment.

    Raises:
        BadInput: The scenario has no parallel split-K.
    """
    tile, does = reduction_tile(scenario), reduction_output_op(scenario)
    instructions = [*integer(REDUCTION_SETUP)]
    ends = stage_ends(tile.slices)
    added = 0
    for op in reduction_ops(scenario):
        instructions += _reduction_access(tile, does, op)
        if isinstance(op, LoadPartial) and op.access == tile.loads_per_slice - 1 and op.slice_ + 1 in ends:
            instructions += _additions(tile, op.slice_ + 1 - added)
            added = op.slice_ + 1
    instructions.append(Instruction("EXIT", "exit"))
    return Stream("estimated", _registers(tile, does), (Segment("epilogue", tuple(instructions)),))


def _reduction_access(tile: ReductionTile, does: OutputOp, op: Op) -> Iterator[Instruction]:
    if isinstance(op, StoreGlobal):
        yield from output_arithmetic(does, tile.elements_per_access)
        yield from global_store(tile.access_bits, op)
        return
    yield from global_load(tile.load_bytes * 8 if isinstance(op, LoadPartial) else tile.access_bits, op)
    if isinstance(op, LoadBias):
        yield from bias_arithmetic(does, tile.elements_per_access)


def _additions(tile: ReductionTile, slices: int) -> Iterator[Instruction]:
    """Yield the additions of the slices loaded since the last additions. The first one waits for their data."""
    opcode, pipe = {"f32": ("FADD", "fma"), "f16": ("HADD2", "half"), "s32": ("IADD3", "alu")}[tile.accumulator_type]
    count = tile.elements_per_access if tile.accumulator_type != "f16" else -(-tile.elements_per_access // 2)
    yield from repeated(opcode, pipe, slices * count, waits=1 << OUTPUT_SCOREBOARD)


def _registers(tile: ReductionTile, does: OutputOp) -> int:
    """Estimate the registers of a thread: sums, one stage of partial sums, source, bias and a constant."""
    words = -(-tile.elements_per_access * element_bits(tile.accumulator_type) // 32)
    held = words * (1 + min(tile.slices, stage_ends(tile.slices)[0]))
    held += -(-tile.access_bits // 32) * (does.with_source + does.with_bias)
    return -(-(held + REDUCTION_REGISTERS_BEYOND_DATA) // 8) * 8
