"""The accumulators of a warpgroup, and its wgmma groups in flight."""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from gpusim.families.hopper.collective import SharedOperand
from gpusim.families.hopper.execute.elements import Bits
from gpusim.families.hopper.execute.kernel import HopperRun
from gpusim.families.hopper.execute.memory import SharedBytes
from gpusim.families.hopper.execute.places import block_chunks
from gpusim.families.hopper.execute.tensors import multiplied
from gpusim.families.hopper.problem import MMA_ROWS
from gpusim.families.hopper.program.ops import Wgmma
from gpusim.numerics.elements import Values

_MOST_PRODUCTS: Final = 1 << 18
"""Products of a matrix product up to which OpenBLAS uses one thread."""


@dataclass(slots=True)
class WgmmaGroup:
    """
    A commit group of wgmma.

    Attributes:
        ops: Its instructions.
        done: Whether they have read shared memory.
    """

    ops: tuple[Wgmma, ...]
    done: bool = False


class WarpgroupRegisters:
    """
    The accumulators of one warpgroup. A group reads shared memory at once if ``early``, else when it is waited for.

    Attributes:
        committed: Groups that were committed.
        complete: Groups that were waited for.
        fenced: Whether a wgmma.fence stands behind the last access to the accumulators.
        opened: Instructions that no group has yet.

    Not modelled: the order in which a tensor core adds its products, the fewer bits of fast accumulation, and roundings
    of f16 accumulators within an instruction.
    """

    def __init__(self, kernel: HopperRun, memory: SharedBytes, *, early: bool) -> None:
        self._kernel, self._memory, self._early = kernel, memory, early
        self.committed = self.complete = 0
        self.fenced = False
        self.opened: list[Wgmma] = []
        self._flying: deque[WgmmaGroup] = deque()
        self._sums: dict[int, Values] = {}
        self._kept: dict[int, Values] = {}

    @property
    def in_flight(self) -> bool:
        """Whether a wgmma has not been waited for."""
        return bool(self._flying or self.opened)

    def commit(self) -> None:
        """Close a group."""
        group = WgmmaGroup(tuple(self.opened))
        self.opened = []
        self.committed += 1
        self._flying.append(group)
        if self._early:
            self._execute(group)

    def wait(self, pending: int) -> None:
        """Wait until at most ``pending`` groups are in flight."""
        while len(self._flying) > pending:
            self._execute(self._flying.popleft())
            self.complete += 1

    def flying_tiles(self) -> Sequence[int]:
        """Return the k tiles of the instructions in flight."""
        flying = (op for group in self._flying for op in group.ops)
        return sorted({op.k_tile for op in (*flying, *self.opened)})

    def promote(self) -> None:
        """Add the accumulators to those that are kept."""
        for block, sums in self._sums.items():
            self._kept[block] = self._kept[block] + sums if block in self._kept else sums
        self._sums = {}
        self.fenced = False

    def begin(self) -> None:
        """Begin another tile."""
        self._kept = {}

    def result(self, block: int) -> Values:
        """Return the accumulators of a block of 64 rows, NaN where nothing was accumulated. Shape (64, N)."""
        self.fenced = False
        found = (self._kept or self._sums).get(block)
        if found is not None:
            return found
        return np.full((MMA_ROWS, self._kernel.collective.b.rows), np.nan, np.float32)

    def _execute(self, group: WgmmaGroup) -> None:
        if group.done:
            return
        group.done = True
        together = self._kernel.problem.dtype.accumulator != "f16"
        for block in dict.fromkeys(op.m_block for op in group.ops):
            ops = [op for op in group.ops if op.m_block == block]
            anew = max((at for at, op in enumerate(ops) if not op.accumulate), default=-1)
            ops = ops[max(anew, 0) :]
            for part in [ops] if together else [[op] for op in ops]:
                self._add(block, part, anew=not part[0].accumulate)

    def _add(self, block: int, ops: Sequence[Wgmma], *, anew: bool) -> None:
        collective, dtype = self._kernel.collective, self._kernel.problem.dtype
        a = self._operand(collective.a, MMA_ROWS, tuple(op.a for op in ops))
        b = self._operand(collective.b, collective.b.rows, tuple(op.b for op in ops))
        sums = _product(a, b)
        if not anew and block in self._sums:
            sums += self._sums[block]
        self._sums[block] = sums.astype(np.float16).astype(np.float32) if dtype.accumulator == "f16" else sums

    def _operand(self, operand: SharedOperand, rows: int, descriptors: tuple[int, ...]) -> Values:
        """Return an operand as a matrix of rows along M or N and columns along K; products of 8 bits are exact."""
        chunks = block_chunks(descriptors, rows, operand.bits, k_contiguous=operand.k_contiguous)
        bits: Bits = self._memory.gather(chunks, operand.bits)
        element = self._kernel.problem.dtype.ab
        values = multiplied(bits, element).astype(np.float64 if element == "s8" else np.float32)
        return values if operand.k_contiguous else values.T


def _product(a: Values, b: Values) -> Values:
    """Return a @ b.T in parts that BLAS does not divide among threads, whose start costs more than the part."""
    rows, products = len(a), a.size * len(b)
    parts = 1
    while products > parts * _MOST_PRODUCTS and parts < rows:
        parts *= 2
    sums: Values = a.reshape(parts, rows // parts, -1) @ np.ascontiguousarray(b.T)
    return sums.reshape(rows, -1)


def descriptors_of(ops: Iterable[Wgmma]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the distinct descriptors of A and of B, in the order of the instructions."""
    listed = list(ops)
    return tuple(dict.fromkeys(op.a for op in listed)), tuple(dict.fromkeys(op.b for op in listed))
