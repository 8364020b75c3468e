"""Measures mbarriers within a CTA and across clusters, named barriers, and setmaxnreg."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from gpusim.lab.calibrate.hopper.launches import clocks
from gpusim.lab.calibrate.runner import WARP, Device, MeasuredRow

_TRIPS, _UNROLLED, _ROUNDS = 32, 8, 5
_OTHERS: Final = (1, 4)
_TWO_GROUPS: Final = 256
_MOVING_THREADS: Final = 384
_DELAYS: Final = (0, 200, 1000)


class RoundCase(NamedTuple):
    """A kernel of mbarriers.cu that repeats rounds: its threads, CTAs, and the warp that takes part beside warp 0."""

    what: str
    threads: int = WARP
    ctas: int = 1
    other: int = -1


def _round_cases(sms: int) -> Iterator[RoundCase]:
    yield from (RoundCase(f"alone_{what}") for what in ("arrive", "bytes", "arrivals"))
    yield from (RoundCase("trip_warps", _TWO_GROUPS, 1, other) for other in _OTHERS)
    for cluster in (2, 4):
        for ctas in (cluster, max(cluster, sms // 2 // cluster * cluster)):
            yield from (RoundCase(f"remote_{what}_{cluster}", WARP, ctas) for what in ("pair", "all", "releasing"))
    yield from (RoundCase("group_mbarrier", threads) for threads in (WARP, 64, 128, 256, 384))
    yield from (RoundCase(f"group_named_{threads}", threads) for threads in (64, 128, 256, 384))
    yield from (RoundCase(f"halves_named_{threads}", threads) for threads in (64, 128, 256))


def measure_mbarriers(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure barriers, in ``cycles`` of the slowest warp for a round of ``what``.

    A thread arrives and waits ("alone_arrive"), arrives with 128 bytes, completes them and waits ("alone_bytes"), or
    arrives nine times and waits for that phase ("alone_arrivals"); it arrives at eight barriers ("row_arrive": each)
    and then waits for them ("row_wait": each). Lanes of warp 0 and warp ``other`` go there and back ("trip_warps"), and
    one way, from the clock before the arrival or the bytes' completion to that behind the wait ("way_arrive",
    "way_bytes"): warp 4 is of warp 0's SMSP. Lanes of the first and the last CTA of a cluster go there and back
    ("remote_pair"; with arrivals that release to the cluster "remote_releasing"), or all CTAs arrive at all and wait
    ("remote_all"). All ``threads`` threads arrive at an mbarrier
    and wait ("group_mbarrier"), or sync at a named barrier ("group_named"); halves of them pass an order there and back
    ("halves_named"). setmaxnreg: warpgroup 0 gives registers back ``delay`` cycles after the other two ask for more:
    the cycles of "registers_given", of "registers_taken", and of the latter behind the begin of the former
    ("registers_waited").
    """
    rows: list[MeasuredRow] = []
    for case in _round_cases(device.sms):
        arguments = (np.uint32(_TRIPS),) + (() if case.other < 0 else (np.uint32(case.other),))
        shape = (case.ctas * case.threads // WARP, 2)
        seen, error = clocks(
            device, "mbarriers", case.what, arguments, shape, ctas=case.ctas, threads=case.threads, shared=0
        )
        spans = seen[seen[:, 1] != 0]
        cycles = int((spans[:, 1] - spans[:, 0]).max(initial=0)) / (_TRIPS * _UNROLLED)
        rows.append(case._asdict() | {"cycles": cycles, "error": error})
    rows += _in_a_row(device)
    for what, other in ((what, other) for what in ("way_arrive", "way_bytes") for other in _OTHERS):
        arguments = (np.uint32(_ROUNDS), np.uint32(other))
        seen, error = clocks(device, "mbarriers", what, arguments, (_TWO_GROUPS // WARP, 1), threads=_TWO_GROUPS)
        case = RoundCase(what, _TWO_GROUPS, 1, other)
        rows.append(case._asdict() | {"cycles": int(seen[other, 0] - seen[0, 0]), "error": error})
    for delay in _DELAYS[: 1 if quick else None]:
        rows += _registers_moved(device, delay)
    return rows


def _in_a_row(device: Device) -> list[MeasuredRow]:
    seen, error = clocks(device, "mbarriers", "alone_row", (np.uint32(_ROUNDS),), (1, 3))
    begin, arrived, end = seen[0].tolist()
    found = {"row_arrive": (arrived - begin) / _UNROLLED, "row_wait": (end - arrived) / _UNROLLED}
    return [RoundCase(what)._asdict() | {"cycles": cycles, "error": error} for what, cycles in found.items()]


def _registers_moved(device: Device, delay: int) -> list[MeasuredRow]:
    shape = (_MOVING_THREADS // WARP, 2)
    seen, error = clocks(device, "mbarriers", "registers_moved", (np.uint32(delay),), shape, threads=_MOVING_THREADS)
    giving, taking = seen[:4], seen[4:]
    found = {
        "registers_given": int((giving[:, 1] - giving[:, 0]).max()),
        "registers_taken": int((taking[:, 1] - taking[:, 0]).max()),
        "registers_waited": int(taking[:, 1].max() - giving[:, 0].max()),
    }
    return [
        RoundCase(what, _MOVING_THREADS)._asdict() | {"delay": delay, "cycles": cycles, "error": error}
        for what, cycles in found.items()
    ]
