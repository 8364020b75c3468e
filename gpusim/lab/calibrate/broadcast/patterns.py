"""The addresses of the broadcast experiment: which lanes of a warp share an address. It knows no GPU."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.layout.accesses import AccessOp
from gpusim.units import WARP_SIZE

NO_LANE: Final = -1
"""Offset of an inactive lane."""

OFFSETS_END: Final = 16 << 10
"""First byte of shared memory beyond all offsets."""

RANDOM_PATTERNS: Final = 120
"""Number of random patterns for each operation and width."""

_SEED: Final = 20_261_128
_HALF = WARP_SIZE // 2

_Slots: TypeAlias = Callable[[IntArray], IntArray]
_Lanes: TypeAlias = Callable[[IntArray], BoolArray]


def _without(lane: IntArray, bit: int) -> IntArray:
    """Return the lane's number without one of its bits: lanes that differ only in that bit get the same number."""
    return lane >> bit + 1 << bit | lane & (1 << bit) - 1


def _modulo(lane: IntArray, count: int) -> IntArray:
    return lane % count


_EQUAL: Final[dict[str, _Slots]] = {
    "own": lambda lane: lane,
    "all": lambda lane: lane * 0,
    **{f"xor {1 << bit}": partial(_without, bit=bit) for bit in range(5)},
    "fours": lambda lane: lane // 4,
    "eights": lambda lane: lane // 8,
    "halves": lambda lane: lane // 16,
    **{f"modulo {count}": partial(_modulo, count=count) for count in (2, 4, 8, 16)},
    "own, then xor 1": lambda lane: np.where(lane < _HALF, lane, 64 + lane // 2),
    "xor 1, then own": lambda lane: np.where(lane < _HALF, lane // 2, 64 + lane),
    "xor 1, then xor 2": lambda lane: np.where(lane < _HALF, lane // 2, 64 + _without(lane, 1)),
    "xor 1 and xor 2 by quarters": lambda lane: np.where(lane // 8 % 2 == 0, lane // 2, 64 + _without(lane, 1)),
    "xor 1 but for lane 5": lambda lane: np.where(lane == 5, 40, lane // 2),
    "xor 2 but for lane 5": lambda lane: np.where(lane == 5, 40, _without(lane, 1)),
    "xor 1 but for lane 21": lambda lane: np.where(lane == 21, 40, lane // 2),
    "equal halves, xor 1": lambda lane: lane % _HALF // 2,
    "equal halves, xor 2": lambda lane: _without(lane % _HALF, 1),
}
"""Slot, in units of the access width, of each lane: which lanes share one."""

_STRIDED: Final = ("own", "xor 1", "xor 2", "xor 4")
_STRIDES: Final = (2, 4, 8, 16)
"""Slots between neighbours, so that lanes of different slots conflict in banks."""

_TAKING: Final[dict[str, _Lanes]] = {
    "even lanes": lambda lane: lane % 2 == 0,
    "odd lanes": lambda lane: lane % 2 == 1,
    "lanes 0 and 1 of four": lambda lane: lane % 4 < 2,
    "low half": lambda lane: lane < _HALF,
    "low quarter": lambda lane: lane < 8,
    "lane 0": lambda lane: lane == 0,
    "lanes 0 and 8": lambda lane: lane % _HALF % 8 + lane // _HALF == 0,
    "lanes 0 and 16": lambda lane: lane % _HALF == 0,
    "all but lane 5": lambda lane: lane != 5,
}
"""Active lanes, for patterns with one slot for each lane or each pair of lanes."""


@dataclass(frozen=True, slots=True)
class AddressPattern:
    """
    The addresses of one warp-wide access.

    Attributes:
        name: Which lanes share an address.
        op: The operation.
        width_bytes: Bytes of a lane; for ldmatrix, of a row.
        offsets: Byte offset of each lane in shared memory, ``NO_LANE`` for an inactive one. Shape (32,).
    """

    name: str
    op: AccessOp
    width_bytes: int
    offsets: IntArray

    @property
    def kernel(self) -> str:
        """Name of the kernel in broadcast.cu."""
        return f"broadcast_{self.op}_{self.width_bytes}"


def patterns() -> list[AddressPattern]:
    """Return every pattern of the experiment, in order."""
    widths: list[tuple[AccessOp, int]] = [("load", 4), ("load", 8), ("load", 16)]
    widths += [("store", 4), ("store", 8), ("store", 16), ("ldmatrix", 16)]
    found = [
        AddressPattern(name, op, width, np.where(taking, slots * width, NO_LANE))
        for op, width in widths
        for name, slots, taking in (*_stated(), *(_random(width) if width > 4 or op == "ldmatrix" else ()))
        if op != "ldmatrix" or taking.all()
    ]
    return [one for one in found if one.offsets.max() + one.width_bytes <= OFFSETS_END]


def _stated() -> Iterator[tuple[str, IntArray, BoolArray]]:
    """Yield the name, the slots and the active lanes of each pattern with a stated rule."""
    lane: IntArray = np.arange(WARP_SIZE, dtype=np.int64)
    everyone: BoolArray = lane >= 0
    for name, slots in _EQUAL.items():
        yield name, slots(lane), everyone
    for name in _STRIDED:
        for stride in _STRIDES:
            yield f"{name}, {stride} slots apart", _EQUAL[name](lane) * stride, everyone
    for name in ("own", "xor 1", "xor 2"):
        for lanes, taking in _TAKING.items():
            yield f"{name}, {lanes}", _EQUAL[name](lane), taking(lane)


def _random(width: int) -> Iterator[tuple[str, IntArray, BoolArray]]:
    """Yield patterns of random slots: lanes share them by a rule drawn for each half-warp, with exceptions."""
    rng = np.random.default_rng((_SEED, width))
    lane = np.arange(_HALF)
    for number in range(RANDOM_PATTERNS):
        slots, pool = np.empty(WARP_SIZE, dtype=np.int64), int(rng.choice((4, 16, 64, 256)))
        for half in (slots[:_HALF], slots[_HALF:]):
            rule = int(rng.integers(5))
            leader = lane if rule == 4 else lane & ~(1 << (rule if rng.random() < 0.5 else rule % 2))
            half[:] = rng.integers(pool, size=_HALF)[leader]
            if rng.random() < 0.3:
                half[rng.integers(_HALF)] = rng.integers(pool)
        share = float(rng.choice((1.0, 1.0, 0.75, 0.3)))
        yield f"random {number}", slots, rng.random(WARP_SIZE) < share
