"""
The addresses of every lane for every op of every CTA, in one place for counting, printing, tracing and timing.

This module covers the ops that all tile GEMMs have. A family adds its own ops and the base of each CTA's tensors.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.layout.banks import Banks
from gpusim.schedule import ops
from gpusim.tile.epilogue import EpilogueTile
from gpusim.tile.global_access import GlobalAccess
from gpusim.tile.operand import Operand
from gpusim.tile.shared_store import store_offsets
from gpusim.tile.shared_tables import (
    SharedTable,
    copy_table,
    fragment_table,
    staging_load_table,
    staging_store_table,
    tile_store_table,
)

StepT = TypeVar("StepT")


class Shared(NamedTuple):
    """
    A warp-wide access of shared memory, the same in every CTA.

    Attributes:
        table: Table of like accesses.
        place: Index of this access in the table.
    """

    table: SharedTable
    place: tuple[int, ...]

    @property
    def offsets(self) -> IntArray:
        """Element offset of each lane's first element from the operand's base. Shape [warps, 32]."""
        offsets: IntArray = self.table.offsets[self.place]
        return offsets

    @property
    def addresses(self) -> IntArray:
        """Byte address of each lane from the operand's base. Shape [warps, 32]."""
        addresses: IntArray = self.table.addresses[self.place]
        return addresses


class Reached(NamedTuple):
    """
    A warp-wide access of global memory by one CTA.

    Attributes:
        tensor: Name of the tensor.
        offset: Elements from the tensor's base, shape [warps, 32].
        valid: Lanes that access it, shape [warps, 32].
        bits: Width of an element.
    """

    tensor: str
    offset: IntArray
    valid: BoolArray
    bits: int


class GlobalRow(NamedTuple):
    """
    One row (``Lanes.target``) of a CTA's global accesses that are not fetches, such as those of one epilogue step.

    Attributes:
        offset: Elements from the tensor's base, shape [threads, accesses].
        valid: Predicates, in the shape of ``offset``.
        bits: Width of an element.
        access_bytes: Bytes of one access.
        kept: Whether the L1 keeps the lines of a warp's access for its later accesses.
    """

    offset: IntArray
    valid: BoolArray
    bits: int
    access_bytes: int
    kept: bool = False


class Fetches(NamedTuple):
    """
    The fetches of one row of a CTA, by turn, and their offsets relative to like fetches of the row in any CTA.

    Attributes:
        number: Argument ``number`` of ``CtaLanes.fetched`` for each fetch.
        alike: Small numbers from 0 on. They are equal for fetches with equal predicates whose valid offsets differ by
            one constant of whole 128-byte lines.
        base: Offset in elements. The bases of like fetches differ by that constant.
    """

    number: IntArray
    alike: IntArray
    base: IntArray


class CtaLanes(ABC, Generic[StepT]):
    """The global-memory accesses of one CTA."""

    @abstractmethod
    def reached(self, step: StepT) -> Reached | None:
        """Return the global access of a step; None where it has none."""

    def accessed(self, step: StepT) -> Reached | None:
        """Return the global access of a step's machine instruction: ``reached``, or the access of a family's op."""
        return self.reached(step)

    @abstractmethod
    def fetched(self, row: int, number: int) -> GlobalAccess:
        """Return one fetch of an operand (``Lanes.target``), with arrays of shape [threads, accesses, vecs]."""

    @abstractmethod
    def fetches(self) -> list[Fetches]:
        """Return every fetch, by row."""

    @abstractmethod
    def outputs(self) -> list[GlobalRow]:
        """Return the global accesses that are not fetches, by row (``Lanes.target``)."""

    @abstractmethod
    def alike_outputs(self) -> Hashable:
        """
        Return a key of ``outputs``.

        CTAs with equal keys have equal predicates, and their offsets in each row differ by whole 128-byte lines.
        """

    @abstractmethod
    def output_bases(self) -> tuple[int, ...]:
        """
        Return an offset in elements for each row of ``outputs``.

        CTAs whose ``alike_outputs`` are equal differ in a row's base as in its offsets.
        """

    @cached_property
    def output_rows(self) -> list[GlobalRow]:
        """The rows of ``outputs``, made once."""
        return self.outputs()

    def traced(self, step: StepT) -> dict[str, Any]:  # noqa: ARG002 - a GEMM has none
        """Return the fields that a family's op adds to a trace record."""
        return {}

    def event(self, step: StepT, warp: int, lane: int) -> list[Any]:
        """Return the event of one lane for an op of the family; empty for register arithmetic."""
        raise TypeError(f"{step}, of warp {warp}, lane {lane}, is no op of a tile GEMM")


