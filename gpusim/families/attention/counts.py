"""What an attention grid executes, exactly and without running it: instructions, wavefronts by pattern, sectors."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.element_types import element_bits
from gpusim.families.attention.blocks import (
    CopiedOperand,
    KeyBlock,
    block_advance,
    key_blocks,
    launched_ctas,
    operand_access,
    output_access,
    source_parts,
)
from gpusim.families.attention.lanes import AttentionWavefronts, Tensor
from gpusim.families.attention.ops import (
    AtomicMax,
    Exponentials,
    LoadStatistic,
    Normalise,
    RescaleFactor,
    Shuffle,
    Step,
    StoreLse,
    StoreP,
    StoreStatistic,
    operand_name,
)
from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.attention.shape import AttentionShape
from gpusim.families.attention.statistics import buffer_access, lse_access
from gpusim.layout.banks import access_ideal, access_wavefronts
from gpusim.results.result import BankConflicts
from gpusim.schedule.counts import SASS_OF_OP, Counts, Sass, by_warp
from gpusim.schedule.ops import CopyAsync, Ldmatrix, LoadShared, LoadSource, StoreGlobal, StoreShared, WarpMma
from gpusim.schedule.program import cta_program
from gpusim.tile.requests import access_sectors, copy_requests
from gpusim.units import LINE_BITS

SASS_OF_SOFTMAX: dict[type, Sass] = {
    AtomicMax: "ATOMS",
    Shuffle: "SHFL",
    LoadStatistic: "LDS",
    StoreStatistic: "STS",
    StoreP: "STS",
    StoreLse: "STG",
}
"""The named machine instruction of each softmax op that has one."""

Behaviour: TypeAlias = tuple[tuple[int, bool], ...]
"""(keys, masked) of a CTA's key blocks, ascending: where two agree, the CTAs run one program."""

RowKey: TypeAlias = tuple[Literal["ldmatrix", "lds", "sts", "ldgsts", "atoms"], str]

ROWS: tuple[RowKey, ...] = (
    *(("ldmatrix", name) for name in "qkpv"),
    *(("ldgsts", name) for name in "qkv"),
    ("sts", "p"),
    ("sts", "accumulator"),
    ("lds", "accumulator"),
    ("sts", "statistics"),
    ("lds", "statistics"),
    ("atoms", "statistics"),
)
"""Bank-conflict rows in the order of a result; the last three are the row statistics'."""


def cta_blocks(scenario: AttentionScenario) -> list[tuple[KeyBlock, ...] | None]:
    """
    The key blocks of every CTA in launch order, ascending; None for one that finds no query.

    A block is masked where a score is invisible, as kernels_cuda/attention/shape.cuh has it: golden, and the schedule
    from it, mask one more, which ends where the first query's sight does.
    """
    ctas = launched_ctas(scenario)
    advance = block_advance(scenario, ctas)
    seen_by_all = advance.num_keys
    if scenario.problem.mask != "none":
        seen_by_all = np.clip(advance.query_start + advance.causal_offset + 1, 0, advance.num_keys)
    whole = seen_by_all // scenario.keys_per_block
    return [
        tuple(replace(block, masked=block.number >= int(whole[cta])) for block in key_blocks(scenario, advance, cta))
        if advance.active[cta]
        else None
        for cta in range(len(ctas))
    ]


def behaviour_of(blocks: Sequence[KeyBlock]) -> Behaviour:
    """What tells a CTA's program, of its key blocks."""
    return tuple((block.keys, block.masked) for block in blocks)


def mufu_of(step: Step, shape: AttentionShape) -> int:
    """MUFU instructions that a step needs: one for each 2^x, 1/x and log2 of a lane."""
    match step.op:
        case Exponentials():
            return shape.qk_warp[1] // 4
        case RescaleFactor():
            return shape.rows_of_lane if shape.flash else 1
        case Normalise() | StoreLse():
            return 1
        case LoadStatistic("sum", "output"):
            return 1
    return 0


def attention_executed(scenario: AttentionScenario) -> Counts:
    """
    Count what every CTA of the grid executes, from its program and the lane addresses.

    Not modelled: instructions around the named ops, and spills.
    """
    tally = _Tally(scenario)
    groups: dict[Behaviour, list[int]] = {}
    blocks = cta_blocks(scenario)
    for cta, walked in enumerate(blocks):
        if walked is not None:
            groups.setdefault(behaviour_of(walked), []).append(cta)
    for ctas in groups.values():
        tally.add_program(cta_program(scenario, blocks[ctas[0]] or ()).steps, ctas)
    return tally.counts(len(blocks))


