"""Computes the address of each lane of an attention CTA for each step of both GEMMs and of the softmax."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from gpusim.arrays import IntArray
from gpusim.element_types import element_bits
from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.attention.program import softmax
from gpusim.families.attention.program.step import Step
from gpusim.families.attention.tile import blocks
from gpusim.families.attention.tile.operands import (
    COPIED,
    GEMMS,
    PLACE_OF,
    TENSOR_AT,
    CopiedTensor,
    attention_operand,
    p_store_offsets,
)
from gpusim.families.attention.tile.shape import ROW_STATISTICS, attention_shape
from gpusim.families.attention.tile.statistics import buffer_access, lse_access, statistic_lanes, statistic_words
from gpusim.layout.banks import STANDARD, Banks
from gpusim.schedule.lanes import CtaLanes, Fetches, GlobalRow, Lanes, Reached, Shared, at_access, at_output
from gpusim.schedule.ops import CopyAsync, LoadSource, StoreGlobal
from gpusim.tile.global_access import GlobalAccess, packed
from gpusim.tile.operand import SIDES, Operand
from gpusim.tile.shared_tables import SharedTable, over_warps
from gpusim.units import LINE_BITS, VECTOR_BITS, WARP_SIZE, WORD_BYTES


@dataclass(frozen=True, eq=False)
class AtomicTable(SharedTable):
    """Atomic maxima of words. Lanes of the same bank are served one after another (D31)."""

    @cached_property
    def wavefronts(self) -> IntArray:
        """Number of lanes in the fullest bank, shape [warps]."""
        banks = self.banks.bank_of(self.addresses)
        return np.array([int(np.bincount(lanes).max()) for lanes in banks], dtype=np.int64)

    @cached_property
    def ideal(self) -> IntArray:
        """One wavefront for each warp, shape [warps]."""
        return np.ones_like(self.wavefronts)


class AttentionLanes(Lanes[Step]):
    """The addresses of an attention kernel, by the steps of its programs."""

    def __init__(self, scenario: AttentionScenario, banks: Banks = STANDARD) -> None:
        self.scenario, self.shape = scenario, attention_shape(scenario)
        operands: dict[str, Operand] = {tensor: attention_operand(scenario, tensor) for tensor in PLACE_OF}
        super().__init__(operands, blocks.attention_epilogue(scenario), self.shape.threads // WARP_SIZE, banks)
        self.shared_base = self.shape.operand_base
        self.staging_base = self.shape.staging_base
        self._statistic = lru_cache(maxsize=None)(self._statistic_table)

    def op(self, step: Step) -> Any:
        """Return the op of a step."""
        return step.op

    def operand_name(self, step: Step) -> str:
        """Return q, k, p or v."""
        return "p" if isinstance(step.op, softmax.StoreP) else TENSOR_AT[step.phase, step.op.operand]  # type: ignore[union-attr]

    def mmas(self, step: Step) -> int:
        """Return the mma.sync of a warp-level MMA of either GEMM."""
        return self.shape.tiling(step.phase).mmas

    def factors(self, step: Step) -> tuple[str | None, str]:
        """Return the operands of either GEMM; flash has P in registers."""
        a, b = (TENSOR_AT[step.phase, side] for side in SIDES)
        return (None if self.shape.flash and a == "p" else a), b

    def storing(self, step: Step) -> Step:
        """Return a step that stores the elements of a ``LoadShared`` to the output or to the buffer."""
        stored = super().storing(step)
        parts = blocks.source_parts(self.scenario) if step.phase == "buffer" else 1
        return replace(step, op=replace(stored, access=stored.access * parts))

    def base(self, step: Step) -> int:
        """Return the byte of the CTA's shared memory from which a step's shared offsets count."""
        match step.op:
            case softmax.StoreP():
                return self.shared_base["p"]
            case softmax.AtomicMax() | softmax.StatisticAccess():
                return 0
            case _:
                return super().base(step)

    def k_tile(self, step: Step) -> tuple[int, ...]:
        """Return GEMM, key block, column block and k tile of the GEMM."""
        gemm = GEMMS.index(step.phase)
        return gemm, step.key_block, step.column_block, step.op.k_tile  # type: ignore[union-attr]

    def output_step(self, step: Step) -> int:
        """Number the epilogue's steps through all column blocks, one block after the other."""
        return step.column_block * self.epilogue.steps + step.op.step  # type: ignore[union-attr]

    @property
    def qk_fetches(self) -> int:
        """
        Fetches of Q, and of K for each key block: one for each k tile.

        If the ring has fewer stages than k tiles, one for each stage is added: these are past the last k tile.
        """
        return self.shape.qk_tiles + (0 if self.shape.qk_whole else self.shape.qk.stages)

    @cached_property
    def rows(self) -> list[tuple[CopiedTensor, int, int]]:
        """(tensor, column block, fetch) of each row of fetches: all of Q's, then K's, then V's by column block."""
        first = [(tensor, 0, fetch) for tensor in COPIED[:2] for fetch in range(self.qk_fetches)]
        columns, slots = range(self.shape.column_blocks), range(self.shape.pv.stages)
        return [*first, *(("v", column, fetch) for column in columns for fetch in slots)]

    @property
    def output_rows(self) -> int:
        """Number of rows of outputs, as ``target`` numbers them."""
        steps = self.shape.column_blocks * self.epilogue.steps
        return 1 + steps * (1 if self.shape.in_registers else 2)

    def target(self, step: Step) -> tuple[int, int]:
        """
        Return row and number of a fetch, or row and access of an output.

        Rows of fetches are numbered as in ``rows``, and a fetch's number is its key block. Row 0 of the outputs is the
        log-sum-exp; the output's steps by column block follow, then the buffer's.
        """
        match step.op:
            case softmax.StoreLse(row):
                return 0, row
            case LoadSource(_, access) | StoreGlobal(_, access):
                buffered = isinstance(step.op, LoadSource) or step.phase == "buffer"
                before = self.shape.column_blocks * self.epilogue.steps if buffered else 0
                return 1 + before + self.output_step(step), access
            case CopyAsync(_, fetch):
                tensor = self.operand_name(step)
                if tensor == "v":
                    return 2 * self.qk_fetches + step.column_block * self.shape.pv.stages + fetch, step.key_block
                return fetch + (self.qk_fetches if tensor == "k" else 0), step.key_block
            case _:
                return -1, step.key_block

    def shared(self, step: Step) -> Shared | None:
        """Return the shared access of a step; a shuffle, which has no address, has none."""
        match step.op:
            case softmax.StoreP(access):
                return Shared(self.p_stores, (access,))
            case softmax.AtomicMax() | softmax.StatisticAccess():
                return Shared(self._statistic(step.op), ())
            case _:
                return super().shared(step)

    def fill_offsets(self, operand: str) -> IntArray:
        """Return the shared-memory offsets of an operand's copies, or of P's stores."""
        if operand == "p":
            return p_store_offsets(self.scenario)[None]
        return super().fill_offsets(operand)

    @cached_property
    def p_stores(self) -> SharedTable:
        """Stores of P; places are (access,)."""
        offsets = over_warps(p_store_offsets(self.scenario))
        return SharedTable(offsets, self.operands["p"].bits, WORD_BYTES, banks=self.banks)

    def _statistic_table(self, op: softmax.AtomicMax | softmax.StatisticAccess) -> SharedTable:
        """Return one access of a row statistic, in floats from the base of shared memory."""
        access = softmax.StatisticAccess("maximum", "fragment", op.row) if isinstance(op, softmax.AtomicMax) else op
        partial = access.statistic == "partial_sum"
        array = len(ROW_STATISTICS) if partial else ROW_STATISTICS.index(access.statistic)
        within = statistic_words(self.scenario, access.at, access.index, partial=partial)
        words = array * self.shape.qk.threadblock[0] + within
        if isinstance(op, softmax.AtomicMax):
            return AtomicTable(words, element_bits("f32"), WORD_BYTES, banks=self.banks)
        lanes = statistic_lanes(self.scenario, access.at, stores=isinstance(op, softmax.StoreStatistic))
        return SharedTable(words, element_bits("f32"), WORD_BYTES, active=lanes, banks=self.banks)

    def cta(self, block: int) -> "AttentionCta":
        """Return the CTA of a block; the kernel maps blocks to CTAs."""
        walked = self._blocks[block] or ()
        onward = walked[::-1] if self.scenario.flash else walked
        return AttentionCta(self, self._places[block : block + 1], onward)

    @cached_property
    def _blocks(self) -> tuple[tuple[blocks.KeyBlock, ...] | None, ...]:
        """Key blocks of every CTA; None for a CTA without queries."""
        return blocks.cta_blocks(self.scenario)

    @cached_property
    def _places(self) -> IntArray:
        """blockIdx of every CTA in launch order, shape [ctas, 3]."""
        return blocks.launched_ctas(self.scenario)


