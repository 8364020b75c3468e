"""The observations of a timing run for pictures and traces: spans of warps, copies in flight and MMA bursts."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import eq
from typing import Any, Generic, TypeVar, overload

SpanT = TypeVar("SpanT")


@dataclass(frozen=True, slots=True)
class WarpSpan:
    """
    A stretch of one warp's life in one stall reason ("selected" when it issued).

    The spans of a warp tile its lifetime without a gap.

    Attributes:
        cta: CTA index in launch order.
        warp: Warp index within the CTA.
        smsp: Sub-partition the warp lives on.
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

    - "copy": from the issue of the first copy or global load until the data has landed in shared memory;
    - "wait": the wait_group (or the stores of a pipelined mainloop) and the barrier;
    - "ldmatrix": from the issue of the first fragment load until the last has landed;
    - "mma": from the issue of the first MMA until the last is done.

    For attention, ``k_tile`` is a key block's place in the walk. The activities are "copy_q", "copy_k", "copy_v", "qk",
    "softmax", "pv" and "output", each a stretch without a wait, and "wait_qk", "wait_softmax" and so on for a wait in
    one.

    Attributes:
        cta: CTA index in launch order.
        warp: Warp index within the CTA.
        k_tile: Index of the k tile.
        k_group: k group, or -1 where the activity spans the k tile.
        stage: Stage of the shared-memory ring.
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


class Spans(Sequence[SpanT], Generic[SpanT]):
    """
    A sequence of spans that is kept as columns. Columns are made, and a span becomes an object, when asked for.

    Args:
        kind: Type of the spans.
        columns: Returns the values of each field, equally many, in the order of the type's fields.
    """

    def __init__(self, kind: type[SpanT], columns: Callable[[], Sequence[Sequence[Any]]]) -> None:
        self._kind, self._make = kind, columns

    @cached_property
    def columns(self) -> Sequence[Sequence[Any]]:
        """The values of each field."""
        return self._make()

    def __len__(self) -> int:
        return len(self.columns[0])

    @overload
    def __getitem__(self, place: int) -> SpanT: ...

    @overload
    def __getitem__(self, place: slice) -> "Spans[SpanT]": ...

    def __getitem__(self, place: int | slice) -> "SpanT | Spans[SpanT]":
        values = [column[place] for column in self.columns]
        return Spans(self._kind, lambda: values) if isinstance(place, slice) else self._kind(*values)

    def __iter__(self) -> Iterator[SpanT]:
        return map(self._kind, *self.columns)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(eq, self, other))

    def __hash__(self) -> int:
        return hash(tuple(self))


@dataclass(frozen=True, slots=True)
class Timeline:
    """The spans of the observed CTA: CTA 0, or in attention the first CTA with the most key blocks."""

    warps: Sequence[WarpSpan]
    k_tiles: Sequence[KTileSpan]
