"""Banked shared memory: the wavefronts of a warp's byte addresses, and the lanes that conflict; knows no times."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.errors import BadInput
from gpusim.units import WARP_SIZE

BANKS: Final = 32
BANK_BYTES: Final = 4


@dataclass(frozen=True, slots=True)
class Banks:
    """
    A banked shared memory, as a machine file has it.

    Attributes:
        count: Number of banks.
        width: Bytes of one bank.
    """

    count: int = BANKS
    width: int = BANK_BYTES

    @property
    def row_bytes(self) -> int:
        """Bytes of all banks together, the most that one wavefront can serve."""
        return self.count * self.width

    def bank_of(self, address: IntArray) -> IntArray:
        """Return the bank that holds each byte address."""
        return address // self.width % self.count


STANDARD: Final = Banks()
"""The 32 banks of 4 bytes that every supported GPU has."""

ACCESS_WIDTHS: Final = (2, 4, 8, 16)
"""Bytes that one lane may read or write in one shared-memory instruction counted here."""

MATRIX_ROWS: Final = 8
MATRIX_ROW_BYTES: Final = 16
MATRIX_COUNTS: Final = (1, 2, 4)


class MisalignedAccess(BadInput):
    """A shared address is not a multiple of the access width; the message names the first such lane and its address."""


@dataclass(frozen=True, slots=True)
class ConflictGroup:
    """
    One bank that needs more than one wavefront in one phase of an instruction.

    Attributes:
        phase: Phase of the instruction, from 0. A phase is the lanes that one wavefront can serve: 8 to 32, or an 8x8
            matrix.
        bank: Index of the bank.
        lanes_of_word: Each distinct word of the bank that is accessed (byte address / bank width), with its lanes.
    """

    phase: int
    bank: int
    lanes_of_word: dict[int, tuple[int, ...]]

    @property
    def wavefronts(self) -> int:
        """Wavefronts the bank needs in this phase: one for each distinct word."""
        return len(self.lanes_of_word)


def access_wavefronts(
    addresses: IntArray,
    width_bytes: int,
    active: BoolArray | None = None,
    banks: int = BANKS,
    bank_bytes: int = BANK_BYTES,
    *,
    phase_lanes: int = WARP_SIZE,
    loads: bool = False,
) -> IntArray:
    """
    Count the wavefronts of warp-wide loads or stores of 2, 4, 8 or 16 bytes a lane.

    A warp is served in phases. A phase has as many lanes as fit one wavefront: 32 lanes of 2 or 4 bytes, 16 lanes of 8
    bytes, 8 lanes of 16 bytes. A load of 8 or 16 bytes whose lanes share addresses in pairs (``shares_in_pairs``) has
    phases of twice as many lanes. Lanes of one phase that access the same word share it. So a bank takes one wavefront
    per *distinct* word, and a phase takes as many as its worst bank. A phase without an active lane takes none.

    Args:
        addresses: Byte addresses in CTA shared memory. Shape (..., 32), one instruction per row.
        width_bytes: Bytes of each lane: 2, 4, 8 or 16.
        active: Lanes that take part; broadcasts with ``addresses``. The default is all lanes.
        banks: Number of banks.
        bank_bytes: Width of one bank.
        phase_lanes: Most lanes of a phase, however many banks there are: 8 for an ldmatrix.
        loads: Whether the instructions are plain loads (LDS). Stores, ldmatrix and cp.async never share in pairs.

    Returns:
        Wavefronts of each instruction. Shape (...). Subtract ``access_ideal`` for conflicts.

    Raises:
        BadInput: The width is not one of these, or the last dimension is not 32.
        MisalignedAccess: Names the first offending lane and address.

    Source: golden file ``bank_conflicts`` for lanes with addresses of their own; broadcast.csv for shared ones.
    """
    served = Banks(banks, bank_bytes)
    lanes = min(phase_lanes, _lanes_per_phase(np.shape(addresses), width_bytes, served))
    apart = _wavefronts(addresses, width_bytes, active, served, lanes)
    if not loads or lanes == WARP_SIZE:
        return apart
    together = _wavefronts(addresses, width_bytes, active, served, 2 * lanes)
    return np.where(shares_in_pairs(addresses, active), together, apart)


def shares_in_pairs(addresses: IntArray, active: BoolArray | None = None) -> BoolArray:
    """
    Return whether each lane of a warp shares its address with a neighbour: all with lane XOR 1, or all with lane XOR 2.

    An inactive lane counts as sharing. Shared memory returns one register of a warp, 128 bytes, per cycle. If lanes
    share in pairs, it packs two registers of a load of 8 or 16 bytes into one return, so two phases pass together. The
    whole warp must follow one of the two pairings: if one half pairs by XOR 1 and the other by XOR 2, nothing is
    packed. Sharing by XOR 4, 8 or 16 alone is not packed, either.

    Args:
        addresses: Byte addresses in CTA shared memory. Shape (..., 32), one instruction per row.
        active: Lanes that take part; broadcasts with ``addresses``. The default is all lanes.

    Returns:
        Shape (...).

    Source: NVIDIA developer forum 77228 (the rule, for Volta and Turing); broadcast.csv (980 patterns on an H200).
    """
    given = np.asarray(addresses, dtype=np.int64)
    taking = np.broadcast_to(np.True_ if active is None else np.asarray(active, dtype=np.bool_), given.shape)
    lane = np.arange(WARP_SIZE)
    pairings = []
    for distance in (1, 2):
        other = lane ^ distance
        alike = (given == given[..., other]) | ~(taking & taking[..., other])
        pairings.append(alike.all(axis=-1))
    return np.asarray(pairings[0] | pairings[1])


def _wavefronts(addresses: IntArray, width_bytes: int, active: BoolArray | None, banks: Banks, lanes: int) -> IntArray:
    """Count the wavefronts of accesses whose phases have ``lanes`` lanes each."""
    # An aligned access covers whole slots of its own width, and two slots of one column share every bank of it.
    # So counting distinct slots gives the same result as counting distinct words, with fewer to count.
    slots, wanted = _phase_slots(addresses, width_bytes, active, banks, lanes)
    columns = banks.row_bytes // max(width_bytes, banks.width)
    leading, phases = slots.shape[:-2], slots.shape[-2]
    # The slot of an inactive lane becomes -1: it sorts to the front, and belongs to no column.
    rows = np.sort(np.where(wanted, slots, -1).reshape(-1, slots.shape[-1]), axis=-1)
    distinct = rows >= 0
    distinct[:, 1:] &= rows[:, 1:] != rows[:, :-1]
    row, place = np.nonzero(distinct)
    in_column = np.bincount(row * columns + rows[row, place] % columns, minlength=len(rows) * columns)
    worst = in_column.reshape(len(rows), columns).max(axis=-1)
    total: IntArray = worst.reshape(*leading, phases).sum(axis=-1, dtype=np.int64)
    return total


def access_ideal(
    width_bytes: int,
    active: BoolArray | None = None,
    banks: int = BANKS,
    bank_bytes: int = BANK_BYTES,
    *,
    phase_lanes: int = WARP_SIZE,
    loaded: IntArray | None = None,
) -> IntArray:
    """
    Count the wavefronts of an access without conflicts: one for each phase that has an active lane.

    Args:
        width_bytes: Bytes of each lane: 2, 4, 8 or 16.
        active: Lanes that take part. Shape (..., 32). The default is all lanes.
        banks: Number of banks.
        bank_bytes: Width of one bank.
        phase_lanes: Most lanes of a phase, however many banks there are: 8 for an ldmatrix.
        loaded: Addresses of plain loads, shape (..., 32): if lanes share them in pairs, two phases are one. None for
            all other accesses.

    Returns:
        Ideal wavefronts. Shape (...), or () without ``active``. A full warp of 16 bytes a lane needs 4.

    Raises:
        BadInput: The width is not one of these, or the last dimension is not 32.
    """
    taking = np.ones(WARP_SIZE, dtype=np.bool_) if active is None else np.asarray(active, dtype=np.bool_)
    served = Banks(banks, bank_bytes)
    lanes = min(phase_lanes, _lanes_per_phase(taking.shape, width_bytes, served))
    apart = _phases_taken(taking, lanes)
    if loaded is None or lanes == WARP_SIZE:
        return apart
    return np.where(shares_in_pairs(loaded, taking), _phases_taken(taking, 2 * lanes), apart)


def _phases_taken(taking: BoolArray, lanes: int) -> IntArray:
    """Return how many phases of ``lanes`` lanes have an active lane."""
    by_phase = taking.reshape(*taking.shape[:-1], WARP_SIZE // lanes, lanes)
    return np.asarray(by_phase.any(axis=-1).sum(axis=-1, dtype=np.int64))


def ldmatrix_lanes(matrices: int) -> BoolArray:
    """
    Return which lanes supply a row address to an ldmatrix: the first 8 for each matrix. Shape (32,).

    Raises:
        BadInput: The number of matrices is not 1, 2 or 4.
    """
    if matrices not in MATRIX_COUNTS:
        raise BadInput(f"ldmatrix must load one of {_listed(MATRIX_COUNTS)} matrices, got {matrices}")
    return np.arange(WARP_SIZE) < matrices * MATRIX_ROWS


def ldmatrix_wavefronts(
    row_addresses: IntArray, matrices: int, banks: int = BANKS, bank_bytes: int = BANK_BYTES
) -> IntArray:
    """
    Count the wavefronts of ldmatrix.x1, .x2 or .x4.

    Each 8x8 matrix is one phase: 8 rows of 16 bytes, whose addresses 8 consecutive lanes supply. ``.trans`` changes
    only which lane receives which element, so it costs the same.

    Args:
        row_addresses: Byte address of the row each lane supplies. Shape (..., 32). Only lanes 0-7 count for x1, and
            only lanes 0-15 for x2.
        matrices: 1, 2 or 4.
        banks: Number of banks.
        bank_bytes: Width of one bank.

    Returns:
        Wavefronts of each instruction. Shape (...). The ideal is ``ldmatrix_ideal``.

    Raises:
        BadInput: Another number of matrices, or the last dimension is not 32.
        MisalignedAccess: Names the first offending lane and address.

    Source: PTX ISA, "Warp-level matrix instructions: ldmatrix".
    """
    lanes = ldmatrix_lanes(matrices)
    return access_wavefronts(row_addresses, MATRIX_ROW_BYTES, lanes, banks, bank_bytes, phase_lanes=MATRIX_ROWS)


def ldmatrix_ideal(matrices: int, banks: int = BANKS, bank_bytes: int = BANK_BYTES) -> int:
    """Count the wavefronts of an ldmatrix without conflicts: one for each matrix if the banks hold 128 bytes."""
    return int(access_ideal(MATRIX_ROW_BYTES, ldmatrix_lanes(matrices), banks, bank_bytes, phase_lanes=MATRIX_ROWS))


def conflict_groups(
    addresses: IntArray,
    width_bytes: int,
    active: BoolArray | None = None,
    banks: int = BANKS,
    bank_bytes: int = BANK_BYTES,
    *,
    phase_lanes: int = WARP_SIZE,
    loads: bool = False,
) -> tuple[ConflictGroup, ...]:
    """
    List every bank conflict of one instruction, with the lanes that take part in it.

    For an ldmatrix, pass a width of 16 bytes, ``ldmatrix_lanes`` as ``active``, and phases of ``MATRIX_ROWS`` lanes.

    Args:
        addresses: Byte addresses of the lanes. Shape (32,).
        width_bytes: Bytes of each lane: 2, 4, 8 or 16.
        active: Lanes that take part. Shape (32,). The default is all lanes.
        banks: Number of banks.
        bank_bytes: Width of one bank.
        phase_lanes: Most lanes of a phase, however many banks there are.
        loads: Whether it is a plain load, as in ``access_wavefronts``.

    Returns:
        One group for each phase and bank with more than one distinct word, ordered by phase, then bank.

    Raises:
        BadInput: The width is not one of these, or the shape is not (32,).
        MisalignedAccess: Names the first offending lane and address.
    """
    if np.shape(addresses) != (WARP_SIZE,):
        raise BadInput(
            f"conflict_groups takes the {WARP_SIZE} addresses of one instruction, got shape {np.shape(addresses)}"
        )
    served = Banks(banks, bank_bytes)
    lanes = min(phase_lanes, _lanes_per_phase(np.shape(addresses), width_bytes, served))
    if loads:
        lanes *= phases_at_once(addresses, width_bytes, active, served)
    slots, wanted = _phase_slots(addresses, width_bytes, active, served, lanes)
    words_per_slot = max(1, width_bytes // bank_bytes)
    groups = []
    for phase, (row, takes) in enumerate(zip(slots.tolist(), wanted.tolist(), strict=True)):
        lanes_of: dict[int, dict[int, tuple[int, ...]]] = {}
        for lane, (slot, takes_part) in enumerate(zip(row, takes, strict=True), start=phase * len(row)):
            for word in range(slot * words_per_slot, (slot + 1) * words_per_slot) if takes_part else ():
                of_word = lanes_of.setdefault(word % banks, {})
                of_word[word] = (*of_word.get(word, ()), lane)
        groups += [ConflictGroup(phase, bank, lanes_of[bank]) for bank in sorted(lanes_of) if len(lanes_of[bank]) > 1]
    return tuple(groups)


def phases_at_once(
    addresses: IntArray, width_bytes: int, active: BoolArray | None = None, banks: Banks = STANDARD
) -> int:
    """Return how many phases of one plain load pass together: 2 if lanes share wide addresses in pairs, else 1."""
    several = _lanes_per_phase(np.shape(addresses), width_bytes, banks) < WARP_SIZE
    return 2 if several and bool(shares_in_pairs(addresses, active)) else 1


def _phase_slots(
    addresses: IntArray, width_bytes: int, active: BoolArray | None, banks: Banks, lanes: int
) -> tuple[IntArray, BoolArray]:
    """
    Return each lane's slot, and whether the lane is active. Both have shape (..., phases, lanes).

    A slot is the address in units of the access width, or of a bank if the bank is wider.
    """
    given = np.asarray(addresses)
    if not np.issubdtype(given.dtype, np.integer):
        raise BadInput(f"shared addresses must be integers, got an array of {given.dtype}")
    given = given.astype(np.int64)
    taking = np.broadcast_to(np.True_ if active is None else np.asarray(active, dtype=np.bool_), given.shape)
    wrong = taking & ((given % width_bytes != 0) | (given < 0))
    if wrong.any():
        first = tuple(np.argwhere(wrong)[0].tolist())
        raise MisalignedAccess(
            f"lane {first[-1]}: shared address {given[first]} must be a multiple of {width_bytes}, at least 0"
            + (f" (instruction {list(first[:-1])})" if first[:-1] else "")
        )
    shape = (*given.shape[:-1], WARP_SIZE // lanes, lanes)
    return (given // max(width_bytes, banks.width)).reshape(shape), taking.reshape(shape)


def _lanes_per_phase(shape: tuple[int, ...], width_bytes: int, banks: Banks) -> int:
    if width_bytes not in ACCESS_WIDTHS:
        raise BadInput(f"shared access must be one of {_listed(ACCESS_WIDTHS)} bytes wide, got {width_bytes}")
    if not shape or shape[-1] != WARP_SIZE:
        raise BadInput(f"shared addresses must have {WARP_SIZE} lanes in their last dimension, got shape {shape}")
    if banks.count & (banks.count - 1) or banks.width & (banks.width - 1) or banks.row_bytes < width_bytes:
        raise BadInput(
            f"banks must be a power of two, as their bytes, and hold {width_bytes} bytes together,"
            f" got {banks.count} banks of {banks.width} bytes"
        )
    return min(WARP_SIZE, banks.row_bytes // width_bytes)


def _listed(values: tuple[int, ...]) -> str:
    return ", ".join(map(str, values))
