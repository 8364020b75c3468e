"""Measures when warpgroups issue wgmma, when they are done, and what stands between them."""

from collections.abc import Iterator
from itertools import product
from typing import Final, NamedTuple

import numpy as np

from gpusim.arrays import IntArray
from gpusim.lab.calibrate.hopper.launches import ALIGNED_BYTES, clocks
from gpusim.lab.calibrate.runner import WARP, Device, MeasuredRow

WIDTHS: Final = (64, 128, 256)
QUEUE_COUNTS: Final = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24)

AROUND: Final = ("fenced", "committed", "waited0", "waited1", "all1")
"""What stands around each wgmma: a fence, a commit, that and a wait for all or for all but one, or both."""

_AROUND_COUNTS: Final = (1, 8)
_STAMPED: Final = 16
_WARPS_OF_GROUP: Final = 4
_DELAYS: Final = (0, 50, 100, 200, 400)
_ROUNDS: Final = 4


class QueueCase(NamedTuple):
    """wgmma of m64n``n``k16 by one or two warpgroups, the second one ``delay`` cycles behind the first."""

    around: str
    n: int
    wgmmas: int
    warpgroups: int = 1
    delay: int = 0


def _cases(*, quick: bool) -> Iterator[QueueCase]:
    for n in WIDTHS:
        for count in QUEUE_COUNTS[:: 4 if quick else 1]:
            yield QueueCase("bare", n, count)
        yield QueueCase("stamped", n, _STAMPED)
        for around, count in product(AROUND, _AROUND_COUNTS):
            yield QueueCase(around, n, count)
        for delay in _DELAYS[:: 2 if quick else 1]:
            yield QueueCase("stamped", n, _STAMPED, 2, delay)
            for around, count in (("bare", 1), ("bare", 4), ("bare", 8), ("bare", 16), ("waited1", 8), ("all1", 8)):
                yield QueueCase(around, n, count, 2, delay)


def measure_wgmma_queue(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure ``wgmmas`` wgmma of one shape, into the same sums, by one warpgroup or by two, a row for each.

    All columns are cycles from the first warp's begin, the last warp's of the warpgroup: ``begin`` its own begin,
    ``issued`` when the last wgmma has been issued, ``done`` when all are done. What is before the first wgmma, the
    fence and the operands' descriptors, is in ``issued`` of a single one. Of "stamped" ones, ``clocks`` has the first
    warp's clock behind each wgmma. Around each wgmma of other kinds are a fence ("fenced"), a commit ("committed"),
    that and a wait for all ("waited0") or for all but one ("waited1"), or fence, commit and the latter ("all1").
    """
    rows: list[MeasuredRow] = []
    for case in _cases(quick=quick):
        readings = (case.wgmmas if case.around == "stamped" else 1) + 2
        warps = _WARPS_OF_GROUP * case.warpgroups
        stamps, error = clocks(
            device,
            "wgmma_queue",
            f"queue_{case.around}_{case.n}_{case.wgmmas}",
            (np.uint32(_ROUNDS), np.uint32(case.delay)),
            (warps, readings),
            threads=warps * WARP,
            shared=(64 + case.n) * 128 + ALIGNED_BYTES,
        )
        since = stamps - stamps[:, 0].min()
        for group in range(case.warpgroups):
            of_group: IntArray = since[_WARPS_OF_GROUP * group : _WARPS_OF_GROUP * (group + 1)]
            begin, issued, done = (int(of_group[:, reading].max()) for reading in (0, -2, -1))
            row: MeasuredRow = case._asdict() | {"warpgroup": group, "begin": begin, "issued": issued, "done": done}
            seen = " ".join(map(str, of_group[0, 1:-1])) if case.around == "stamped" else ""
            rows.append(row | {"clocks": seen, "error": error})
    return rows
