"""Tables of shared-memory accesses: the address of every lane of every warp, and the wavefronts of each access."""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple, TypeVar

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.layout.banks import STANDARD, Banks, access_ideal, access_wavefronts, ldmatrix_ideal, ldmatrix_wavefronts
from gpusim.machine.spec import Machine
from gpusim.tile.epilogue import EpilogueTile
from gpusim.tile.ldmatrix import fragment_loads, ldmatrix_offsets
from gpusim.tile.operand import OperandTile
from gpusim.tile.shared_store import store_offsets
from gpusim.units import VECTOR_BITS, WARP_SIZE, WORD_BYTES

ArrayT = TypeVar("ArrayT", IntArray, BoolArray)


def over_warps(of_threads: ArrayT, axis: int = 0) -> ArrayT:
    """
    Return the array with its thread axis replaced by two last axes, warps and lanes.

    Args:
        of_threads: Array with one axis over the threads of a CTA.
        axis: That axis.
    """
    by_thread = np.moveaxis(of_threads, axis, -1)
    return by_thread.reshape(*by_thread.shape[:-1], -1, WARP_SIZE)


def banks_of(machine: Machine) -> Banks:
    """Return the banks of a machine's shared memory."""
    return Banks(machine.shared.banks, machine.shared.bank_bytes)


@dataclass(frozen=True, eq=False)
class SharedTable:
    """
    A table of warp-wide shared-memory accesses that differ only in their addresses.

    The operand's memory begins on a 128-byte line, so offsets within it determine the banks.

    Attributes:
        offsets: Element offset of each lane's first element from the operand's base. An ldmatrix has the offset of the
            row the lane supplies. Shape [*places, warps, 32].
        bits: Width of an element.
        width: Bytes each lane accesses; for an ldmatrix, the bytes of a row.
        matrices: Matrices of an ldmatrix; 0 for a plain access.
        active: Lanes that take part, broadcast with ``offsets``; None means all.
        banks: Banks that serve the accesses.
        loads: Whether they are plain loads, whose lanes may share addresses in pairs.
    """

    offsets: IntArray
    bits: int
    width: int
    matrices: int = 0
    active: BoolArray | None = None
    banks: Banks = STANDARD
    loads: bool = False

    @cached_property
    def addresses(self) -> IntArray:
        """Byte addresses from the operand's base, in the shape of ``offsets``."""
        return self.offsets * self.bits // 8

    @cached_property
    def wavefronts(self) -> IntArray:
        """Wavefronts of each access, shape [*places, warps]."""
        if self.matrices:
            return ldmatrix_wavefronts(self.addresses, self.matrices, self.banks.count, self.banks.width)
        return access_wavefronts(
            self.addresses, self.width, self.active, self.banks.count, self.banks.width, loads=self.loads
        )

    @cached_property
    def ideal(self) -> IntArray:
        """Wavefronts of each access without conflicts, shape [*places, warps]."""
        if self.matrices:
            least = np.asarray(ldmatrix_ideal(self.matrices, self.banks.count, self.banks.width), dtype=np.int64)
        else:
            loaded = self.addresses if self.loads else None
            least = access_ideal(self.width, self.active, self.banks.count, self.banks.width, loaded=loaded)
        return np.broadcast_to(least, self.wavefronts.shape)

    def predicated(self, place: int, valid: BoolArray) -> "SharedTable":
        """The accesses of one place, made by the valid lanes only, in the shape of the offsets at that place."""
        return replace(self, offsets=self.offsets[place], active=valid)

    @property
    def returned_bytes(self) -> int:
        """Bytes that one load returns to the registers of a warp."""
        return (WORD_BYTES * self.matrices if self.matrices else self.width) * WARP_SIZE


@lru_cache(maxsize=32)
def fragment_table(operand: OperandTile, banks: Banks = STANDARD) -> SharedTable:
    """Tabulate the loads of an operand's fragments; the places are (stage, k group, instruction)."""
    loads = fragment_loads(operand)
    slots = np.stack([ldmatrix_offsets(operand, slot) for slot in range(operand.tiling.stages)])
    matrices, width = (0, WORD_BYTES) if loads.words else (loads.matrices, VECTOR_BITS // 8)
    return SharedTable(np.moveaxis(slots, 1, -2), operand.bits, width, matrices, banks=banks, loads=loads.words)


@lru_cache(maxsize=32)
def copy_table(operand: OperandTile, banks: Banks = STANDARD) -> SharedTable:
    """Tabulate the copies that fill an operand's ring, with all lanes writing; the places are (stage, access, vec)."""
    slots = np.stack([over_warps(store_offsets(operand, slot)) for slot in range(operand.tiling.stages)])
    return SharedTable(slots, operand.bits, operand.access_bytes, banks=banks)


class Taken(NamedTuple):
    """Wavefronts of the accesses of one place, over all warps, with and without conflicts."""

    wavefronts: int
    ideal: int


@lru_cache(maxsize=256)
def predicated_copies(operand: OperandTile, slot: int, valid: bytes, banks: Banks = STANDARD) -> Taken:
    """
    Return the wavefronts of the copies that fill a ring slot, made by the valid lanes only.

    Args:
        operand: The operand.
        slot: The ring slot.
        valid: The predicates of its lanes, one byte each, in the order of ``copy_table``.
        banks: Banks of the shared memory.
    """
    table = copy_table(operand, banks)
    predicates = np.frombuffer(valid, dtype=np.bool_).reshape(table.offsets.shape[1:])
    taken = table.predicated(slot, predicates)
    return Taken(int(taken.wavefronts.sum()), int(taken.ideal.sum()))


@lru_cache(maxsize=32)
def tile_store_table(operand: OperandTile, banks: Banks = STANDARD) -> SharedTable:
    """
    Tabulate the stores of a threadblock fragment, each one access of the thread map; the places are (stage, access).
    """
    slots = np.stack([over_warps(store_offsets(operand, slot)[..., 0]) for slot in range(operand.tiling.stages)])
    return SharedTable(slots, operand.bits, operand.access_bytes * operand.vecs, banks=banks)


def staging_store_table(tile: EpilogueTile, banks: Banks = STANDARD) -> SharedTable:
    """Tabulate an epilogue's stores to its shared memory, the same in every iteration; the places are (access,)."""
    offsets = over_warps(tile.store_offsets()[..., 0])
    return SharedTable(offsets, tile.accumulator_bits, tile.store_bytes, banks=banks)


def staging_load_table(tile: EpilogueTile, banks: Banks = STANDARD) -> SharedTable:
    """Tabulate an epilogue's loads from its shared memory, the same in every iteration; the places are (access,)."""
    offsets = over_warps(tile.load_offsets()[..., 0])
    return SharedTable(offsets, tile.accumulator_bits, tile.load_bytes, banks=banks, loads=True)
