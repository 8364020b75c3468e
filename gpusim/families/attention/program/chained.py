"""The op order of memory-efficient attention: P through shared memory, row statistics shared by the warps of a row."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.attention.program import softmax
from gpusim.families.attention.program.step import AttentionProgram, Phase, Step
from gpusim.families.attention.tile.blocks import KeyBlock, attention_epilogue, source_parts
from gpusim.families.attention.tile.operands import gemm_operands
from gpusim.families.attention.tile.shape import AttentionShape, attention_shape
from gpusim.schedule import multistage
from gpusim.schedule.epilogue import tile_ops
from gpusim.schedule.mainloop import Mainloop, MainloopShape, shape_of
from gpusim.schedule.ops import Barrier, Op, WaitGroup


def qk_shape(scenario: AttentionScenario) -> MainloopShape:
    """Return the shape of the mainloop of S = Q * K^T."""
    shape = shape_of(gemm_operands(scenario, "qk"), multistage.GEMM_POLICY)
    return replace(shape, whole=attention_shape(scenario).qk_whole)


def pv_shape(scenario: AttentionScenario) -> MainloopShape:
    """Return the shape of the mainloop of O = P * V: P is not copied, and flash loads no fragments of it either."""
    shape = shape_of(gemm_operands(scenario, "pv"), multistage.GEMM_POLICY)
    fragments = 0 if scenario.flash else shape.a.fragment_loads
    return replace(shape, a=replace(shape.a, accesses=0, fragment_loads=fragments), whole=True)


def attention_program(scenario: AttentionScenario, blocks: Sequence[KeyBlock]) -> AttentionProgram:
    """
    Return the steps of one CTA.

    Args:
        scenario: Problem and kernel.
        blocks: Key blocks of the CTA, ascending; empty if its queries see no key.

    Source: CUTLASS examples/41_fused_multi_head_attention/kernel_forward.h for the ops. The order of the softmax is our
    own: it needs two barriers for each key block in place of four.
    """
    shape = attention_shape(scenario)
    steps = [*in_phase("start", -1, 0, _stores("maximum", "previous", "sum"))]
    for block in blocks:
        steps += _key_block(scenario, shape, block, first=block is blocks[0], last=block is blocks[-1])
    if shape.in_registers:
        steps += in_phase("normalise", -1, 0, _normalise(shape) if blocks else ())
        steps += in_phase("epilogue", -1, 0, tile_ops(attention_epilogue(scenario)))
    elif not blocks:
        for column in range(shape.column_blocks):
            steps += in_phase("epilogue", -1, column, _buffer_epilogue(scenario, first=True, last=True))
    lse = [*_loads("maximum", "sum"), softmax.StoreLse(0)]
    return (*steps, *in_phase("lse", -1, 0, lse))


def in_phase(phase: Phase, key_block: int, column_block: int, ops: Iterable[Op | softmax.SoftmaxOp]) -> Iterator[Step]:
    """Return ops as steps of one phase."""
    return (Step(phase, key_block, column_block, op) for op in ops)


def _loads(*statistics: softmax.Statistic) -> list[Op | softmax.SoftmaxOp]:
    return [softmax.LoadStatistic(statistic, "owner") for statistic in statistics]


def _stores(*statistics: softmax.Statistic) -> list[Op | softmax.SoftmaxOp]:
    return [softmax.StoreStatistic(statistic, "owner") for statistic in statistics]


def _key_block(
    scenario: AttentionScenario, shape: AttentionShape, block: KeyBlock, *, first: bool, last: bool
) -> list[Step]:
    number = block.number
    scores = multistage.mainloop(qk_shape(scenario), multistage.GEMM_POLICY, shape.qk_tiles)
    output = multistage.mainloop(pv_shape(scenario), multistage.GEMM_POLICY, block.k_tiles(shape.pv.threadblock[2]))
    copies, entry, rest = _split(output)
    preload = scenario.kernel.preload_v
    steps = [*in_phase("qk", number, 0, _flat(scores))]
    if preload:
        steps += in_phase("pv", number, 0, copies)
    between = _softmax(shape, masked=block.masked, rescales=shape.in_registers and not first)
    steps += in_phase("softmax", number, 0, between)
    for column in range(shape.column_blocks):
        if not preload:
            steps += in_phase("pv", number, column, copies)
        steps += in_phase("pv", number, column, entry)
        if column == 0:
            steps += in_phase("softmax", number, 0, _add_sums(shape))
        steps += in_phase("pv", number, column, rest)
        if preload and column + 1 < shape.column_blocks:
            steps += in_phase("pv", number, column + 1, copies)
        if not shape.in_registers:
            epilogue = _buffer_epilogue(scenario, first=first, last=last)
            steps += in_phase("epilogue" if last else "buffer", number, column, epilogue)
    return steps


def _flat(mainloop: Mainloop) -> list[Op]:
    prologue, iterations, tail = mainloop
    return [*prologue, *(op for body in iterations for op in body), *tail]


def _split(mainloop: Mainloop) -> tuple[list[Op], list[Op], list[Op]]:
    """Split a program into the prologue's copies, the prologue's wait and barrier, and the rest."""
    ops = _flat(mainloop)
    wait = next(index for index, op in enumerate(ops) if isinstance(op, WaitGroup))
    return ops[:wait], ops[wait : wait + 2], ops[wait + 2 :]


def _softmax(shape: AttentionShape, *, masked: bool, rescales: bool) -> list[Op | softmax.SoftmaxOp]:
    rows = range(shape.rows_of_lane)
    ops: list[Op | softmax.SoftmaxOp] = [softmax.ScaleScores(masked)]
    for row in rows:
        ops += [softmax.RowMax(row), softmax.AtomicMax(row)]
    ops += [Barrier(), *_loads("previous", "maximum", "sum")]
    ops += [softmax.RescaleFactor(), *_stores("rescale", "sum"), Barrier()]
    for row in rows if rescales else ():
        ops += [softmax.LoadStatistic("rescale", "fragment", row), softmax.RescaleOutput(row)]
    for row in rows:
        ops += [softmax.LoadStatistic("maximum", "fragment", row), softmax.Exponentials(row)]
    for row in rows:
        ops += [softmax.RowSum(row), softmax.Shuffle("sum", row, 1), softmax.Shuffle("sum", row, 2)]
        ops.append(softmax.StoreStatistic("partial_sum", "fragment", row))
    return ops + [softmax.StoreP(access) for access in range(shape.rows_of_lane * shape.qk.warp[1] // 8)]


def _add_sums(shape: AttentionShape) -> list[Op | softmax.SoftmaxOp]:
    """Return the ops after the barrier that makes partial sums visible; owners still hold sum and maximum."""
    partial = [softmax.LoadStatistic("partial_sum", "owner", column) for column in range(shape.warp_columns)]
    return [*partial, softmax.AddSums(), *_stores("sum", "previous")]


def _normalise(shape: AttentionShape) -> list[softmax.SoftmaxOp]:
    rows = range(shape.rows_of_lane)
    return [op for row in rows for op in (softmax.LoadStatistic("sum", "fragment", row), softmax.Normalise(row))]


def _buffer_epilogue(scenario: AttentionScenario, *, first: bool, last: bool) -> tuple[Op | softmax.SoftmaxOp, ...]:
    """
    Return the ops that bring accumulators through shared memory to the buffer, or to the output.

    Args:
        scenario: Problem and kernel.
        first: Whether the buffer is still empty, so that it is neither read nor rescaled.
        last: Whether the output is normalised and stored.
    """
    parts = source_parts(scenario)

    def scale(vector: int) -> list[softmax.SoftmaxOp]:
        factors: list[softmax.SoftmaxOp] = [] if first else [softmax.LoadStatistic("rescale", "output", vector)]
        return [*factors, softmax.LoadStatistic("sum", "output", vector)] if last else factors

    return tile_ops(attention_epilogue(scenario), loads=0 if first else parts, stores=1 if last else parts, scale=scale)
