"""Measures atomics in global memory whose lanes repeat words in any order, by the clock and under ncu."""

from typing import Final

import numpy as np

from gpusim.lab.calibrate.own.lane_words import (
    REPEAT_METRICS,
    REPEAT_PART,
    REPEAT_TRIPS,
    REPEAT_UNROLLED,
    lane_words,
)
from gpusim.lab.calibrate.profiled import profile_plan
from gpusim.lab.calibrate.runner import WARP, Device, MeasuredRow, elapsed

_WARPS: Final = 8
_CHAINED: Final = "atom_u32"
"""The kernel whose operation is measured as a chain, too."""


def measure_repeats(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure the sectors, requests and cycles of atomics by the words of a warp's lanes.

    Column ``words`` has the word of each lane. The counters are of ``atomics`` atomics of one warp, which go from one
    part of its memory to another; ``cycles`` has their cycles under ncu. The other columns have cycles of an SM for
    each atomic, without ncu: of one warp and of eight, each at words of its own, from part to part (``moving_1``,
    ``moving_8``) or at the same words again (``staying_1``, ``staying_8``); and ``chained`` of one warp whose atomic
    waits for the last one's result.

    Raises:
        CannotRun: ncu is missing or may not profile here.
    """
    data = device.cupy.zeros(_WARPS * REPEAT_UNROLLED * REPEAT_PART, dtype=np.uint8)
    patterns = lane_words(quick=quick)

    def per_atomic(kernel: str, words: tuple[int, ...], along: int, warps: int) -> float:
        of_lanes = device.cupy.asarray(np.array(words, dtype=np.int32))
        arguments = (data, of_lanes, np.int32(REPEAT_TRIPS), np.int32(along))
        cycles = elapsed(device.spans("repeats", kernel, arguments, threads=warps * WARP))
        return cycles / (REPEAT_TRIPS * REPEAT_UNROLLED * warps)

    rows: list[MeasuredRow] = []
    for row, clocks in profile_plan("repeats", REPEAT_METRICS, device.sms, quick=quick):
        kernel, words = str(row["kernel"]), patterns[str(row["pattern"])]
        row["cycles"] = int(clocks[0, 1] - clocks[0, 0])
        for name, along in (("moving", REPEAT_PART), ("staying", 0)):
            row |= {f"{name}_{warps}": per_atomic(kernel, words, along, warps) for warps in (1, _WARPS)}
        if kernel == _CHAINED:
            row["chained"] = per_atomic("dependent_u32", words, REPEAT_PART, 1)
        rows.append(row)
    return rows
