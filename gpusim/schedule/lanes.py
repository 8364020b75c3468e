"""
Which address lane l has for op X in CTA C: the one place that is asked, whoever counts, prints, traces or times it.

What all tile GEMMs have is answered here; a family adds its own ops, and where a CTA's tensors begin.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.schedule.ops import CopyAsync, Ldmatrix, LoadFragment, LoadShared, StoreShared, StoreTile
from gpusim.tile.epilogue import EpilogueTile
from gpusim.tile.global_access import GlobalAccess
from gpusim.tile.lanes import (
    Banks,
    SharedTable,
    copy_table,
    fragment_table,
    staging_load_table,
    staging_store_table,
    tile_store_table,
)
from gpusim.tile.operand import Operand
from gpusim.tile.shared_store import store_offsets

StepT = TypeVar("StepT")


class Shared(NamedTuple):
    """
    A warp-wide access of shared memory, alike in every CTA.

    Attributes:
        table: Accesses like it.
        place: Which of them.
    """

    table: SharedTable
    place: tuple[int, ...]

    @property
    def offsets(self) -> IntArray:
        """Element that each lane touches first, from the operand's base. Shape [warps, 32]."""
        offsets: IntArray = self.table.offsets[self.place]
        return offsets

    @property
    def addresses(self) -> IntArray:
        """The same in bytes."""
        addresses: IntArray = self.table.addresses[self.place]
        return addresses


class Reached(NamedTuple):
    """
    A warp-wide access of global memory by one CTA.

    Attributes:
        tensor: Which tensor.
        offset: Elements from the tensor's base, shape [warps, 32].
        valid: Lanes that touch it, shape [warps, 32].
        bits: Width of an element.
    """

    tensor: str
    offset: IntArray
    valid: BoolArray
    bits: int


class GlobalRow(NamedTuple):
    """
    Like accesses of global memory by one CTA, which may find the L2 alike.

    Attributes:
        offset: Elements from the tensor's base, shape [threads, accesses].
        valid: Shape of ``offset``.
        bits: Width of an element.
        access_bytes: Bytes of one access.
    """

    offset: IntArray
    valid: BoolArray
    bits: int
    access_bytes: int


class CtaLanes(ABC, Generic[StepT]):
    """The global side of one CTA."""

    @abstractmethod
    def reached(self, step: StepT) -> Reached | None:
        """The global access of a step; None where it has none."""

    @abstractmethod
    def fetched(self, row: int, number: int) -> GlobalAccess:
        """One fetch of an operand (``Lanes.target``), arrays [threads, accesses, vecs]."""

    @abstractmethod
    def copies(self) -> list[list[GlobalAccess]]:
        """Every fetch, by row and number; equal ones may be the same object."""

    @abstractmethod
    def outputs(self) -> list[GlobalRow]:
        """The global accesses that are no fetches, by row (``Lanes.target``)."""

    def traced(self, step: StepT) -> dict[str, Any]:  # noqa: ARG002 - a GEMM has none
        """Fields of a trace's record that a family's own ops have."""
        return {}

    def event(self, step: StepT, warp: int, lane: int) -> list[Any]:
        """What one lane does at an op of the family's own, in words; empty for arithmetic between registers."""
        raise TypeError(f"{step}, of warp {warp}, lane {lane}, is no op of a tile GEMM")


