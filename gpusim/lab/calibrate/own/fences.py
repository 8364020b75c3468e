"""Measures fences by scope, alone and behind accesses that have not been performed, sleeps and warp barriers."""

from collections.abc import Iterator
from itertools import product
from typing import Final, NamedTuple

import numpy as np

from gpusim.lab.calibrate.grids import LONE_CTA_BYTES
from gpusim.lab.calibrate.own.atomics import by_sm
from gpusim.lab.calibrate.runner import WARP, Device, MeasuredRow
from gpusim.units import LINE_BYTES

FENCES: Final = (
    *("none", "threadfence_block", "threadfence", "threadfence_system"),
    *("acq_rel_cta", "acq_rel_gpu", "acq_rel_sys", "nanosleep_0", "syncwarp"),
    *("relaxed_load", "acquire_load", "relaxed_store", "release_store"),
)
"""
Instructions behind the accesses.

On Hopper, __threadfence_block() is MEMBAR.SC.CTA. __threadfence() is MEMBAR.SC.GPU, ERRBAR, CGAERRBAR and CCTL.IVALL.
fence.acq_rel has MEMBAR.ALL in place of MEMBAR.SC. An acquiring load is a load and CCTL.IVALL; a releasing store is
MEMBAR.ALL.GPU, ERRBAR, CGAERRBAR and a store. __syncwarp() of a warp that has not diverged is NOP.
"""

UNFENCED: Final = ("none", "nanosleep_0", "syncwarp")
"""Instructions that order no accesses. They are not measured behind loads, which ptxas merges over them."""

PENDING: Final = ("sts", "stg", "red", "ldg")
"""Accesses before a fence: stores to shared and to global memory, additions without a result, and loads."""

_COUNTS: Final = (1, 2, 4, 8)
_DELAYED_COUNTS: Final = (1, 8)
_WARPS: Final = (1, 4, 8, 16, 32)
_DELAYS: Final = (0, 50, 100, 200, 400, 800, 1600)
_STEPS: Final = (4, LINE_BYTES)
_TRIPS, _UNROLLED = 8, 8
_WARP_BYTES: Final = 9 * 4096


class _Case(NamedTuple):
    """A fence behind some ``accesses``, ``delay`` cycles after them; -1 is a chain of accesses and fences in turn."""

    fence: str
    pending: str
    accesses: int
    step: int
    delay: int = -1
    warps: int = 1
    sms: int = 1


def _behind(counts: tuple[int, ...]) -> Iterator[tuple[str, str, int, int]]:
    """Yield fences, the kind and number of accesses, and the bytes from lane to lane: 4, or a line of global memory."""
    for fence in FENCES:
        yield fence, "nothing", 0, _STEPS[0]
        for pending, accesses in product(PENDING[: -1 if fence in UNFENCED else None], counts):
            for step in _STEPS[:1] if pending == "sts" else _STEPS:
                yield fence, pending, accesses, step


def _cases(sms: int, *, quick: bool) -> Iterator[_Case]:
    for fence, pending, accesses, step in _behind(_COUNTS[:1] if quick else _COUNTS):
        for warps in _WARPS[:: 4 if quick else 1]:
            yield _Case(fence, pending, accesses, step, warps=warps)
        if accesses in {0, *_DELAYED_COUNTS} and step == _STEPS[0]:
            for warps in (1, 8):
                yield _Case(fence, pending, accesses, step, warps=warps, sms=sms)
    for fence, pending, accesses, step in _behind(_DELAYED_COUNTS[: 1 if quick else None]):
        for delay in _DELAYS[: None if accesses and not quick else 1]:
            yield _Case(fence, pending, accesses, step, delay=delay)


def measure_fences(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure fences behind some ``accesses`` of a word of each lane, lanes ``step`` bytes apart.

    With ``delay`` -1, each of ``warps`` warps on each of ``sms`` SMs issues the accesses and the fence in turn. Column
    ``cycles`` has the median over SMs of all of it, ``slowest`` the longest; ``per_trip`` the cycles from one fence of
    a warp to its next, ``per_fence`` those of the SM for each. With another ``delay``, ``per_fence`` has the cycles of
    the fence alone, so many cycles after one warp has issued the accesses; two readings of the clock are in it, and of
    the fence "none" nothing else is.
    """
    rows: list[MeasuredRow] = []
    data = device.cupy.zeros(device.sms * _WARPS[-1] * _WARP_BYTES, dtype=np.uint8)
    for case in _cases(device.sms, quick=quick):
        chained = case.delay < 0
        kernel = f"{'chain' if chained else 'after'}_{case.fence}_{case.pending}_{case.accesses}"
        numbers = (np.uint32(case.step),) if chained else (np.uint32(case.step), np.uint32(case.delay))
        arguments, threads = (data, np.int32(_TRIPS), *numbers), case.warps * WARP
        spans = device.spans("fences", kernel, arguments, ctas=case.sms, threads=threads, shared=LONE_CTA_BYTES)
        fences = _TRIPS * (_UNROLLED if chained else 1)
        found = by_sm(spans, case.sms, fences, "per_trip")
        rows.append(case._asdict() | found | {"per_fence": float(found["per_trip"]) / case.warps})
    return rows
