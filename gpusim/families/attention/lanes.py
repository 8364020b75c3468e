"""Wavefronts of every shared access of an attention kernel, by address pattern; all CTAs of a grid have them alike."""

from functools import cached_property
from typing import Literal, TypeAlias, get_args

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.element_types import element_bits
from gpusim.families.attention.blocks import (
    GEMM_OF,
    CopiedOperand,
    Gemm,
    attention_epilogue,
    gemm_view,
    p_load_offsets,
    p_store_offsets,
)
from gpusim.families.attention.ops import AtomicMax, LoadStatistic, StoreStatistic
from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.attention.shape import attention_shape
from gpusim.families.attention.statistics import statistic_lanes, statistic_words
from gpusim.layout.banks import BANK_BYTES, BANKS, access_ideal, access_wavefronts, ldmatrix_ideal, ldmatrix_wavefronts
from gpusim.scenario.gemm import GemmScenario
from gpusim.schedule.ops import CopyAsync, FragmentLoad, LoadShared, StoreShared
from gpusim.tile.ldmatrix import fragment_loads, ldmatrix_offsets
from gpusim.tile.operand import Side
from gpusim.tile.shared_store import store_offsets
from gpusim.units import WARP_SIZE, WORD_BYTES

Tensor: TypeAlias = Literal["q", "k", "p", "v"]

COPIED: tuple[CopiedOperand, ...] = get_args(CopiedOperand)

OPERAND_OF: dict[Tensor, tuple[Gemm, Side]] = {
    "q": GEMM_OF["q"],
    "k": GEMM_OF["k"],
    "p": ("pv", "a"),
    "v": GEMM_OF["v"],
}