class Lanes(ABC, Generic[StepT]):
    """
    The addresses of a kernel, by the steps of its programs.

    Attributes:
        warps: Warps of a CTA.
        operands: By the names that its ops' operands have.
        epilogue: The tile of its epilogues.
        shared_base: Byte of the CTA's shared memory at which each operand begins.
        staging_base: That of the epilogue's staging.
    """

    shared_base: Mapping[str, int]
    staging_base: int = 0

    def __init__(self, operands: Mapping[str, Operand], epilogue: EpilogueTile, warps: int, banks: Banks) -> None:
        self.operands, self.epilogue, self.warps, self.banks = operands, epilogue, warps, banks
        self._tables: dict[tuple[Any, str], SharedTable] = {}

    @abstractmethod
    def cta(self, block: int) -> CtaLanes[StepT]:
        """The global side of a CTA with work, by its linear block index (blockIdx x fastest)."""

    @abstractmethod
    def op(self, step: StepT) -> Any:
        """The op of a step."""

    @abstractmethod
    def operand_name(self, step: StepT) -> str:
        """Key in ``operands`` of the operand that a step's op is about."""

    @abstractmethod
    def mmas(self, step: StepT) -> int:
        """mma.sync of a step that is a ``WarpMma``."""

    @abstractmethod
    def target(self, step: StepT) -> tuple[int, int]:
        """Row and number of the fetch that a step copies, loads or stores; or row and access in ``outputs``."""

    def k_tile(self, step: StepT) -> tuple[int, ...]:
        """Which k tile a step loads fragments of: equal for those of one, and in no order."""
        return (self.op(step).k_tile,)

    def output_step(self, step: StepT) -> int:
        """Number of the step of the epilogue that an op of it belongs to, over all of a CTA's output."""
        return int(self.op(step).step)

    def shared(self, step: StepT) -> Shared | None:
        """The shared access of a step; None where it has none."""
        match self.op(step):
            case Ldmatrix(_, _, k_group, instruction, stage) | LoadFragment(_, _, k_group, instruction, stage):
                return Shared(self._table(fragment_table, self.operand_name(step)), (stage, k_group, instruction))
            case CopyAsync(_, _, access, vec, stage):
                return Shared(self._table(copy_table, self.operand_name(step)), (stage, access, vec))
            case StoreTile(_, _, access, stage):
                return Shared(self._table(tile_store_table, self.operand_name(step)), (stage, access))
            case StoreShared(_, access):
                return Shared(self.staging_stores, (access,))
            case LoadShared(_, access):
                return Shared(self.staging_loads, (access,))
            case _:
                return None

    def base(self, step: StepT) -> int:
        """Byte of the CTA's shared memory from which a step's shared offsets count."""
        if isinstance(self.op(step), CopyAsync | Ldmatrix | LoadFragment | StoreTile):
            return self.shared_base[self.operand_name(step)]
        return self.staging_base

    def fill_offsets(self, operand: str) -> IntArray:
        """Where each access of an operand is written, its first vector. Shape [slots, threads, accesses]."""
        slots = range(self.operands[operand].tiling.stages)
        return np.stack([store_offsets(self.operands[operand], slot)[..., 0] for slot in slots])

    def fragment_offsets(self, operand: str) -> IntArray:
        """What each lane supplies to a fragment load. Shape [slots, k groups, instructions, warps, 32]."""
        return self._table(fragment_table, operand).offsets

    @cached_property
    def staging_stores(self) -> SharedTable:
        """Stores to the epilogue's staging."""
        return staging_store_table(self.epilogue, self.banks)

    @cached_property
    def staging_loads(self) -> SharedTable:
        """Loads from the epilogue's staging."""
        return staging_load_table(self.epilogue, self.banks)

    def _table(self, make: Any, name: str) -> SharedTable:
        key = make, name
        if key not in self._tables:
            self._tables[key] = make(self.operands[name], self.banks)
        return self._tables[key]


def at_access(access: GlobalAccess, tensor: str, index: tuple[int, int], bits: int, warps: int) -> Reached:
    """One access and vec of all threads of a CTA, from arrays [threads, accesses, vecs]."""
    own, vec = index
    valid = np.broadcast_to(access.valid, access.offset.shape)
    return Reached(tensor, access.offset[:, own, vec].reshape(warps, -1), valid[:, own, vec].reshape(warps, -1), bits)


def at_output(row: GlobalRow, tensor: str, access: int, warps: int) -> Reached:
    """One access of all threads of a CTA, from a row."""
    return Reached(tensor, row.offset[:, access].reshape(warps, -1), row.valid[:, access].reshape(warps, -1), row.bits)
