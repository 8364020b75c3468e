"""Turns the instructions that warps executed into segments of the code: straight runs and how often each repeats."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from gpusim.arrays import IntArray
from gpusim.sim.columns import Column, column


@dataclass(slots=True)
class Paths:
    """
    Distinct paths of warps through the code, as the core's segments.

    Attributes:
        last: Entry of each exit as a warp's last instruction (``last_exits``).
        first, end, trips: The segments of all paths, path after path. A segment is a run of instructions that follow
            each other in the text, and the number of times that it follows itself.
        begins: First segment of each path.
    """

    last: IntArray
    first: Column = field(default_factory=lambda: column(())[:0])
    end: Column = field(default_factory=lambda: column(())[:0])
    trips: Column = field(default_factory=lambda: column(())[:0])
    begins: list[int] = field(default_factory=list)
    _known: dict[bytes, int] = field(default_factory=dict)

    def add(self, executed: IntArray) -> int:
        """
        Return the number of a path, and add it if it is new.

        Args:
            executed: Number of each instruction that a warp executed, in order. The last one is an exit.
        """
        key = executed.tobytes()
        if key not in self._known:
            self._known[key] = len(self.begins)
            self.begins.append(len(self.first))
            for columns, values in zip(
                (self.first, self.end, self.trips), segments_of(executed, self.last), strict=True
            ):
                columns.frombytes(values.tobytes())
        return self._known[key]

    def program(self, paths: Sequence[int]) -> list[int]:
        """Return the first segment of each warp of a CTA whose warps take these paths."""
        return [self.begins[path] for path in paths]


def segments_of(executed: IntArray, last: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """
    Return the segments of a path: first instruction, end, and trips of each.

    The exit at the end is a segment of its own: the entry of that exit as a warp's last instruction.

    Args:
        executed: Number of each instruction.
        last: Entry of each exit as a warp's last instruction.
    """
    body = executed[:-1]
    breaks = np.flatnonzero(np.diff(body) != 1) + 1
    starts = body[np.concatenate([[0], breaks])] if len(body) else body
    ends = body[np.concatenate([breaks, [len(body)]]) - 1] + 1 if len(body) else body
    changed = np.ones(len(starts), dtype=np.bool_)
    changed[1:] = (starts[1:] != starts[:-1]) | (ends[1:] != ends[:-1])
    kept = np.flatnonzero(changed)
    trips = np.diff(np.append(kept, len(starts)))
    own = last[executed[-1:]]
    return (
        np.concatenate([starts[kept], own]).astype(np.int64),
        np.concatenate([ends[kept], own + 1]).astype(np.int64),
        np.concatenate([trips, [1]]).astype(np.int64),
    )


def leaders_of(first: IntArray) -> set[int]:
    """Return the instructions at which segments begin."""
    return set(np.unique(first).tolist())


def stretches_of(first: IntArray, end: IntArray, instructions: int) -> tuple[tuple[int, int], ...]:
    """Return the parts of the code into and out of which no segment leads, in order, as first and end."""
    cuts = np.unique(np.concatenate([[0, instructions], first, end]))
    return tuple(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))