class AttentionWavefronts:
    """
    Look-ups of wavefronts by op; every answer is one number for each warp.

    The operands' places in shared memory begin on 128-byte lines, so that offsets within an operand tell its banks.
    """

    def __init__(self, scenario: AttentionScenario, banks: int = BANKS, bank_bytes: int = BANK_BYTES) -> None:
        self.scenario = scenario
        self.shape = attention_shape(scenario)
        self.tile = attention_epilogue(scenario)
        self.warps = self.shape.threads // WARP_SIZE
        self._bits = element_bits(scenario.problem.dtype.ab)
        self._banks, self._bank_bytes = banks, bank_bytes
        self._views = {name: (gemm_view(scenario, gemm), operand) for name, (gemm, operand) in OPERAND_OF.items()}
        self.matrices = {
            name: fragment_loads(view.operand(side)).matrices for name, (view, side) in self._views.items()
        }
        self._fragments: dict[Tensor, IntArray] = {}
        self._copies = {name: self._copy_table(*self._views[name]) for name in COPIED}

    def fragment(self, name: Tensor, op: FragmentLoad) -> tuple[int, ...]:
        """One ldmatrix of Q, K, P or V."""
        if name not in self._fragments:
            view, operand = self._views[name]
            offsets = p_load_offsets(self.scenario) if name == "p" else _all_slots(view, operand)
            self._fragments[name] = ldmatrix_wavefronts(
                offsets * self._bits // 8, self.matrices[name], self._banks, self._bank_bytes
            )
        place = op.k_tile if name == "p" else op.stage
        return _warps(self._fragments[name][place, :, op.k_group, op.instruction])

    def fragment_ideal(self, name: Tensor) -> int:
        """An ldmatrix without conflicts."""
        return ldmatrix_ideal(self.matrices[name], self._banks, self._bank_bytes)

    def copy(self, name: CopiedOperand, op: CopyAsync) -> tuple[int, ...]:
        """The shared side of one copy whose every lane writes."""
        return _warps(self._copies[name][op.stage, op.access, op.vec])

    def copies_of(self, name: CopiedOperand) -> int:
        """Copies of one thread that bring a fetch."""
        _, accesses, vecs, _ = self._copies[name].shape
        return int(accesses * vecs)

    def copy_addresses(self, name: CopiedOperand, slot: int) -> IntArray:
        """Bytes of the operand that the copies of one fetch write, shape [accesses, vecs, warps, 32]."""
        view, operand = self._views[name]
        offsets = store_offsets(view.operand(operand), slot)
        _, accesses, vecs = offsets.shape
        lanes = offsets.reshape(self.warps, WARP_SIZE, accesses, vecs).transpose(2, 3, 0, 1)
        return lanes * self._bits // 8

    def width(self, name: CopiedOperand) -> int:
        """Bytes of one copy."""
        view, operand = self._views[name]
        elements = int(view.problem.access(operand))
        return elements * self._bits // 8

    def store_p(self, access: int) -> tuple[int, ...]:
        """One store of P: a word a lane."""
        return _warps(self._p_stores[access])

    def statistic(self, op: LoadStatistic | StoreStatistic) -> tuple[int, ...]:
        """One access to the row statistics; a warp without a row has none."""
        return _warps(self._counted(self._statistic_words(op) * WORD_BYTES, WORD_BYTES, self._statistic_lanes(op)))

    def statistic_ideal(self, op: LoadStatistic | StoreStatistic) -> int:
        """The same without conflicts, all warps."""
        lanes = self._statistic_lanes(op)
        ideal: IntArray = access_ideal(WORD_BYTES, lanes, self._banks, self._bank_bytes)
        return int(ideal.sum())

    def atomic(self, op: AtomicMax) -> tuple[int, ...]:
        """Lanes of one atomic maximum that meet in the fullest bank: they pass one by one (D31)."""
        words = statistic_words(self.scenario, "fragment", op.row, partial=False) % self._banks
        return tuple(int(np.bincount(lanes).max()) for lanes in words)

    def staging(self, op: StoreShared | LoadShared) -> tuple[int, ...]:
        """One access of the epilogue's staging."""
        return _warps(self._staging[isinstance(op, StoreShared)][op.access])

    def staging_ideal(self, op: StoreShared | LoadShared) -> int:
        """The same of one warp without conflicts."""
        width = self.tile.store_bytes if isinstance(op, StoreShared) else self.tile.load_bytes
        return int(access_ideal(width, banks=self._banks, bank_bytes=self._bank_bytes))

    def _counted(self, addresses: IntArray, width: int, lanes: BoolArray | None = None) -> IntArray:
        return access_wavefronts(addresses, width, lanes, self._banks, self._bank_bytes)

    def _copy_table(self, view: GemmScenario, operand: Side) -> IntArray:
        """[slot, access, vec, warp]."""
        offsets = np.stack([store_offsets(view.operand(operand), slot) for slot in range(view.kernel.stages)])
        slots, _, accesses, vecs = offsets.shape
        lanes = offsets.reshape(slots, self.warps, WARP_SIZE, accesses, vecs).transpose(0, 3, 4, 1, 2)
        elements = view.problem.access(operand)
        return self._counted(lanes * self._bits // 8, elements * self._bits // 8)

    @cached_property
    def _p_stores(self) -> IntArray:
        """[access, warp]."""
        offsets = p_store_offsets(self.scenario) * self._bits // 8
        return self._counted(offsets.reshape(self.warps, WARP_SIZE, -1).transpose(2, 0, 1), WORD_BYTES)

    @cached_property
    def _staging(self) -> tuple[IntArray, IntArray]:
        """[access, warp] of the staging's loads and of its stores."""
        tables = []
        for offsets, width in (
            (self.tile.load_offsets(), self.tile.load_bytes),
            (self.tile.store_offsets(), self.tile.store_bytes),
        ):
            first = offsets[..., 0] * self.tile.accumulator_bits // 8
            tables.append(self._counted(first.reshape(self.warps, WARP_SIZE, -1).transpose(2, 0, 1), width))
        return tables[0], tables[1]

    def _statistic_words(self, op: LoadStatistic | StoreStatistic) -> IntArray:
        return statistic_words(self.scenario, op.at, op.index, partial=op.statistic == "partial_sum")

    def _statistic_lanes(self, op: LoadStatistic | StoreStatistic) -> BoolArray:
        return statistic_lanes(self.scenario, op.at, stores=isinstance(op, StoreStatistic))


def _all_slots(view: GemmScenario, operand: Side) -> IntArray:
    """[slot, warp, k group, instruction, lane]."""
    return np.stack([ldmatrix_offsets(view.operand(operand), slot) for slot in range(view.kernel.stages)])


def _warps(counts: IntArray) -> tuple[int, ...]:
    return tuple(counts.tolist())