class AttentionCta(CtaLanes[Step]):
    """One CTA: its blockIdx, shape (1, 3), and its key blocks in the order of the walk."""

    def __init__(self, lanes: AttentionLanes, place: IntArray, walked: Sequence[blocks.KeyBlock]) -> None:
        self._lanes, self._place, self._walked = lanes, place, walked
        self._advance = blocks.block_advance(lanes.scenario, place)
        self._fetch = lru_cache(maxsize=None)(self._one_fetch)

    def _one_fetch(self, tensor: CopiedTensor, column_block: int, fetch: int, key_block: int) -> GlobalAccess:
        found = blocks.operand_access(
            self._lanes.scenario, tensor, self._place, fetch, key_block=key_block, column_block=column_block
        )
        axes = {name: np.broadcast_to(axis, found.offset.shape)[0] for name, axis in found.coordinates.items()}
        return GlobalAccess(axes, found.offset[0], np.broadcast_to(found.valid, found.offset.shape)[0])

    def fetched(self, row: int, number: int) -> GlobalAccess:
        """Return one fetch by row and key block; a fetch of Q is the same for all key blocks."""
        place = self._lanes.rows[row]
        return self._fetch(*place, 0 if place[0] == "q" else number)

    def fetches(self) -> list[Fetches]:
        """Return every fetch by row, and by the place of its key block in the walk."""
        of_tensor = {tensor: self._fetches(tensor) for tensor in COPIED}
        return [of_tensor[tensor] for tensor, _, _ in self._lanes.rows]

    def _fetches(self, tensor: CopiedTensor) -> Fetches:
        """
        Return the fetches of any row of a tensor.

        Fetches are alike if equally many of their queries or keys exist, and the first of these begins at the same
        offset in a line.
        """
        scenario, advance, bits = self._lanes.scenario, self._advance, self._lanes.operands[tensor].bits
        number = np.array([block.number for block in self._walked], dtype=np.int64)
        if tensor == "q":
            rows = np.full_like(number, min(int(advance.num_queries[0]), scenario.queries_per_block))
            base = np.full_like(number, advance.q[0])
            return Fetches(np.zeros_like(number), packed((rows, 1), (base * bits % LINE_BITS, LINE_BITS)), base)
        rows = np.array([block.keys for block in self._walked], dtype=np.int64)
        each = scenario.keys_per_block * blocks.row_stride(scenario, tensor)
        base = (advance.k if tensor == "k" else advance.v) + number * each
        return Fetches(number, packed((rows, 1), (base * bits % LINE_BITS, LINE_BITS)), base)

    def alike_outputs(self) -> Hashable:
        """Return the queries that exist, and the offsets in a line at which output, buffer and log-sum-exps begin."""
        scenario, advance, word = self._lanes.scenario, self._advance, element_bits("f32")
        output, lse = int(advance.o[0]), int(advance.lse[0])
        begins = (output * self._lanes.epilogue.output_bits, output * word, lse * word)
        queries = min(int(advance.num_queries[0]), scenario.queries_per_block)
        return queries, *(begin % LINE_BITS for begin in begins)

    def output_bases(self) -> tuple[int, ...]:
        """Return the first log-sum-exp, and the first element of the output for each of its rows and the buffer's."""
        shape, advance = self._lanes.shape, self._advance
        rows = shape.column_blocks * self._lanes.epilogue.steps * (1 if shape.in_registers else 2)
        return int(advance.lse[0]), *(int(advance.o[0]),) * rows

    def outputs(self) -> list[GlobalRow]:
        """Return the accesses to the log-sum-exp, then the output by column block and step, then the buffer if any."""
        scenario, tile = self._lanes.scenario, self._lanes.epilogue
        bits = element_bits("f32")
        columns = range(self._lanes.shape.column_blocks)
        accesses = [
            blocks.output_access(scenario, self._place, column, step)
            for column in columns
            for step in range(tile.steps)
        ]
        offset, valid = lse_access(scenario, self._advance)
        rows = [GlobalRow(offset[0], valid[0], bits, bits // 8)]
        rows += [GlobalRow(one.offset[0], one.valid[0], tile.output_bits, tile.access_bytes) for one in accesses]
        if not self._lanes.shape.in_registers:
            rows += [GlobalRow(*buffer_access(scenario, one), bits, VECTOR_BITS // 8) for one in accesses]
        return rows

    def reached(self, step: Step) -> Reached | None:
        """Return the global access of a copy or of the epilogue, without accesses to the log-sum-exp."""
        lanes = self._lanes
        match step.op:
            case CopyAsync(_, _, access, vec):
                name, (row, number) = lanes.operand_name(step), lanes.target(step)
                return at_access(self.fetched(row, number), name, (access, vec), lanes.operands[name].bits, lanes.warps)
            case LoadSource() | StoreGlobal():
                row, access = lanes.target(step)
                tensor = "output" if row <= lanes.shape.column_blocks * lanes.epilogue.steps else "buffer"
                return at_output(self.output_rows[row], tensor, access, lanes.warps)
            case _:
                return None

    def accessed(self, step: Step) -> Reached | None:
        """Return the global access of a copy, of the epilogue or of a store of a log-sum-exp."""
        if isinstance(step.op, softmax.StoreLse):
            return at_output(self.output_rows[0], "lse", step.op.row, self._lanes.warps)
        return self.reached(step)

    def traced(self, step: Step) -> dict[str, Any]:
        """Return the shared-memory address of an op between the GEMMs, and the participating lanes."""
        match step.op:
            case softmax.Shuffle(_, _, mask):
                return {"shared": mask}
            case softmax.StatisticAccess():
                shared = self._lanes.shared(step)
                return {} if shared is None else {"predicate": shared.table.active}
            case softmax.StoreLse():
                lse = self.accessed(step)
                return {} if lse is None else {"shared": lse.offset, "predicate": lse.valid}
            case _:
                return {}

    def event(self, step: Step, warp: int, lane: int) -> list[Any]:
        """
        Return the event of one lane at an op between the GEMMs, as a trace records it.

        ``[sts, P, shared offset, bytes]``, ``[lds | sts, statistic, float, takes part]``, ``[atoms_max, maximum,
        float]``, ``[shfl, what, mask]``; floats from the base of shared memory.
        """
        shared = self._lanes.shared(step)
        if isinstance(step.op, softmax.Shuffle):
            return ["shfl", step.op.what, step.op.mask]
        if shared is None:
            return []
        offset = int(shared.offsets[warp, lane])
        match step.op:
            case softmax.StoreP():
                return ["sts", "P", offset, shared.table.width]
            case softmax.AtomicMax():
                return ["atoms_max", "maximum", offset]
            case softmax.StatisticAccess(statistic):
                words = "sts" if isinstance(step.op, softmax.StoreStatistic) else "lds"
                taking = shared.table.active
                return [words, statistic, offset, int(taking is None or taking[warp, lane])]
            case _:
                return []
