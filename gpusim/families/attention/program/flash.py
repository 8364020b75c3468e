"""FlashAttention-2's op order: a row belongs to one warp, P stays in its registers, copies pass under both GEMMs."""

from collections.abc import Sequence

from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.attention.program import softmax
from gpusim.families.attention.program.chained import in_phase, pv_shape, qk_shape
from gpusim.families.attention.program.step import AttentionProgram, Step
from gpusim.families.attention.tile.blocks import KeyBlock, attention_epilogue
from gpusim.families.attention.tile.shape import AttentionShape, attention_shape
from gpusim.schedule.epilogue import tile_ops
from gpusim.schedule.mainloop import resident
from gpusim.schedule.multistage import copy_ops
from gpusim.schedule.ops import Barrier, CommitGroup, Op, WaitGroup
from gpusim.tile.operand import Side


def flash_program(scenario: AttentionScenario, blocks: Sequence[KeyBlock]) -> AttentionProgram:
    """
    Return the steps of one CTA.

    Args:
        scenario: Problem and kernel.
        blocks: Key blocks of the CTA, ascending. The walk begins with the last one, which alone may be masked at its
            end.

    Source: Dao, FlashAttention-2 (2023), algorithm 1, and its kernel's order of copies: the first GEMM overlaps the
    copies of the key block's values, softmax and second GEMM overlap the copies of the next block's keys.
    """
    shape = attention_shape(scenario)
    steps: list[Step] = []
    if blocks:
        first = blocks[-1].number
        copies = [*_copies(scenario, shape, "a"), *_copies(scenario, shape, "b"), CommitGroup()]
        steps += in_phase("qk", first, 0, copies)
    for block in reversed(blocks):
        steps += _key_block(scenario, shape, block)
    rows = range(shape.rows_of_lane)
    if blocks:
        ends = [
            (softmax.Shuffle("sum", row, 1), softmax.Shuffle("sum", row, 2), softmax.Normalise(row)) for row in rows
        ]
        steps += in_phase("normalise", -1, 0, [op for row in ends for op in row])
    steps += in_phase("lse", -1, 0, [softmax.StoreLse(row) for row in rows])
    return (*steps, *in_phase("epilogue", -1, 0, tile_ops(attention_epilogue(scenario))))


def _copies(scenario: AttentionScenario, shape: AttentionShape, operand: Side) -> list[Op]:
    qk = qk_shape(scenario)
    accesses = range(qk.of(operand).accesses)
    return [op for fetch in range(shape.qk_tiles) for op in copy_ops(qk, operand, fetch, accesses, zfill=True)]


def _key_block(scenario: AttentionScenario, shape: AttentionShape, block: KeyBlock) -> list[Step]:
    number = block.number
    arrive: list[Op] = [WaitGroup(0), Barrier()]
    pv = pv_shape(scenario)
    values: list[Op] = [*copy_ops(pv, "b", 0, range(pv.b.accesses), zfill=True), CommitGroup()]
    steps = [*in_phase("qk", number, 0, arrive), *in_phase("pv", number, 0, values)]
    steps += in_phase("qk", number, 0, resident(qk_shape(scenario), shape.qk_tiles))
    steps += in_phase("pv", number, 0, arrive)
    if number:
        steps += in_phase("qk", number - 1, 0, [*_copies(scenario, shape, "b"), CommitGroup()])
    steps += in_phase("softmax", number, 0, _softmax(shape, masked=block.masked))
    return [*steps, *in_phase("pv", number, 0, resident(pv, shape.pv.stages))]


def _softmax(shape: AttentionShape, *, masked: bool) -> list[softmax.SoftmaxOp]:
    """Return the ops between both GEMMs; the first key block has the same, and rescales zeros by 2^-inf = 0."""
    rows = range(shape.rows_of_lane)
    ops: list[softmax.SoftmaxOp] = [softmax.ScaleScores(masked)]
    for row in rows:
        ops += [softmax.RowMax(row), softmax.Shuffle("maximum", row, 1), softmax.Shuffle("maximum", row, 2)]
    ops += [softmax.RescaleFactor(), *(softmax.RescaleOutput(row) for row in rows)]
    return ops + [op for row in rows for op in (softmax.Exponentials(row), softmax.RowSum(row))]
