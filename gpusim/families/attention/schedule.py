"""An attention kernel as a schedule: the program of each CTA, and the grid's accesses to global memory."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np

from gpusim.arrays import IntArray
from gpusim.element_types import element_bits
from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.attention.program import softmax
from gpusim.families.attention.program.chained import attention_program
from gpusim.families.attention.program.flash import flash_program
from gpusim.families.attention.program.step import OP_KINDS, AttentionProgram, Step
from gpusim.families.attention.tile.attention_lanes import AttentionCta, AttentionLanes
from gpusim.families.attention.tile.blocks import (
    Behaviour,
    KeyBlock,
    attention_grid,
    block_advance,
    cta_blocks,
    launched_ctas,
)
from gpusim.families.attention.tile.operands import COPIED, GEMMS, PLACE_OF
from gpusim.families.attention.tile.shape import AttentionShape, attention_shape
from gpusim.machine import Machine, load_machine
from gpusim.schedule.counts import ConflictRow, CountedKernel, GlobalCounts, GridProgram
from gpusim.schedule.kernel import Fill, FragmentTile, Stamped
from gpusim.schedule.lanes import Lanes
from gpusim.schedule.ops import CopyAsync, Ldmatrix, LoadSource, SassOpcode, StoreGlobal
from gpusim.tile.requests import access_sectors, copy_requests
from gpusim.tile.shared_tables import copy_table, over_warps
from gpusim.units import LINE_BITS, WARP_SIZE

_ROWS: dict[type, ConflictRow] = {
    softmax.StoreP: ConflictRow((1, len(COPIED)), "sts", "p"),
    softmax.StoreStatistic: ConflictRow((3, 0), "sts", "statistics"),
    softmax.LoadStatistic: ConflictRow((3, 1), "lds", "statistics"),
    softmax.AtomicMax: ConflictRow((3, 2), "atoms", "statistics"),
}

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

    op_kinds = OP_KINDS
    operand_names = tuple(PLACE_OF)
    copied = COPIED

    def __init__(self, scenario: AttentionScenario, machine: Machine | None = None) -> None:
        self.scenario, self.shape = scenario, attention_shape(scenario)
        self.machine = machine or load_machine(scenario.machine)
        self._program = lru_cache(maxsize=256)(lambda walked: cta_program(scenario, walked))

    @property
    def grid(self) -> tuple[int, int, int]:
        """gridDim: query blocks along x, heads along y, batches along z."""
        return attention_grid(self.scenario)

    @cached_property
    def _lanes(self) -> AttentionLanes:
        return AttentionLanes(self.scenario, self.banks)

    def lanes(self) -> AttentionLanes:
        """Return the addresses of all CTAs, with the wavefronts that they take in the machine's banks."""
        return self._lanes

    def walked_blocks(self, block: int) -> tuple[KeyBlock, ...]:
        """Return the key blocks of a CTA, ascending; empty for a CTA without queries."""
        return self.blocks[block] or ()

    @cached_property
    def blocks(self) -> tuple[tuple[KeyBlock, ...] | None, ...]:
        """The key blocks of every CTA; None for a CTA without queries."""
        return cta_blocks(self.scenario)

    def steps(self, block: int) -> AttentionProgram:
        """Return both GEMMs of each key block, the softmax between them, then the output."""
        return self._program(self.walked_blocks(block))

    def steps_before_epilogue(self, block: int) -> Sequence[Step]:
        """Return the steps before the epilogue, without steps that store the output or a part of it."""
        return [step for step in self.steps(block) if step.phase in _BEFORE_EPILOGUE]

    def epilogue_steps(self, block: int) -> Sequence[Step]:
        """Return the steps that store the output from the accumulators; steps that store to the buffer are excluded."""
        return [step for step in self.steps(block) if step.phase == "epilogue"]

    def fills(self, block: int, operand: str) -> Sequence[Fill]:
        """Return every fetch of Q, K or V, or the stores of P in every key block."""
        lanes = self.lanes()
        filling = (step for step in self.steps(block) if isinstance(step.op, CopyAsync | softmax.StoreP))
        own = (step for step in filling if lanes.operand_name(step) == operand)
        return tuple(dict.fromkeys(Fill(lanes.target(step), getattr(step.op, "stage", 0)) for step in own))

    def fragments(self, block: int, operand: str) -> Sequence[FragmentTile]:
        """Return the k tiles of all key blocks. P is stored whole, by k tile."""
        lanes, found = self.lanes(), dict[tuple[tuple[int, ...], int], list[int]]()
        for step in self.steps(block):
            op = step.op
            if isinstance(op, Ldmatrix) and op.instruction == 0 and lanes.operand_name(step) == operand:
                found.setdefault((lanes.k_tile(step), op.stage), []).append(op.k_group)
        return tuple(FragmentTile(slot, groups) for (_, slot), groups in found.items())

    def missing_work(self, block: int) -> str:
        """Return "no query" for a block past its batch's queries, otherwise an empty string."""
        return "no query" if self.blocks[block] is None else ""

    @property
    def traced_blocks(self) -> tuple[int, ...]:
        """The first, the middle and the last of the CTAs that have a query."""
        active = [block for block, walked in enumerate(self.blocks) if walked is not None]
        return tuple(sorted({active[0], active[len(active) // 2], active[-1]})) if active else ()

    @property
    def stamped(self) -> Stamped:
        """Key blocks that a timeline build stamps: those of a CTA with most key blocks, in head 0 of batch 0."""
        x, _, _ = self.grid
        block = max(range(x), key=lambda cta: (len(self.walked_blocks(cta)), -cta))
        warps, beyond = self.shape.threads // WARP_SIZE, self.shape.compiled_stages
        return Stamped(block, warps, len(GEMMS), 1, beyond, descending=self.scenario.flash)

    def behaviour(self, cta: int) -> Behaviour | None:
        """Return keys and masking of each key block of a CTA; None for a CTA without queries, which ends at once."""
        return self._behaviours[cta]

    @cached_property
    def _behaviours(self) -> list[Behaviour | None]:
        """The behaviour of every CTA. CTAs with equal walks have equal behaviour."""
        of = cache(lambda walked: tuple((block.keys, block.masked) for block in walked))
        return [None if walked is None else of(walked) for walked in self.blocks]

    @cached_property
    def alike(self) -> dict[Behaviour, list[int]]:
        """The CTAs of each program."""
        found: dict[Behaviour, list[int]] = {}
        for cta in range(self.ctas):
            behaviour = self.behaviour(cta)
            if behaviour is not None:
                found.setdefault(behaviour, []).append(cta)
        return found

    def programs(self) -> Iterable[GridProgram[Step]]:
        """Yield one program for each sequence of key blocks."""
        for ctas in self.alike.values():
            yield GridProgram(self.steps(ctas[0]), len(ctas))

    def beside(self, step: Step) -> Mapping[SassOpcode, int]:
        """Return the MUFU instructions of exponentials, reciprocals and logarithms."""
        return {"MUFU": mufu_of(step, self.shape)}

    def row(self, step: Step, lanes: Lanes[Step]) -> ConflictRow | None:
        """Return the row of the counts' table for an access of a GEMM, of P or of a row statistic."""
        return _ROWS.get(type(step.op)) or super().row(step, lanes)

    def global_counts(self) -> GlobalCounts:
        """Count the accesses to Q, K, V, output, log-sum-exp and, if there is one, the buffer."""
        return _GlobalTally(self).counts()


class _GlobalTally:
    """Adds up the global accesses of all CTAs. Like fetches, and like rows of outputs, are evaluated once."""

    def __init__(self, kernel: FusedKernel) -> None:
        self.kernel, self.scenario, self.lanes = kernel, kernel.scenario, kernel.lanes()
        self.places = launched_ctas(self.scenario)
        self.advance = block_advance(self.scenario, self.places)
        self._cta = lru_cache(maxsize=16)(lambda cta: AttentionCta(self.lanes, self.places[cta : cta + 1], ()))
        self._known: dict[tuple[Any, ...], IntArray] = {}

    def counts(self) -> GlobalCounts:
        """Return the totals of all programs."""
        # Sectors, line returns, and where invalid lanes write nothing wavefronts and ideal wavefronts.
        totals: dict[str, IntArray] = {name: np.zeros(4, np.int64) for name in (*COPIED, "buffer", "stored")}
        for ctas in self.kernel.alike.values():
            alike = np.array(ctas, dtype=np.int64)
            for (name, row, number, op), times in Counter(self._asked(ctas[0])).items():
                totals[name] += times * self._of_ctas(row, number, op, alike)
        stored, *_ = totals.pop("stored").tolist()
        loaded = {name: figures.tolist() for name, figures in totals.items()}
        sectors = {name: figures[0] for name, figures in loaded.items()}
        predicated = {name: (figures[2], figures[3]) for name, figures in loaded.items()}
        return GlobalCounts(sectors, sum(figures[1] for figures in loaded.values()), stored, predicated)

    def _asked(self, cta: int) -> Iterator[tuple[str, int, int, CopyAsync | None]]:
        """Yield each fetch of a CTA's program by tensor, row, number and first op, and each row of outputs, 0, None."""
        for step in self.kernel.steps(cta):
            if isinstance(step.op, CopyAsync) and step.op.access == step.op.vec == 0:
                yield self.lanes.operand_name(step), *self.lanes.target(step), step.op
            elif isinstance(step.op, LoadSource | StoreGlobal | softmax.StoreLse):
                row, access = self.lanes.target(step)
                if access == 0:
                    yield "buffer" if isinstance(step.op, LoadSource) else "stored", row, 0, None

    def _of_ctas(self, row: int, number: int, op: CopyAsync | None, ctas: IntArray) -> IntArray:
        """Return the counts of some CTAs. CTAs are alike if their rows have equal numbers and offsets in a line."""
        tensor = self.lanes.rows[row][0] if op else "o" if row else "lse"
        bits = self.lanes.operands[tensor].bits if op else element_bits("f32")
        most, left = self.scenario.queries_per_block, self.advance.num_queries[ctas]
        if tensor in ("k", "v"):
            most = self.scenario.keys_per_block
            left = self.advance.num_keys[ctas] - number * most
        kinds = np.minimum(most, left) * LINE_BITS + getattr(self.advance, tensor)[ctas] * bits % LINE_BITS
        kinds, first, counts = np.unique(kinds, return_index=True, return_counts=True)
        total = np.zeros(4, np.int64)
        for kind, index, times in zip(kinds.tolist(), first.tolist(), counts.tolist(), strict=True):
            alike = row, op and (op.stage, op.zfill), kind
            if alike not in self._known:
                self._known[alike] = self._evaluated(row, number, op, self._cta(int(ctas[index])))
            total += times * self._known[alike]
        return total

    def _evaluated(self, row: int, number: int, op: CopyAsync | None, cta: AttentionCta) -> IntArray:
        """Return the counts of all copies of one fetch, or of a row of outputs, by one CTA."""
        if op is None:
            own = cta.output_rows[row]
            offset, valid = over_warps(own.offset), over_warps(own.valid)
            return np.array([access_sectors(offset, valid, own.bits, own.access_bytes * 8 // own.bits), 0, 0, 0])
        table = copy_table(self.lanes.operands[self.lanes.rows[row][0]], self.lanes.banks)
        access, target = cta.fetched(row, number), table.offsets[op.stage]
        offset, valid = over_warps(access.offset), over_warps(access.valid)
        around_l1 = op.cache == "cg"
        asked = copy_requests(offset, target, valid, table.bits, table.width, around_l1=around_l1, banks=table.banks)
        taken = table.predicated(op.stage, valid)
        shared = (0, 0) if op.zfill else (taken.wavefronts.sum(), taken.ideal.sum())
        return np.array([asked.sectors.sum(), asked.returns.sum(), *shared], dtype=np.int64)


def kernels(scenario: AttentionScenario) -> tuple[CountedKernel[Step], ...]:
    """Return the one kernel of a scenario."""
    return (FusedKernel(scenario),)
