"""The shared memory of a CTA: its bytes, and which accesses of them have not been ordered before a next one."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from gpusim.arrays import IntArray
from gpusim.families.hopper.execute.clocks import (
    FENCED_ACCESSES,
    OWN_ACCESSES,
    STORE_GROUPS,
    WGMMA_GROUPS,
    Clock,
    component,
)
from gpusim.families.hopper.execute.elements import PATTERNS, Bits
from gpusim.families.hopper.execute.places import GRANULE

GranuleIndex = slice | IntArray

_CHUNK_TYPE: Final = np.complex128
"""A numpy type of 16 bytes, which is copied bit by bit."""

_POISON: Final = 0xFF
"""Bytes of shared memory at first: NaN in every floating type."""

UNFILLED: Final = -2
"""Content of bytes that nothing was written to."""

KIND_BITS: Final = 40
"""Contents are numbered from 0 for A and B, from 1 << 40 for C, and from 2 << 40 for D."""

C_CONTENT: Final = 1 << KIND_BITS
D_CONTENT: Final = 2 << KIND_BITS

GENERIC: Final = 0
BY_WGMMA: Final = 1
BY_STORE: Final = 2
WRITE: Final = 3
"""Kinds of accesses: reads by threads, by wgmma and by TMA stores, and writes."""

_READERS: Final = ((OWN_ACCESSES, FENCED_ACCESSES), (WGMMA_GROUPS, WGMMA_GROUPS), (STORE_GROUPS, STORE_GROUPS))
"""Components of a read, as generic and as async accesses must know it."""


class Conflict(NamedTuple):
    """
    An access that is not ordered before another one.

    Attributes:
        role: Number of the role among the CTA's, or -1 for a TMA load.
        kind: ``GENERIC``, ``BY_WGMMA``, ``BY_STORE`` or ``WRITE``.
        content: What the access wrote, or needs.
        fence: Whether only a fence.proxy.async is missing.
    """

    role: int
    kind: int
    content: int
    fence: bool


class SharedBytes:
    """Shared memory of one CTA."""

    def __init__(self, size: int, roles: Sequence[int], components: int) -> None:
        """
        Poison the memory.

        Args:
            size: Bytes.
            roles: Numbers of the CTA's roles in the cluster.
            components: Components of a clock.
        """
        granules = -(-size // GRANULE)
        self.bytes = np.full(granules * GRANULE, _POISON, np.uint8)
        self._chunks = self.bytes.view(_CHUNK_TYPE)
        known = [[component(role, of[proxy]) for role in roles for of in _READERS] for proxy in (0, 1)]
        self._known_of_reads = np.array(known)
        self._roles = {component(role, OWN_ACCESSES): number for number, role in enumerate(roles)}
        self._reads = np.zeros((len(roles) * len(_READERS), granules), np.int32)
        self._wanted = np.full(self._reads.shape, UNFILLED, np.int64)
        self._writer = np.full(granules, components - 1, np.int64)
        self._written = np.zeros(granules, np.int32)
        self._generic = np.zeros(granules, np.int64)
        self.content: IntArray = np.full(granules, UNFILLED, np.int64)

    def gather(self, chunks: IntArray, bits: int) -> Bits:
        """Return the elements of chunks, those of a row side by side."""
        return self._chunks[chunks].view(PATTERNS[bits])

    def scatter(self, chunks: IntArray, values: Bits) -> None:
        """Write elements to chunks, each row to those of the row."""
        self._chunks[chunks] = np.ascontiguousarray(values).view(_CHUNK_TYPE)

    def unordered_write(self, where: GranuleIndex, clock: Clock, *, by_async: bool) -> Conflict | None:
        """Return a write that is not ordered before an access with a clock; ``by_async``: in the async proxy."""
        writer, written = self._writer[where], self._written[where]
        late = written > clock[writer + self._generic[where] if by_async else writer]
        if not late.any():
            return None
        at = int(late.argmax())
        fence = not bool((written > clock[writer]).any())
        return Conflict(self._roles.get(int(writer[at]), -1), WRITE, int(self.content[where][at]), fence)

    def unordered_read(self, where: GranuleIndex, clock: Clock, content: int, *, by_async: bool) -> Conflict | None:
        """
        Return a read that is not ordered before a write with a clock.

        A read that wants what is written, or what comes later of its kind, came too early. It is no conflict here.
        """
        reads = self._reads[:, where]
        late = reads > clock[self._known_of_reads[int(by_async)]][:, np.newaxis]
        if not late.any():
            return None
        wanted = self._wanted[:, where]
        late &= (wanted < content) | (wanted >> KIND_BITS != content >> KIND_BITS)
        if not late.any():
            return None
        row, at = (int(axis[0]) for axis in late.nonzero())
        role, kind = divmod(row, len(_READERS))
        fence = by_async and not bool((late & (reads > clock[self._known_of_reads[0]][:, np.newaxis])).any())
        return Conflict(role, kind, int(wanted[row, at]), fence)

    def note_read(self, where: GranuleIndex, reader: tuple[int, int], number: int, wanted: int) -> None:
        """
        Record a read.

        Args:
            where: What is read.
            reader: The role among the CTA's, and ``GENERIC``, ``BY_WGMMA`` or ``BY_STORE``.
            number: Its number among the role's accesses or groups.
            wanted: The content that it needs.
        """
        row = reader[0] * len(_READERS) + reader[1]
        self._reads[row, where] = number
        self._wanted[row, where] = wanted

    def note_write(self, where: GranuleIndex, of: int, number: int, content: int, *, generic: bool) -> None:
        """Record a write: it has happened for those whose clock counts ``number`` in component ``of``."""
        self._writer[where] = of
        self._written[where] = number
        self._generic[where] = int(generic)
        self.content[where] = content

    def other_content(self, where: GranuleIndex, wanted: int) -> int | None:
        """Return what is there instead of the content that a read needs; None if all of it is there."""
        content = self.content[where]
        other = content != wanted
        return int(content[int(other.argmax())]) if other.any() else None