class Lanes(ABC, Generic[StepT]):
    """
    The addresses of a kernel, by the steps of its programs.

    Attributes:
        warps: Warps of a CTA.
        operands: Operands by the names that the ops use.
        epilogue: Tile of the epilogues.
        banks: Banks of the shared memory.
        shared_base: Byte of the CTA's shared memory at which each operand begins.
        staging_base: Byte of the CTA's shared memory at which the epilogue's staging begins.
    """

    shared_base: Mapping[str, int]
    staging_base: int = 0

    def __init__(self, operands: Mapping[str, Operand], epilogue: EpilogueTile, warps: int, banks: Banks) -> None:
        self.operands, self.epilogue, self.warps, self.banks = operands, epilogue, warps, banks
        self._tables: dict[tuple[Any, str], SharedTable] = {}

    @property
    def roles(self) -> tuple[ops.Role, ...]:
        """Roles of a CTA, in the order of their warps. In every family so far all warps have one role."""
        return (ops.Role(ops.ALL_WARPS, range(self.warps)),)

    def role_of(self, warp: int) -> ops.Role:
        """Return the role of a warp."""
        return next(role for role in self.roles if warp in role.warps)

    def warps_of(self, step: StepT) -> range:
        """Return the warps of a CTA that execute a step."""
        executed_by: slice = self.op(step).executed_by
        return range(self.warps)[executed_by]

    @abstractmethod
    def cta(self, block: int) -> CtaLanes[StepT]:
        """Return the global accesses of a CTA with work, by its linear block index (blockIdx x fastest)."""

    @abstractmethod
    def op(self, step: StepT) -> Any:
        """Return the op of a step."""

    @abstractmethod
    def operand_name(self, step: StepT) -> str:
        """Return the key in ``operands`` of the operand that a step's op accesses."""

    @abstractmethod
    def mmas(self, step: StepT) -> int:
        """Return the number of mma.sync of a step that is a ``WarpMma``."""

    @abstractmethod
    def target(self, step: StepT) -> tuple[int, int]:
        """
        Return (row, number) of the fetch that a step copies, loads or stores, or (row, access) in ``outputs``.

        The family numbers the rows. In a GEMM a row of fetches is an operand, and a row of outputs an epilogue step.
        """

    def factors(self, step: StepT) -> tuple[str | None, str]:  # noqa: ARG002 - a GEMM has two operands
        """
        Return the operands that a ``WarpMma`` multiplies; None for an operand that stays in registers and is never
        loaded.
        """
        return "a", "b"

    def storing(self, step: StepT) -> Any:
        """Return a step that stores elements which a ``LoadShared`` loads."""
        op = self.op(step)
        return ops.StoreGlobal(op.step, op.access // self.epilogue.loads_per_access)

    def k_tile(self, step: StepT) -> tuple[int, ...]:
        """
        Return an identifier of the k tile whose fragments a step loads or multiplies.

        It is equal within a k tile and has no order.
        """
        return (self.op(step).k_tile,)

    def output_step(self, step: StepT) -> int:
        """Return the number of the epilogue step of an op, counted over the whole output of a CTA."""
        return int(self.op(step).step)

    def shared(self, step: StepT) -> Shared | None:
        """Return the shared access of a step; None where it has none."""
        match self.op(step):
            case ops.Ldmatrix(_, _, k_group, instruction, stage) | ops.LoadFragment(_, _, k_group, instruction, stage):
                return Shared(self._table(fragment_table, self.operand_name(step)), (stage, k_group, instruction))
            case ops.CopyAsync(_, _, access, vec, stage):
                return Shared(self._table(copy_table, self.operand_name(step)), (stage, access, vec))
            case ops.StoreTile(_, _, access, stage):
                return Shared(self._table(tile_store_table, self.operand_name(step)), (stage, access))
            case ops.StoreShared(_, access):
                return Shared(self.staging_stores, (access,))
            case ops.LoadShared(_, access):
                return Shared(self.staging_loads, (access,))
            case _:
                return None

    def base(self, step: StepT) -> int:
        """Return the byte of the CTA's shared memory from which a step's shared offsets count."""
        if isinstance(self.op(step), ops.CopyAsync | ops.Ldmatrix | ops.LoadFragment | ops.StoreTile):
            return self.shared_base[self.operand_name(step)]
        return self.staging_base

    def fill_offsets(self, operand: str) -> IntArray:
        """
        Return the element offset to which each access of an operand writes its first vector.

        Shape [stages, threads, accesses].
        """
        slots = range(self.operands[operand].tiling.stages)
        return np.stack([store_offsets(self.operands[operand], slot)[..., 0] for slot in slots])

    def fragment_offsets(self, operand: str) -> IntArray:
        """
        Return the element offset that each lane supplies to each fragment load.

        Shape [stages, k groups, instructions, warps, 32].
        """
        return self._table(fragment_table, operand).offsets

    @cached_property
    def staging_stores(self) -> SharedTable:
        """Table of the stores to the epilogue's staging."""
        return staging_store_table(self.epilogue, self.banks)

    @cached_property
    def staging_loads(self) -> SharedTable:
        """Table of the loads from the epilogue's staging."""
        return staging_load_table(self.epilogue, self.banks)

    def _table(self, make: Any, name: str) -> SharedTable:
        key = make, name
        if key not in self._tables:
            self._tables[key] = make(self.operands[name].in_shared, self.banks)
        return self._tables[key]


def at_access(access: GlobalAccess, tensor: str, index: tuple[int, int], bits: int, warps: int) -> Reached:
    """
    Return one access and vec of all threads of a CTA, out of arrays [threads, accesses, vecs].

    Args:
        access: Accesses of a fetch.
        tensor: Name of the tensor.
        index: (access, vec).
        bits: Width of an element.
        warps: Warps of the CTA.
    """
    own, vec = index
    valid = np.broadcast_to(access.valid, access.offset.shape)
    return Reached(tensor, access.offset[:, own, vec].reshape(warps, -1), valid[:, own, vec].reshape(warps, -1), bits)


def at_output(row: GlobalRow, tensor: str, access: int, warps: int) -> Reached:
    """Return one access of all threads of a CTA, out of a row."""
    return Reached(tensor, row.offset[:, access].reshape(warps, -1), row.valid[:, access].reshape(warps, -1), row.bits)
