"""Finds the elements of shared memory that each warp may read and overwrite, from the program, without data."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from gpusim.arrays import BoolArray, IntArray

LONGEST_RUN = 16
"""Most contiguous elements that one access moves at once; an allocation is a whole number of such runs."""

# The state of an element: the number of the warp that wrote it since the last barrier, or one of these.
_EVERYONE = -1  # written before the last barrier
_NOBODY = -2  # changed by atomics since the last barrier
_EMPTY = -3  # never written, or the destination of a copy in flight


@dataclass(frozen=True, slots=True)
class Runs:
    """
    The elements of an access, as runs of contiguous elements, all equally long and each at a multiple of its length.

    Attributes:
        index: Number of each run, in the order of the access. Shape (runs,).
        width: Elements of a run, a power of two of at most ``LONGEST_RUN``.
    """

    index: IntArray
    width: int

    @property
    def size(self) -> int:
        """Elements of the access."""
        return int(self.index.size) * self.width


@dataclass(frozen=True, slots=True)
class SharedAccess:
    """
    An access of shared memory, with its visibility, which is the same in every CTA.

    Attributes:
        runs: Elements of the access.
        hidden: Elements that the reading warp cannot see, in the shape of the access; None if it can see all.
        overwrites: Whether it writes an element that another warp has read since the last barrier and may still be
            reading.
    """

    runs: Runs
    hidden: BoolArray | None = None
    overwrites: bool = False


@dataclass(slots=True)
class _Moment:
    """
    A point of a program, as a node of the graph of known accesses.

    Attributes:
        writer: The writer of every element, at a point right after a barrier, when no element has a reader.
        after:
            By access, its visibility and the next point.
        barrier: The point after a barrier; None as long as none
            has followed.
    """

    writer: npt.NDArray[np.int8] | None = None
    after: dict[tuple[object, ...], tuple[SharedAccess, "_Moment"]] = field(default_factory=dict)
    barrier: "_Moment | None" = None


class Visibility:
    """
    The writer and the readers of every element of one allocation, the same in all CTAs that execute one program.

    The visibility of each access is computed in the first batch of CTAs. Later batches make the same accesses in the
    same order, so the results are reused. They are also reused in later turns of a mainloop: after two barriers with
    the same writers, the same accesses have the same visibility.
    """

    def __init__(self, elements: int, warps: int) -> None:
        """
        Begin with elements that no warp has written.

        Args:
            elements: Elements of the allocation.
            warps: Warps of a CTA.
        """
        self._writer = np.full(elements, _EMPTY, np.int8)
        self._readers = np.zeros((warps, elements), np.bool_)
        self._warps = np.arange(warps)
        self._accesses: list[SharedAccess] = []
        self._runs: dict[bytes, Runs] = {}
        self._next = self._decided = 0
        self._barrier = self._now = _Moment(self._writer.copy())
        self._moments = {self._writer.tobytes(): self._now}
        # Accesses since the last barrier, and whether writers and readers are up to date with them.
        self._since: list[tuple[Callable[[IntArray], SharedAccess], IntArray]] = []
        self._is_there = True

    def begin_batch(self) -> None:
        """Return to the program's first access."""
        self._next, self._decided = 0, len(self._accesses)

    def invalidate(self, offsets: IntArray) -> SharedAccess:
        """Return an access that marks the destination of a copy in flight, of offsets of shape (threads, ...)."""
        return self._answer(self._invalidate, offsets)

    def store(self, offsets: IntArray) -> SharedAccess:
        """Return a store, of offsets of shape (threads, ...)."""
        return self._answer(self._store, offsets)

    def atomic(self, offsets: IntArray) -> SharedAccess:
        """Return an atomic access whose result no warp may see before a barrier, of offsets of shape (warps, ...)."""
        return self._answer(self._atomic, offsets)

    def load(self, offsets: IntArray) -> SharedAccess:
        """Return a load, of offsets of shape (warps or threads, ...)."""
        return self._answer(self._load, offsets)

    def barrier(self) -> None:
        """Let all warps arrive: every write so far becomes visible to all, and every read so far is done."""
        if self._decided:
            return
        if self._now.barrier is None:
            self._go_there()
            self._writer[self._writer != _EMPTY] = _EVERYONE
            self._readers[:] = False
            found = self._moments.setdefault(self._writer.tobytes(), _Moment(self._writer.copy()))
            self._now.barrier = found
        else:
            self._is_there = False
        self._barrier = self._now = self._now.barrier
        self._since.clear()

    def _go_there(self) -> None:
        """Bring writers and readers up to date, if reused accesses have left them behind."""
        if not self._is_there and self._barrier.writer is not None:
            self._writer[:] = self._barrier.writer
            self._readers[:] = False
            for decide, offsets in self._since:
                decide(offsets)
        self._is_there = True

    def _decide(self, decide: Callable[[IntArray], SharedAccess], offsets: IntArray) -> SharedAccess:
        """Return the visibility of an access: known from the same access at the same point, or newly computed."""
        access = decide.__name__, id(self._runs_of(offsets)), offsets.shape
        if access in self._now.after:
            self._is_there = False
        else:
            self._go_there()
            self._now.after[access] = decide(offsets), _Moment()
        self._since.append((decide, offsets))
        answer, self._now = self._now.after[access]
        return answer

    def _answer(self, decide: Callable[[IntArray], SharedAccess], offsets: IntArray) -> SharedAccess:
        """
        Return the next access of the program.

        Raises:
            ValueError: An earlier batch has made another access at this point.
        """
        if not self._decided:
            self._accesses.append(self._decide(decide, offsets))
        elif self._next >= self._decided or self._accesses[self._next].runs.size != offsets.size:
            raise ValueError("a batch of CTAs accesses shared memory otherwise than the one before it")
        self._next += 1
        return self._accesses[self._next - 1]

    def _invalidate(self, offsets: IntArray) -> SharedAccess:
        self._writer[offsets] = _EMPTY
        return SharedAccess(self._runs_of(offsets), overwrites=self._read_by_others(offsets))

    def _store(self, offsets: IntArray) -> SharedAccess:
        self._writer[offsets] = self._own(offsets)
        return SharedAccess(self._runs_of(offsets), overwrites=self._read_by_others(offsets))

    def _atomic(self, offsets: IntArray) -> SharedAccess:
        lost = (self._writer[offsets] >= 0) | (self._writer[offsets] == _EMPTY)
        self._writer[offsets] = np.where(lost, _EMPTY, _NOBODY)
        return SharedAccess(self._runs_of(offsets), overwrites=self._read_by_others(offsets))

    def _load(self, offsets: IntArray) -> SharedAccess:
        own = self._own(offsets)
        self._readers[own, offsets] = True
        writer = self._writer[offsets]
        hidden = (writer != _EVERYONE) & (writer != own)
        return SharedAccess(self._runs_of(offsets), hidden if hidden.any() else None)

    def _own(self, offsets: IntArray) -> IntArray:
        """Return the warp of each offset, broadcasting against ``offsets`` [threads or warps, ...]."""
        group = offsets.shape[0] // len(self._warps)
        return np.repeat(self._warps, group).reshape(-1, *[1] * (offsets.ndim - 1))

    def _read_by_others(self, offsets: IntArray) -> bool:
        read = self._readers[:, offsets]
        others = self._warps.reshape(-1, *[1] * offsets.ndim) != self._own(offsets)
        return bool((read & others).any())

    def _runs_of(self, offsets: IntArray) -> Runs:
        """Return the longest runs that an access consists of; equal offsets share them."""
        key = offsets.tobytes()
        if key not in self._runs:
            self._runs[key] = longest_runs(offsets)
        return self._runs[key]


def longest_runs(offsets: IntArray) -> Runs:
    """
    Return the longest runs that offsets consist of.

    Args:
        offsets: Any shape; no run extends past the end of the last axis.
    """
    width = LONGEST_RUN
    while width > 1:
        if offsets.shape[-1] % width == 0:
            runs = offsets.reshape(-1, width)
            first = runs[:, 0]
            if not (first % width).any() and (runs == first[:, None] + np.arange(width)).all():
                return Runs(first // width, width)
        width //= 2
    return Runs(offsets.reshape(-1), 1)
