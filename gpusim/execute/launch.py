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

FUNCTIONS_AT = 0x7F3000000000
"""Address of the first function outside of the kernel, such as ``vprintf``: nothing is there, but a call is named."""

ADDRESS_BYTES = 8

STACK_ALIGNMENT = 16
"""Alignment of a thread's stack: that of the largest access."""

STACK_RESERVE = 1024
"""Bytes of a thread's stack for recursion and alloca. Source: CUDA runtime API, default of cudaLimitStackSize."""

VIRTUAL_WARP_BIT = 8
"""First bit of the warp's number in SR_VIRTID. Source: nvcc takes %warpid from bits 8 to 14."""

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


def stack_of(cubin: Cubin) -> int:
    """Return the bytes of a thread's stack: those that the compiler knows of, and ``STACK_RESERVE``."""
    return -(-cubin.stack_bytes // STACK_ALIGNMENT) * STACK_ALIGNMENT + STACK_RESERVE


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
    bank[STACK_POINTER_AT : STACK_POINTER_AT + WORD_BYTES] = stack_of(cubin).to_bytes(WORD_BYTES, "little")
    for (offset, size), value in zip(cubin.parameters, arguments, strict=True):
        begin = cubin.parameters_at + offset
        bank[begin : begin + size] = value
    return bytes(bank)


def module_banks(cubin: Cubin, module_at: int | None) -> dict[int, bytes]:
    """
    Return all constant banks but bank 0 as a loader fills them.

    Args:
        cubin: The kernel.
        module_at: Address of the module's memory; None if it is not loaded.
    """
    banks = {number: bytearray(data) for number, data in cubin.banks.items()}
    values = {place: FUNCTIONS_AT + number for number, place in enumerate(cubin.functions)}
    if module_at is not None:
        values |= {place: module_at + at for place, at in cubin.module.addresses.items()}
    for (bank, byte), value in values.items():
        if bank in banks and byte + ADDRESS_BYTES <= len(banks[bank]):
            banks[bank][byte : byte + ADDRESS_BYTES] = value.to_bytes(ADDRESS_BYTES, "little")
    return {number: bytes(data) for number, data in banks.items()}


def function_at(cubin: Cubin, address: int) -> str:
    """Return the name of a function outside of the kernel by its address in ``module_banks``, or nothing."""
    names = tuple(cubin.functions.values())
    return names[address - FUNCTIONS_AT] if 0 <= address - FUNCTIONS_AT < len(names) else ""


def unknown_words(cubin: Cubin, *, loaded: bool) -> frozenset[tuple[int, int]]:
    """Return bank and byte of the words that a driver or a loader fills and nobody knows."""
    known = {*KNOWN_WORDS, *((at - byte) // WORD_BYTES for at in WINDOWS for byte in (0, WORD_BYTES))}
    driver = {(0, byte) for byte in range(0, cubin.parameters_at, WORD_BYTES) if byte // WORD_BYTES not in known}
    known_pairs = (*cubin.functions, *(cubin.module.addresses if loaded else ()))
    filled = {(bank, byte + word) for bank, byte in known_pairs for word in (0, WORD_BYTES)}
    return frozenset(driver | (cubin.relocated - filled))


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
            "SR_VIRTID": np.full(WARP_SIZE, warp << VIRTUAL_WARP_BIT),
            "SR_SWINHI": np.full(WARP_SIZE, core.SHARED_WINDOW),
        }
        for name, value in values.items():
            words[warp, SPECIALS.index(name)] = value
    return words
