"""A launch: grid, block, shared memory, and the constant bank that a driver fills for it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gpusim.arrays import WordArray
from gpusim.errors import BadInput
from gpusim.execute.core import constants as core
from gpusim.execute.rows_control import SPECIALS
from gpusim.lower.sass.cubin import Cubin
from gpusim.lower.sass.emulate import KNOWN_WORDS, STACK_POINTER_AT
from gpusim.units import WARP_SIZE, WORD_BYTES

MOST_THREADS = 1024
MOST_EXTENTS = (2**31 - 1, 65535, 65535, 1024, 1024, 64)
"""Largest extents of grid and block. Source: CUDA C++ programming guide, compute capabilities."""

WINDOWS = {0x1C: core.SHARED_WINDOW, 0x24: core.LOCAL_WINDOW}
"""
High words of the generic addresses of shared memory and of the stack, by their bytes in constant bank 0.

The low words before them are 0. Source: nvcc makes a generic address by adding the 64 bits from 0x18, or 0x20, on.
"""

Dim = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class KernelLaunch:
    """
    How a kernel is launched.

    Attributes:
        grid: CTAs in x, y and z.
        block: Threads of a CTA in x, y and z.
        shared_bytes: Dynamic shared memory of a CTA.
    """

    grid: Dim
    block: Dim
    shared_bytes: int = 0

    def __post_init__(self) -> None:
        """
        Check the extents.

        Raises:
            BadInput: One of them is not positive, or a CTA has too many threads.
        """
        if min(*self.grid, *self.block) < 1:
            raise BadInput(f"grid and block must be positive, got grid {self.grid} and block {self.block}")
        if self.threads > MOST_THREADS:
            raise BadInput(f"a CTA has at most {MOST_THREADS} threads, block {self.block} has {self.threads}")
        if any(extent > most for extent, most in zip((*self.grid, *self.block), MOST_EXTENTS, strict=True)):
            raise BadInput(f"grid and block must be at most {MOST_EXTENTS}, got {(*self.grid, *self.block)}")
        if self.shared_bytes < 0:
            raise BadInput(f"shared memory must not be negative, got {self.shared_bytes} bytes")

    @property
    def threads(self) -> int:
        """Threads of a CTA."""
        x, y, z = self.block
        return x * y * z

    @property
    def warps(self) -> int:
        """Warps of a CTA."""
        return -(-self.threads // WARP_SIZE)

    @property
    def ctas(self) -> int:
        """CTAs of the grid."""
        x, y, z = self.grid
        return x * y * z

    def ctaid(self, cta: int) -> Dim:
        """Return blockIdx of a CTA by its linear number, x fastest."""
        x, y, _ = self.grid
        return cta % x, cta // x % y, cta // (x * y)


def constant_bank(cubin: Cubin, launch: KernelLaunch, arguments: Sequence[bytes]) -> bytes:
    """
    Return constant bank 0 as a driver fills it: extents, the stack pointer, parameters.

    Raises:
        BadInput: The arguments are not those of the kernel's signature.
    """
    sizes = [size for _, size in cubin.parameters]
    given = [len(one) for one in arguments]
    if given != sizes:
        raise BadInput(f"{cubin.kernel} takes {len(sizes)} arguments of {sizes} bytes, got {len(given)} of {given}")
    bank = bytearray(cubin.constants)
    head = np.array([*launch.block, *launch.grid], dtype="<u4").tobytes()
    bank[: len(head)] = head
    for at, window in WINDOWS.items():
        bank[at - WORD_BYTES : at + WORD_BYTES] = (window << 32).to_bytes(2 * WORD_BYTES, "little")
    bank[STACK_POINTER_AT : STACK_POINTER_AT + WORD_BYTES] = cubin.local_bytes.to_bytes(WORD_BYTES, "little")
    for (offset, size), value in zip(cubin.parameters, arguments, strict=True):
        begin = cubin.parameters_at + offset
        bank[begin : begin + size] = value
    return bytes(bank)


def unknown_words(cubin: Cubin) -> frozenset[tuple[int, int]]:
    """Return bank and byte of the words that a driver or a loader fills and nobody knows."""
    known = {*KNOWN_WORDS, *((at - byte) // WORD_BYTES for at in WINDOWS for byte in (0, WORD_BYTES))}
    driver = {(0, byte) for byte in range(0, cubin.parameters_at, WORD_BYTES) if byte // WORD_BYTES not in known}
    return frozenset(driver | cubin.relocated)


def special_words(launch: KernelLaunch) -> WordArray:
    """Return the special registers of all warps of a CTA, shape [warps, registers, lanes]; those of a CTA are 0."""
    words = np.zeros((launch.warps, core.SPECIAL_REGISTERS, WARP_SIZE), dtype=np.uint32)
    lanes = np.arange(WARP_SIZE, dtype=np.uint32)
    x, y, _ = launch.block
    for warp in range(launch.warps):
        thread = lanes + warp * WARP_SIZE
        tid = thread % x, thread // x % y, thread // (x * y)
        one = np.uint32(1) << lanes
        values = {
            "SR_LANEID": lanes,
            "SR_TID.X": tid[0],
            "SR_TID.Y": tid[1],
            "SR_TID.Z": tid[2],
            "SR_TID": tid[0] | tid[1] << 16 | tid[2] << 26,
            "SR_EQMASK": one,
            "SR_LTMASK": one - 1,
            "SR_LEMASK": one | one - 1,
            "SR_GTMASK": ~(one | one - 1),
            "SR_GEMASK": ~(one - 1),
            "SR_SWINHI": np.full(WARP_SIZE, core.SHARED_WINDOW),
        }
        for name, value in values.items():
            words[warp, SPECIALS.index(name)] = value
    return words


CTAID_ROW = SPECIALS.index("SR_CTAID.X")
"""Row of the first of the three registers that differ from CTA to CTA."""
