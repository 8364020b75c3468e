"""The timeline of a run, for pictures and traces: spans of warps, copies in flight and MMA bursts."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import chain, starmap
from operator import eq
from typing import Any, Generic, TypeAlias, TypeVar, overload

from gpusim.arrays import IntArray

SpanT = TypeVar("SpanT")


@dataclass(frozen=True, slots=True)
class WarpSpan:
    """
    Consecutive cycles of one warp in one stall reason ("selected" if it issued).

    The spans of a warp tile its lifetime without a gap.

    Attributes:
        cta: CTA index in launch order.
        warp: Warp index within the CTA.
        smsp: Sub-partition of the warp.
        begin: First cycle, counted from the launch of the SM's first CTA.
        end: One past the last cycle.
        reason: ncu's name of the stall reason.
    """

    cta: int
    warp: int
    smsp: int
    begin: int
    end: int
    reason: str


@dataclass(frozen=True, slots=True)
class KTileSpan:
    """
    One activity of one warp for one k tile.

    For GEMM and convolution the activities are:

    - "copy": from the issue of the first copy or global load until the data is in shared memory;
    - "wait": the wait_group (or the stores of a pipelined mainloop) and the barrier;
    - "ldmatrix": from the issue of the first fragment load until the last has returned;
    - "mma": from the issue of the first MMA until the last is done.

    For attention, ``k_tile`` is the number of a key block in the order of execution. The activities are "copy_q",
    "copy_k", "copy_v", "qk", "softmax", "pv" and "output", each of them cycles without a wait. "wait_qk",
    "wait_softmax" and so on are the waits in them.

    Attributes:
        cta: CTA index in launch order.
        warp: Warp index within the CTA.
        k_tile: Index of the k tile.
        k_group: k group, or -1 if the activity spans the k tile.
        stage: Slot of the shared-memory ring.
        activity: Name of the activity.
        begin: First cycle, counted from the launch of the SM's first CTA.
        end: One past the last cycle.
    """

    cta: int
    warp: int
    k_tile: int
    k_group: int
    stage: int
    activity: str
    begin: int
    end: int


Take: TypeAlias = Callable[[slice], Sequence[IntArray]]
"""Returns the columns of a slice of the rows: an array of 64-bit integers for each field."""

PIECE = 1 << 14
"""Rows that are converted to Python objects at a time."""


class Spans(Sequence[SpanT], Generic[SpanT]):
    """
    A sequence of spans that is kept as columns of integers. Columns, and the objects of spans, are made on demand.

    Args:
        kind: Type of the spans.
        rows: Returns the number of spans, and the function that takes the columns of a slice of them, in the order of
            the type's fields.
        names: For each text field, the texts that its column is an index into.
    """

    def __init__(
        self, kind: type[SpanT], rows: Callable[[], tuple[int, Take]], names: Mapping[str, Sequence[str]]
    ) -> None:
        self._kind, self._make = kind, rows
        self._names = [names.get(field.name) for field in fields(kind)]  # type: ignore[arg-type] # a dataclass

    @cached_property
    def _rows(self) -> tuple[int, Take]:
        return self._make()

    def _taken(self, piece: slice) -> Iterator[tuple[Any, ...]]:
        """Return the fields of some spans."""
        columns = [
            column.tolist() if names is None else [names[number] for number in column.tolist()]
            for column, names in zip(self._rows[1](piece), self._names, strict=True)
        ]
        return zip(*columns, strict=True)

    def pieces(self) -> Iterator[Iterator[tuple[Any, ...]]]:
        """Yield the fields of all spans, ``PIECE`` of them at a time."""
        for begin in range(0, len(self), PIECE):
            yield self._taken(slice(begin, begin + PIECE))

    def __len__(self) -> int:
        return self._rows[0]

    @overload
    def __getitem__(self, place: int) -> SpanT: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[SpanT, ...]: ...

    def __getitem__(self, place: int | slice) -> SpanT | tuple[SpanT, ...]:
        if isinstance(place, slice):
            return tuple(starmap(self._kind, self._taken(place)))
        at = range(len(self))[place]
        return next(starmap(self._kind, self._taken(slice(at, at + 1))))

    def __iter__(self) -> Iterator[SpanT]:
        return starmap(self._kind, chain.from_iterable(self.pieces()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(eq, self, other))

    def __hash__(self) -> int:
        return hash(tuple(self))


@dataclass(frozen=True, slots=True)
class Timeline:
    """The spans of the observed CTA: CTA 0, or in attention the first CTA with the most key blocks."""

    warps: Sequence[WarpSpan]
    k_tiles: Sequence[KTileSpan]