@dataclass(frozen=True, slots=True)
class _Fetch:
    """
    One fetch of a copied operand, of one CTA and key block.

    Attributes:
        rows: Queries or keys that it brings.
        phase: Where in a line of 128 bytes the operand begins.
        stage: Slot that is written.
        zfill: Whether rows past these are filled with zeros.
    """

    operand: CopiedOperand
    column_block: int
    number: int
    rows: int
    phase: int
    stage: int
    zfill: bool


class _Tally:
    """Totals over programs and their CTAs; equal fetches are evaluated once and multiplied."""

    def __init__(self, scenario: AttentionScenario) -> None:
        self.scenario = scenario
        self.places = launched_ctas(scenario)
        self.advance = block_advance(scenario, self.places)
        self.of = AttentionWavefronts(scenario)
        self.instructions: Counter[Sass] = Counter(dict.fromkeys((*SASS_OF_OP.values(), *SASS_OF_SOFTMAX.values()), 0))
        self.instructions["MUFU"] = 0
        self.rows: dict[RowKey, list[int]] = {key: [0, 0, 0] for key in ROWS}
        self.sectors: Counter[str] = Counter(q=0, k=0, v=0, buffer=0)
        self.returns = 0
        self.stored = 0
        self._fetches: dict[_Fetch, tuple[int, int, int, int]] = {}
        self._outputs: dict[tuple[int, ...], tuple[int, int]] = {}

    def add_program(self, steps: Sequence[Step], ctas: Sequence[int]) -> None:
        """The CTAs that run one program."""
        for (phase, op), count in Counter((step.phase, step.op) for step in steps).items():
            self._add_step(Step(phase, 0, 0, op), count * len(ctas))
        fetches = [step for step in steps if isinstance(step.op, CopyAsync) and step.op.access == step.op.vec == 0]
        loaded = sum(isinstance(step.op, LoadSource) for step in steps)
        kept = sum(isinstance(step.op, StoreGlobal) and step.phase == "buffer" for step in steps)
        passed = self.of.tile.steps * self.of.tile.accesses_per_step * source_parts(self.scenario)
        loads, stores = (each // (passed * self.of.shape.column_blocks) for each in (loaded, kept))
        for cta in ctas:
            for step in fetches:
                self._add_fetch(step, cta)
            output, buffer = self._stored(cta)
            self.stored += output + stores * buffer
            self.sectors["buffer"] += loads * buffer

    def _add_step(self, step: Step, count: int) -> None:
        shape, op = self.of.shape, step.op
        if isinstance(op, WarpMma):
            m, n, _ = self.scenario.instruction
            warp = shape.qk_warp if step.phase == "qk" else shape.pv_warp
            self.instructions["HMMA"] += count * self.of.warps * (warp[0] // m) * (warp[1] // n)
        else:
            sass = SASS_OF_OP.get(type(op)) or SASS_OF_SOFTMAX.get(type(op))  # type: ignore[arg-type]
            if sass is not None:
                self.instructions[sass] += count * self.of.warps
        self.instructions["MUFU"] += count * self.of.warps * mufu_of(step, shape)
        found = self._pattern(step)
        if found is not None:
            key, wavefronts, ideal = found
            _add(self.rows[key], count * self.of.warps, count * sum(wavefronts), count * ideal)

    def _pattern(self, step: Step) -> tuple[RowKey, tuple[int, ...], int] | None:
        """A shared access's row, wavefronts by warp, and those of all warps without conflicts."""
        of, op = self.of, step.op
        found: tuple[RowKey, tuple[int, ...], int] | None = None
        match op:
            case Ldmatrix():
                name: Tensor = operand_name(step.phase, op.operand)  # type: ignore[assignment]
                found = ("ldmatrix", name), of.fragment(name, op), of.warps * of.fragment_ideal(name)
            case StoreP(access):
                found = ("sts", "p"), of.store_p(access), of.warps
            case StoreShared():
                found = ("sts", "accumulator"), of.staging(op), of.warps * of.staging_ideal(op)
            case LoadShared():
                found = ("lds", "accumulator"), of.staging(op), of.warps * of.staging_ideal(op)
            case LoadStatistic():
                found = ("lds", "statistics"), of.statistic(op), of.statistic_ideal(op)
            case StoreStatistic():
                found = ("sts", "statistics"), of.statistic(op), of.statistic_ideal(op)
            case AtomicMax():
                found = ("atoms", "statistics"), of.atomic(op), of.warps
        return found

    def _add_fetch(self, step: Step, cta: int) -> None:
        """All copies of one fetch by one CTA: sectors, and the shared side."""
        op = step.op
        assert isinstance(op, CopyAsync)  # noqa: S101 - ``add_program`` chose it
        operand: CopiedOperand = operand_name(step.phase, op.operand)  # type: ignore[assignment]
        if operand == "q":
            rows, base = min(self.scenario.queries_per_block, int(self.advance.num_queries[cta])), self.advance.q[cta]
        else:
            first = step.key_block * self.scenario.keys_per_block
            rows = min(self.scenario.keys_per_block, int(self.advance.num_keys[cta]) - first)
            base = (self.advance.k if operand == "k" else self.advance.v)[cta]
        line = LINE_BITS // element_bits(self.scenario.problem.dtype.ab)
        fetch = _Fetch(operand, step.column_block, op.fetch, rows, int(base) % line, op.stage, op.zfill)
        if fetch not in self._fetches:
            self._fetches[fetch] = self._evaluate(fetch, op, cta, step.key_block)
        sectors, returns, wavefronts, ideal = self._fetches[fetch]
        self.sectors[operand] += sectors
        self.returns += returns
        _add(self.rows["ldgsts", operand], self.of.copies_of(operand) * self.of.warps, wavefronts, ideal)

    def _evaluate(self, fetch: _Fetch, op: CopyAsync, cta: int, key_block: int) -> tuple[int, int, int, int]:
        """(sectors, line returns, wavefronts, ideal wavefronts) of all copies of a fetch."""
        operand = fetch.operand
        access = operand_access(
            self.scenario,
            operand,
            self.places[cta : cta + 1],
            key_block=max(0, key_block),
            column_block=fetch.column_block,
            fetch=fetch.number,
        )
        bits, width = element_bits(self.scenario.problem.dtype.ab), self.of.width(operand)
        addresses = self.of.copy_addresses(operand, fetch.stage)
        offset, valid = by_warp(access.offset[0]), by_warp(access.valid[0])
        asked = copy_requests(offset, addresses * 8 // bits, valid, bits, width, around_l1=op.cache == "cg")
        writing = np.ones_like(valid) if fetch.zfill else valid
        wavefronts = int(access_wavefronts(addresses, width, writing).sum())
        return int(asked.sectors.sum()), int(asked.returns.sum()), wavefronts, int(access_ideal(width, writing).sum())

    def _stored(self, cta: int) -> tuple[int, int]:
        """Sectors of one CTA's output and log-sum-exp, and of one pass over its part of the buffer."""
        tile, advance = self.of.tile, self.advance
        line = LINE_BITS // element_bits("f32")
        rows = min(self.scenario.queries_per_block, int(advance.num_queries[cta]))
        alike = (rows, int(advance.o[cta]) % line, int(advance.lse[cta]) % line)
        if alike not in self._outputs:
            output = buffer = 0
            for column in range(self.of.shape.column_blocks):
                for step in range(tile.steps):
                    access = output_access(self.scenario, self.places[cta : cta + 1], column, step)
                    output += self._sectors(
                        access.offset[0], access.valid[0], tile.output_bits, tile.elements_per_access
                    )
                    if not self.scenario.in_registers:
                        buffer += self._sectors(*buffer_access(self.scenario, access), element_bits("f32"), 4)
            output += self._sectors(*lse_access(self.scenario, advance, cta), element_bits("f32"), 1)
            self._outputs[alike] = output, buffer
        return self._outputs[alike]

    @staticmethod
    def _sectors(offset: IntArray, valid: BoolArray, bits: int, elements: int) -> int:
        """Of arrays [threads, accesses]."""
        return access_sectors(by_warp(offset[..., None]), by_warp(valid[..., None]), bits, elements)

    def counts(self, ctas: int) -> Counts:
        """The totals; rows that the schedule does not have are left out."""
        made = {key: found for key, found in self.rows.items() if found[0]}
        return Counts(
            ctas=ctas,
            warps=self.of.warps,
            instructions=dict(self.instructions),
            load_sectors=dict(self.sectors),
            line_returns=self.returns,
            store_sectors=self.stored,
            bank_conflicts=tuple(
                BankConflicts(op, operand, requests, wavefronts, ideal, wavefronts - ideal)
                for (op, operand), (requests, wavefronts, ideal) in made.items()
            ),
        )


def _add(totals: list[int], *amounts: int) -> None:
    for index, amount in enumerate(amounts):
        totals[index] += amount
