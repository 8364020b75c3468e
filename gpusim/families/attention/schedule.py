"""An attention kernel as a schedule: which program each CTA executes, and what its grid asks of global memory."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import ClassVar, get_args

import numpy as np

from gpusim.arrays import IntArray
from gpusim.element_types import element_bits
from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.attention.program import softmax
from gpusim.families.attention.program.chained import attention_program
from gpusim.families.attention.program.flash import flash_program
from gpusim.families.attention.program.step import AttentionProgram, Step
from gpusim.families.attention.tile.blocks import (
    Behaviour,
    KeyBlock,
    attention_grid,
    behaviour_of,
    block_advance,
    cta_blocks,
    launched_ctas,
)
from gpusim.families.attention.tile.lanes import AttentionCta, AttentionLanes
from gpusim.families.attention.tile.operands import COPIED, PLACE_OF
from gpusim.families.attention.tile.shape import AttentionShape, attention_shape
from gpusim.schedule.counts import SASS_OF_OP, ConflictRow, CountedKernel, GlobalCounts, GridProgram, SassOpcode
from gpusim.schedule.kernel import Fill, FragmentTile
from gpusim.schedule.lanes import GlobalRow, Lanes
from gpusim.schedule.ops import CopyAsync, Ldmatrix, LoadSource, Op, StoreGlobal
from gpusim.tile.global_access import GlobalAccess
from gpusim.tile.lanes import STANDARD, Banks, copy_table, over_warps
from gpusim.tile.operand import Operand
from gpusim.tile.requests import access_sectors, copy_requests
from gpusim.units import LINE_BITS

SASS_OF_SOFTMAX: dict[type, SassOpcode] = {
    softmax.AtomicMax: "ATOMS",
    softmax.Shuffle: "SHFL",
    softmax.LoadStatistic: "LDS",
    softmax.StoreStatistic: "STS",
    softmax.StoreP: "STS",
    softmax.StoreLse: "STG",
}
"""The named machine instruction of each softmax op that has one."""

SOFTMAX_ARITHMETIC = tuple(kind for kind in get_args(softmax.SoftmaxOp) if kind not in SASS_OF_SOFTMAX)
"""Ops between registers, which a trace leaves out."""

_ROWS: dict[type, ConflictRow] = {
    softmax.StoreP: ConflictRow((1, len(COPIED)), "sts", "p"),
    softmax.StoreStatistic: ConflictRow((3, 0), "sts", "statistics"),
    softmax.LoadStatistic: ConflictRow((3, 1), "lds", "statistics"),
    softmax.AtomicMax: ConflictRow((3, 2), "atoms", "statistics"),
}

_OUTPUT_OPS = (LoadSource, StoreGlobal, softmax.StoreLse)

_BEFORE_EPILOGUE = ("start", "qk", "softmax", "pv", "normalise")


def cta_program(scenario: AttentionScenario, blocks: Sequence[KeyBlock]) -> AttentionProgram:
    """Return the steps of a CTA that walks these key blocks, given in ascending order."""
    return flash_program(scenario, blocks) if scenario.flash else attention_program(scenario, blocks)


def mufu_of(step: Step, shape: AttentionShape) -> int:
    """Return the MUFU instructions that a step needs: one for each 2^x, 1/x and log2 of a lane."""
    match step.op:
        case softmax.Exponentials():
            return shape.scores_of_row
        case softmax.RescaleFactor():
            return shape.rows_of_lane if shape.flash else 1
        case softmax.Normalise() | softmax.StoreLse():
            return 1
        case softmax.LoadStatistic("sum", "output"):
            return 1
    return 0


class FusedKernel(CountedKernel[Step]):
    """The kernel of an attention scenario."""

    op_kinds = (*get_args(Op), *get_args(softmax.SoftmaxOp))
    operand_names = tuple(PLACE_OF)
    copied = COPIED
    opcodes: ClassVar[Mapping[type, SassOpcode]] = SASS_OF_OP | SASS_OF_SOFTMAX

    def __init__(self, scenario: AttentionScenario) -> None:
        self.scenario, self.shape = scenario, attention_shape(scenario)
        self._lanes = lru_cache(maxsize=2)(lambda banks: AttentionLanes(scenario, banks))
        self._program = lru_cache(maxsize=256)(lambda walked: cta_program(scenario, walked))

    @property
    def grid(self) -> tuple[int, int, int]:
        """gridDim: query blocks along x, heads along y, batches along z."""
        return attention_grid(self.scenario)

    def lanes(self, banks: Banks = STANDARD) -> AttentionLanes:
        """Return the addresses of all CTAs."""
        return self._lanes(banks)

    def walked_blocks(self, block: int) -> tuple[KeyBlock, ...]:
        """Return the key blocks of a CTA, ascending; none where it finds no query."""
        return cta_blocks(self.scenario)[block] or ()

    def steps(self, block: int) -> AttentionProgram:
        """Return both GEMMs of each key block, the softmax between them, then the output."""
        return self._program(self.walked_blocks(block))

    def steps_before_epilogue(self, block: int) -> Sequence[Step]:
        """Return all steps but those that bring the output, or a part of it, to global memory."""
        return [step for step in self.steps(block) if step.phase in _BEFORE_EPILOGUE]

    def epilogue_steps(self, block: int) -> Sequence[Step]:
        """Return the steps that bring the output from the accumulators to global memory; not those to the buffer."""
        return [step for step in self.steps(block) if step.phase == "epilogue"]

    def traced_steps(self, block: int) -> Sequence[Step]:
        """Return the steps that have an address, or a place among the copies and barriers."""
        return [step for step in self.steps(block) if not isinstance(step.op, SOFTMAX_ARITHMETIC)]

    def fills(self, block: int, operand: str) -> Sequence[Fill]:
        """Return every fetch of Q, K or V; of P its stores of every key block."""
        lanes = self.lanes()
        filling = (step for step in self.steps(block) if isinstance(step.op, CopyAsync | softmax.StoreP))
        own = (step for step in filling if lanes.operand_name(step) == operand)
        return tuple(dict.fromkeys(Fill(lanes.target(step), getattr(step.op, "stage", 0)) for step in own))

    def fragments(self, block: int, operand: str) -> Sequence[FragmentTile]:
        """Return the k tiles of all key blocks; P lies whole, by k tile."""
        lanes, found = self.lanes(), dict[tuple[tuple[int, ...], int], list[int]]()
        for step in self.steps(block):
            op = step.op
            if isinstance(op, Ldmatrix) and op.instruction == 0 and lanes.operand_name(step) == operand:
                found.setdefault((lanes.k_tile(step), op.stage), []).append(op.k_group)
        return tuple(FragmentTile(slot, groups) for (_, slot), groups in found.items())

    def missing_work(self, block: int) -> str:
        """Say that a block past its batch's queries has none."""
        return "no query" if cta_blocks(self.scenario)[block] is None else ""

    @property
    def traced_blocks(self) -> tuple[int, ...]:
        """The first, the middle and the last of the CTAs that have a query."""
        active = [block for block, walked in enumerate(cta_blocks(self.scenario)) if walked is not None]
        return tuple(sorted({active[0], active[len(active) // 2], active[-1]})) if active else ()

    @property
    def ctas(self) -> int:
        """CTAs of the grid, those without a query among them."""
        return len(cta_blocks(self.scenario))

    @cached_property
    def alike(self) -> dict[Behaviour, list[int]]:
        """The CTAs of each program."""
        found: dict[Behaviour, list[int]] = {}
        for cta, walked in enumerate(cta_blocks(self.scenario)):
            if walked is not None:
                found.setdefault(behaviour_of(walked), []).append(cta)
        return found

    def programs(self) -> Iterable[GridProgram[Step]]:
        """Yield one program for each sequence of key blocks."""
        for ctas in self.alike.values():
            yield GridProgram(self.steps(ctas[0]), len(ctas))

    def beside(self, step: Step) -> Mapping[SassOpcode, int]:
        """Return the MUFU instructions of exponentials, reciprocals and logarithms."""
        return {"MUFU": mufu_of(step, self.shape)}

    def row(self, step: Step, lanes: Lanes[Step]) -> ConflictRow | None:
        """Return the row of a GEMM's access, or of one of P or of a row statistic."""
        return _ROWS.get(type(step.op)) or super().row(step, lanes)

    def global_counts(self) -> GlobalCounts:
        """Count the accesses of Q, K and V, of the buffer where there is one, of output and log-sum-exp."""
        return _GlobalTally(self).counts()


class _GlobalTally:
    """Adds up what all CTAs ask of global memory; fetches and outputs that are alike are evaluated once."""

    def __init__(self, kernel: FusedKernel) -> None:
        self.kernel, self.scenario, self.lanes = kernel, kernel.scenario, kernel.lanes()
        self.places = launched_ctas(self.scenario)
        self.advance = block_advance(self.scenario, self.places)
        # Sectors, line returns, and where invalid lanes write nothing wavefronts and ideal wavefronts.
        self.copied: dict[str, IntArray] = {tensor: np.zeros(4, np.int64) for tensor in COPIED}
        self.stored = self.buffered = 0
        self._fetches: dict[tuple[int, ...], IntArray] = {}
        self._outputs: dict[tuple[int, ...], list[int]] = {}

    def counts(self) -> GlobalCounts:
        """Return the totals of all programs."""
        for ctas in self.kernel.alike.values():
            steps = self.kernel.steps(ctas[0])
            for step in steps:
                if isinstance(step.op, CopyAsync) and step.op.access == step.op.vec == 0:
                    self._add_fetch(step, step.op, np.array(ctas, dtype=np.int64))
            self._add_outputs(steps, ctas)
        totals = {tensor: figures.tolist() for tensor, figures in self.copied.items()}
        sectors = {tensor: figures[0] for tensor, figures in totals.items()}
        returns = sum(figures[1] for figures in totals.values())
        predicated = {tensor: (figures[2], figures[3]) for tensor, figures in totals.items()}
        return GlobalCounts(sectors | {"buffer": self.buffered}, returns, self.stored, predicated)

    def _add_fetch(self, step: Step, op: CopyAsync, ctas: IntArray) -> None:
        """Add all copies of one fetch by some CTAs; alike are those with as many rows, as far into a 128-byte line."""
        row, number = self.lanes.target(step)
        tensor, per_block = self.lanes.rows[row][0], self.scenario.keys_per_block
        base, left = getattr(self.advance, tensor)[ctas], self.advance.num_keys[ctas] - step.key_block * per_block
        if tensor == "q":
            left, per_block = self.advance.num_queries[ctas], self.scenario.queries_per_block
        kinds = np.stack([np.minimum(per_block, left), base % (LINE_BITS // self.lanes.operands[tensor].bits)])
        kinds, first, counts = np.unique(kinds, axis=1, return_index=True, return_counts=True)
        for kind, index, times in zip(kinds.T.tolist(), first.tolist(), counts.tolist(), strict=True):
            alike = row, op.stage, op.zfill, *kind
            if alike not in self._fetches:
                access = self._cta(int(ctas[index])).fetched(row, number)
                self._fetches[alike] = self._evaluated(op, self.lanes.operands[tensor], access)
            self.copied[tensor] += times * self._fetches[alike]

    def _evaluated(self, op: CopyAsync, operand: Operand, access: GlobalAccess) -> IntArray:
        """Return the figures of ``copied`` for all copies of one fetch."""
        table, valid = copy_table(operand), over_warps(access.valid)
        target, width = table.offsets[op.stage], table.width
        asked = copy_requests(over_warps(access.offset), target, valid, operand.bits, width, around_l1=op.cache == "cg")
        taken = table.predicated(op.stage, valid)
        shared = (0, 0) if op.zfill else (taken.wavefronts.sum(), taken.ideal.sum())
        return np.array([asked.sectors.sum(), asked.returns.sum(), *shared], dtype=np.int64)

    def _add_outputs(self, steps: Sequence[Step], ctas: Sequence[int]) -> None:
        """Add outputs, log-sum-exps, and all passes over the buffer of the CTAs that run one program."""
        targets = [(step, *self.lanes.target(step)) for step in steps if isinstance(step.op, _OUTPUT_OPS)]
        loads = Counter(row for step, row, access in targets if not access and isinstance(step.op, LoadSource))
        stores = Counter(row for step, row, access in targets if not access and not isinstance(step.op, LoadSource))
        for cta in ctas:
            sectors = self._sectors(cta)
            self.stored += sum(times * sectors[row] for row, times in stores.items())
            self.buffered += sum(times * sectors[row] for row, times in loads.items())

    def _sectors(self, cta: int) -> list[int]:
        """Return the sectors of a CTA's outputs by row; CTAs with as many rows, as far into a line, are alike."""
        line, advance = LINE_BITS // element_bits("f32"), self.advance
        rows = min(self.scenario.queries_per_block, int(advance.num_queries[cta]))
        alike = rows, int(advance.o[cta]) % line, int(advance.lse[cta]) % line
        if alike not in self._outputs:
            self._outputs[alike] = list(map(_sectors, self._cta(cta).outputs()))
        return self._outputs[alike]

    def _cta(self, cta: int) -> AttentionCta:
        return AttentionCta(self.lanes, self.places[cta : cta + 1], ())


def _sectors(row: GlobalRow) -> int:
    """Return the sectors that all warps of a CTA request in a row of accesses."""
    offset, valid = over_warps(row.offset), over_warps(row.valid)
    return access_sectors(offset, valid, row.bits, row.access_bytes * 8 // row.bits)


def kernels(scenario: AttentionScenario) -> tuple[CountedKernel[Step], ...]:
    """Return the one kernel of a scenario."""
    return (FusedKernel(scenario),)
