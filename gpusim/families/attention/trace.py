"""An attention schedule in the form the trace build records; runs nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias, get_args

import numpy as np

from gpusim.arrays import IntArray
from gpusim.cuda.trace import Records, blank_records
from gpusim.families.attention.blocks import (
    BlockAdvance,
    CopiedOperand,
    Gemm,
    attention_ctas,
    attention_epilogue,
    attention_grid,
    block_advance,
    gemm_view,
    key_blocks,
    operand_access,
    output_access,
    p_load_offsets,
    p_store_offsets,
)
from gpusim.families.attention.ops import (
    AddSums,
    AtomicMax,
    Exponentials,
    LoadStatistic,
    Normalise,
    RescaleFactor,
    RescaleOutput,
    RowMax,
    RowSum,
    ScaleScores,
    Shuffle,
    SoftmaxOp,
    Step,
    StoreLse,
    StoreP,
    StoreStatistic,
)
from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.attention.shape import ROW_STATISTICS, AttentionShape, attention_shape
from gpusim.families.attention.statistics import buffer_access, lse_access, statistic_lanes, statistic_words
from gpusim.schedule.ops import (
    CopyAsync,
    Ldmatrix,
    LoadShared,
    LoadSource,
    Op,
    StoreGlobal,
    StoreShared,
    WaitGroup,
    WarpMma,
)
from gpusim.schedule.program import cta_program
from gpusim.tile.epilogue import OutputAccess
from gpusim.tile.global_access import GlobalAccess
from gpusim.tile.ldmatrix import ldmatrix_offsets
from gpusim.tile.operand import Side
from gpusim.tile.shared_store import store_offsets
from gpusim.units import WARP_SIZE

Arithmetic: TypeAlias = (
    ScaleScores | RowMax | RescaleFactor | RescaleOutput | Exponentials | RowSum | AddSums | Normalise
)
"""Ops between registers, which a trace leaves out."""

_NUMBER = {kind: number for number, kind in enumerate((*get_args(Op), *get_args(SoftmaxOp)))}
"""By the kind of an op, what a header holds: its place in ``trace_format.ATTENTION_OPERATIONS``."""


def traced_attention_ctas(scenario: AttentionScenario) -> tuple[int, ...]:
    """First, middle and last linear block index, those of them that have a query, ascending."""
    active = np.flatnonzero(block_advance(scenario, _blocks(scenario)).active)
    return tuple(sorted({int(active[0]), int(active[len(active) // 2]), int(active[-1])})) if len(active) else ()


def expected_attention_records(scenario: AttentionScenario, blocks: Sequence[int]) -> Records:
    """
    What the trace build must record.

    Args:
        scenario: Problem and kernel.
        blocks: Linear block indices, in the order of ``Params.recorded``.

    Returns:
        Records of dtype ``trace_format.RECORD``, by slot, warp and position.
    """
    tables = _Tables(scenario)
    ctas = _blocks(scenario)
    return np.concatenate([_cta_records(tables, slot, ctas[block : block + 1]) for slot, block in enumerate(blocks)])


def recorded_steps(scenario: AttentionScenario, cta: IntArray) -> list[Step]:
    """The steps of one CTA, blockIdx of shape (1, 3), that are more than arithmetic."""
    blocks = key_blocks(scenario, block_advance(scenario, cta), 0)
    return [step for step in cta_program(scenario, blocks).steps if not isinstance(step.op, Arithmetic)]


def _blocks(scenario: AttentionScenario) -> IntArray:
    """blockIdx that the schedule has for each launched CTA: flash under a causal mask begins with the last queries."""
    ctas = attention_ctas(scenario).copy()
    if scenario.flash and scenario.problem.mask != "none":
        ctas[:, 0] = attention_grid(scenario)[0] - 1 - ctas[:, 0]
    return ctas


class _Tables:
    """Offsets of every op that no CTA changes, by warp and lane."""

    def __init__(self, scenario: AttentionScenario) -> None:
        self.scenario = scenario
        self.shape: AttentionShape = attention_shape(scenario)
        self.warps = self.shape.threads // WARP_SIZE
        self.store: dict[CopiedOperand, IntArray] = {}
        self.load: dict[str, IntArray] = {}
        self.mma: dict[Gemm, int] = {}
        operands: tuple[tuple[CopiedOperand, Gemm, Side], ...] = (
            ("q", "qk", "a"),
            ("k", "qk", "b"),
            ("v", "pv", "b"),
        )
        for name, gemm, operand in operands:
            view = gemm_view(scenario, gemm)
            stages = range(view.kernel.stages)
            stored = np.stack([store_offsets(view.operand(operand), stage) for stage in stages])
            self.store[name] = stored.reshape(len(stages), self.warps, WARP_SIZE, *stored.shape[2:])
            self.load[name] = np.stack([ldmatrix_offsets(view.operand(operand), stage) for stage in stages])
            warp, instruction = view.kernel.warp, view.kernel.instruction
            self.mma[gemm] = (warp[0] // instruction[0]) * (warp[1] // instruction[1])
        if not scenario.flash:
            self.load["p"] = p_load_offsets(scenario)
            self.p_store = p_store_offsets(scenario).reshape(self.warps, WARP_SIZE, -1)
        self.epilogue = attention_epilogue(scenario)
        self.staging_stores = self.epilogue.store_offsets()[..., 0].reshape(self.warps, WARP_SIZE, -1)
        self.staging_loads = self.epilogue.load_offsets()[..., 0].reshape(self.warps, WARP_SIZE, -1)


@dataclass(frozen=True, slots=True, eq=False)
class _Cta:
    """One CTA: blockIdx of shape (1, 3), and what it finds there."""

    tables: _Tables
    index: IntArray
    advance: BlockAdvance

    @lru_cache(maxsize=4)  # noqa: B019 (the ops of a fetch follow one another, and a CTA is soon gone)
    def copies(self, operand: CopiedOperand, key_block: int, column_block: int, fetch: int) -> GlobalAccess:
        """The global accesses of one fetch."""
        return operand_access(
            self.tables.scenario, operand, self.index, key_block=key_block, column_block=column_block, fetch=fetch
        )

    @lru_cache(maxsize=4)  # noqa: B019 (as above)
    def vectors(self, column_block: int, number: int) -> OutputAccess:
        """The global accesses of one step of the epilogue."""
        return output_access(self.tables.scenario, self.index, column_block, number)


def _cta_records(tables: _Tables, slot: int, index: IntArray) -> Records:
    cta = _Cta(tables, index, block_advance(tables.scenario, index))
    steps = recorded_steps(tables.scenario, index)
    records = blank_records(slot, tables.warps, len(steps))
    for position, step in enumerate(steps):
        _fill(records[:, position], step, cta)
    return records.reshape(-1)


def _operand(step: Step) -> CopiedOperand:
    if step.phase == "pv":
        return "v"
    return "q" if getattr(step.op, "operand", "b") == "a" else "k"


def _fill(record: Records, step: Step, cta: _Cta) -> None:
    """One op in every warp. ``record`` is a view of shape [warps]."""
    tables, op = cta.tables, step.op
    record["op"] = _NUMBER[type(op)]
    match op:
        case CopyAsync(operand, fetch, access, vec, stage, zfill, cache):
            name = _operand(step)
            where = cta.copies(name, step.key_block, step.column_block, fetch)
            lanes = (tables.warps, WARP_SIZE, *where.offset.shape[2:])
            record["operand"], record["stage"] = 1 if operand == "a" else 2, stage
            record["index"], record["k_tile"] = access * lanes[-1] + vec, fetch
            record["zfill"], record["cg"] = zfill, cache == "cg"
            record["shared"] = tables.store[name][stage, :, :, access, vec]
            record["global"] = where.offset[0].reshape(lanes)[:, :, access, vec]
            valid = np.broadcast_to(where.valid, where.offset.shape)
            record["predicate"] = valid[0].reshape(lanes)[:, :, access, vec]
        case Ldmatrix(operand, k_tile, k_group, instruction, stage):
            record["operand"], record["stage"] = 1 if operand == "a" else 2, stage
            record["k_tile"], record["k_group"], record["index"] = k_tile, k_group, instruction
            name_of_load = "p" if step.phase == "pv" and operand == "a" else _operand(step)
            slot = k_tile if name_of_load == "p" else stage
            record["shared"] = tables.load[name_of_load][slot, :, k_group, instruction]
        case WarpMma(k_tile, k_group):
            record["k_tile"], record["k_group"] = k_tile, k_group
            record["index"] = tables.mma["qk" if step.phase == "qk" else "pv"]
        case WaitGroup(pending):
            record["index"] = pending
        case StoreShared() | LoadShared() | LoadSource() | StoreGlobal():
            _fill_epilogue(record, step, cta)
        case _:
            _fill_softmax(record, step, cta)


def _fill_epilogue(record: Records, step: Step, cta: _Cta) -> None:
    tables, op = cta.tables, step.op
    if not isinstance(op, StoreShared | LoadShared | LoadSource | StoreGlobal):
        raise TypeError(f"{op} is no op of an epilogue")
    record["index"], record["k_tile"] = op.access, op.step
    if isinstance(op, StoreShared):
        record["shared"] = tables.staging_stores[:, :, op.access]
    elif isinstance(op, LoadShared):
        record["shared"] = tables.staging_loads[:, :, op.access]
    else:
        output = cta.vectors(step.column_block, op.step)
        offset, valid = output.offset[0], output.valid[0]
        if isinstance(op, LoadSource) or step.phase == "buffer":
            offset, valid = buffer_access(tables.scenario, output)
        record["global"] = offset[:, op.access].reshape(tables.warps, WARP_SIZE)
        record["predicate"] = valid[:, op.access].reshape(tables.warps, WARP_SIZE)


def _fill_softmax(record: Records, step: Step, cta: _Cta) -> None:
    """Where an op has an address it lies in the record's place of a shared offset, that of a log-sum-exp as well."""
    tables, op = cta.tables, step.op
    match op:
        case AtomicMax(row):
            record["shared"] = statistic_words(tables.scenario, "fragment", row, partial=False)
        case Shuffle(_, _, mask):
            record["shared"] = mask
        case StoreP(access):
            record["shared"] = tables.p_store[:, :, access]
        case LoadStatistic(statistic, at, index) | StoreStatistic(statistic, at, index):
            partial = statistic == "partial_sum"
            array = len(ROW_STATISTICS) if partial else ROW_STATISTICS.index(statistic)
            words = statistic_words(tables.scenario, at, index, partial=partial)
            record["shared"] = array * tables.shape.qk[0] + words
            record["predicate"] = statistic_lanes(tables.scenario, at, stores=isinstance(op, StoreStatistic))
        case StoreLse(row):
            offset, valid = lse_access(tables.scenario, cta.advance, 0)
            record["shared"] = offset[:, row].reshape(tables.warps, WARP_SIZE)
            record["predicate"] = valid[:, row].reshape(tables.warps, WARP_SIZE)
        case _:
            pass
