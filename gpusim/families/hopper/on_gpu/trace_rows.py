"""The rows of integers that the trace build records (kernels_cuda/hopper/record.cuh), of the same events in words."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from gpusim.arrays import IntArray
from gpusim.families.hopper.collective import Collective
from gpusim.families.hopper.program.ops import Event

TRACE_ROW_WORDS: Final = 8
"""Words of a row: the event's number and up to seven entries."""

RECORDED_THREADS: Final = 8
"""One of so many threads has a place in the buffer."""

TRACE_EVENTS: Final = (
    *("prefetch_tma_descriptor", "mbar_init", "fence_barrier_init", "__syncthreads"),
    *("cluster_arrive_relaxed", "cluster_arrive", "cluster_wait", "setmaxnreg_dec", "setmaxnreg_inc"),
    *("mbar_wait", "mbar_try_wait", "mbar_arrive", "mbar_arrive_remote"),
    *("mbar_arrive_and_expect_tx", "mbar_expect_transaction"),
    *("SM90_TMA_LOAD_3D", "SM90_TMA_LOAD_MULTICAST_3D", "SM90_TMA_STORE_3D"),
    *("tma_store_commit_group", "tma_store_wait_group_read", "fence_view_async_shared", "bar_sync"),
    *("wgmma", "wgmma_fence", "wgmma_commit_group", "wgmma_wait_group"),
    *("SM90_U32x4_STSM_N", "SM75_U32x4_LDSM_N", "stuck"),
)
"""The events. An event's number is its place. "stuck" is none of a schedule: a wait that took far too long."""

_TENSORS: Final = "ABCD"
_MULTICAST: Final = "SM90_TMA_LOAD_MULTICAST_3D"


def event_macros() -> dict[str, int | str]:
    """Return a macro for each event: its number."""
    return {f"EVENT_{event.strip('_').upper()}": number for number, event in enumerate(TRACE_EVENTS)}


def trace_rows(collective: Collective, events: Sequence[Event]) -> IntArray:
    """
    Return the rows of a thread's events. Shape [events, ``TRACE_ROW_WORDS``].

    A barrier is given by its place behind the first one, a tensor by 0 to 3 for A to D. The cache hint of a load is
    left out, and a load without multicast has mask 0.
    """
    numbers = {str(barrier): place for place, barrier in enumerate(collective.barriers)}
    rows = np.zeros((len(events), TRACE_ROW_WORDS), np.int64)
    for row, event in zip(rows, events, strict=True):
        word = str(event[0]).split()[0]
        entries = _ENTRIES.get(word, _plain)(event[1:], numbers)
        row[: len(entries) + 1] = (TRACE_EVENTS.index(word), *entries)
    return rows


def row_words(row: Sequence[int]) -> str:
    """Return a row in words."""
    number, *entries = map(int, row)
    name = TRACE_EVENTS[number] if 0 <= number < len(TRACE_EVENTS) else f"event {number}"
    return f"{name} {' '.join(map(str, entries))}"


_Entries = Sequence[Any]
_Numbers = Mapping[str, int]


def _plain(entries: _Entries, numbers: _Numbers) -> tuple[int, ...]:
    return tuple(numbers[one] if isinstance(one, str) else int(one) for one in entries)


def _tensor(entries: _Entries, numbers: _Numbers) -> tuple[int, ...]:
    return (_TENSORS.index(entries[0]), *_plain(entries[1:], numbers))


def _load(entries: _Entries, numbers: _Numbers) -> tuple[int, ...]:
    tensor, barrier, _, *place = entries
    return (_TENSORS.index(tensor), numbers[barrier], 0, *map(int, place))


def _multicast(entries: _Entries, numbers: _Numbers) -> tuple[int, ...]:
    tensor, barrier, mask, _, *place = entries
    return (_TENSORS.index(tensor), numbers[barrier], int(mask), *map(int, place))


def _wgmma(entries: _Entries, numbers: _Numbers) -> tuple[int, ...]:  # noqa: ARG001 - alike for all
    (a_low, a_high), (b_low, b_high), accumulate = entries
    return int(a_low), int(a_high), int(b_low), int(b_high), int(accumulate)


_ENTRIES: Final[Mapping[str, Callable[[_Entries, _Numbers], tuple[int, ...]]]] = {
    "prefetch_tma_descriptor": _tensor,
    "SM90_TMA_STORE_3D": _tensor,
    "SM90_TMA_LOAD_3D": _load,
    _MULTICAST: _multicast,
    "wgmma": _wgmma,
}
"""How the entries of events become integers; those of others are barriers and integers as they are."""
