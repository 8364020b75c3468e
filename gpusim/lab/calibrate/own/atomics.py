"""Measures atomics in shared and in global memory, by operation and by the addresses of lanes, warps and SMs."""

from collections.abc import Iterator
from itertools import product
from typing import Final, NamedTuple

import numpy as np

from gpusim.arrays import IntArray
from gpusim.lab.calibrate.grids import LONE_CTA_BYTES
from gpusim.lab.calibrate.runner import WARP, Device, MeasuredRow, elapsed

SHARED_ATOMICS: Final = ("add_u32", "min_s32", "exch_b32", "cas_b32", "cas_b64")
"""Operations that are one instruction, ATOMS."""

SHARED_LOOPS: Final = ("add_u64", "add_f32", "add_f64", "add_f16x2")
"""Operations that ptxas makes a loop of a load, an addition and ATOMS.CAST.SPIN."""

INCREMENT: Final = "inc"
"""ATOMS.POPC.INC, which returns nothing."""

GLOBAL_ATOMICS: Final = (
    *("add_u32", "add_f32", "min_s32", "add_u64", "add_f64", "add_f16x2", "add_bf16x2"),
    *("exch_b32", "cas_b32", "cas_b64"),
)
"""Operations in global memory. What needs no result is RED for all but exch and cas."""

_RESULTS: Final = ("dependent", "returned", "dropped")
"""Uses of the result: the next atomic's operand, none (yet it is returned), or it is not returned."""

_SHARED_WARPS: Final = (1, 4, 16)
_UNROLLED: Final = 8
_SHARED_TRIPS, _LOOP_TRIPS, _GLOBAL_TRIPS = 64, 8, 16
_BANKS: Final = 32
_LANES: Final = (1, 2, 4, 8, 16, 32)


def measure_shared_atomics(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure atomics in shared memory.

    ``lanes`` lanes side by side are at one word, and words are ``step`` bytes apart: of ``ways`` words in each bank.
    With ``together`` 1, all warps are at the same words. Column ``per_atomic`` has the cycles of the SM for a warp's
    atomic; for "dependent" it is the latency.
    """
    rows: list[MeasuredRow] = []
    for operation in (*SHARED_ATOMICS, *SHARED_LOOPS, INCREMENT):
        width = 8 if operation.endswith("64") else 4
        trips = _LOOP_TRIPS if operation in SHARED_LOOPS else _SHARED_TRIPS
        for result, (lanes, ways), together in product(
            _RESULTS[2:] if operation == INCREMENT else _RESULTS,
            (*((lanes, 1) for lanes in _LANES), *((1, ways) for ways in _LANES[1:])),
            (0, 1),
        ):
            for warps in (1,) if result == "dependent" else _SHARED_WARPS[:: 2 if quick else 1]:
                if together and (warps == 1 or ways > 1):
                    continue
                warp_bytes = 0 if together else _BANKS * _BANKS * width
                numbers = (np.uint32(value) for value in (lanes, ways * width, warp_bytes, 0))
                shared = warps * _BANKS * _BANKS * width
                arguments, threads = (np.int32(trips), *numbers), warps * WARP
                kernel = f"{result}_{operation}"
                cycles = elapsed(device.spans("shared_atomics", kernel, arguments, threads=threads, shared=shared))
                row: MeasuredRow = {"operation": operation, "result": result, "lanes": lanes, "ways": ways}
                row |= {"step": ways * width, "together": together, "warps": warps, "cycles": cycles}
                rows.append(row | {"per_atomic": cycles / (trips * _UNROLLED * warps)})
    return rows


class _Pattern(NamedTuple):
    lanes: int
    step: int
    lines: int


_LINE, _SPAN = 128, 16384
_GLOBAL_WARPS: Final = (1, 8)


def _patterns(width: int, *, every: bool) -> list[_Pattern]:
    """Return all lanes at a word, each at its own word, and each in its own line; with ``every`` also those between."""
    found = [_Pattern(WARP, width, 1), _Pattern(1, width, width // 4), _Pattern(1, _LINE, WARP)]
    if every:
        found += [_Pattern(lanes, width, 1) for lanes in _LANES[1:-1]]
        found += [_Pattern(1, 32, 8), *(_Pattern(lanes, _LINE, WARP // lanes) for lanes in _LANES[1:-1])]
    return found


class _Global(NamedTuple):
    operation: str
    result: str
    pattern: _Pattern
    warps: int
    ctas: int
    together: str
    along: int


def _global_cases(sms: int, *, quick: bool) -> Iterator[_Global]:
    for operation in GLOBAL_ATOMICS:
        every = operation in GLOBAL_ATOMICS[:2] and not quick
        width = 8 if operation.endswith("64") else 4
        for pattern in _patterns(width, every=every):
            yield _Global(operation, "dependent", pattern, 1, 1, "", 0)
            footprint = pattern.lines * _LINE
            for result, warps, ctas in product(
                _RESULTS[1:], _GLOBAL_WARPS[0 if every else 1 :], _grids(sms, every=every)
            ):
                for along in (0, footprint):
                    yield _Global(operation, result, pattern, warps, ctas, "", along)
                yield _Global(operation, result, pattern, warps, ctas, "warps", 0)
                if ctas > 1:
                    yield _Global(operation, result, pattern, warps, ctas, "all", 0)


def _grids(sms: int, *, every: bool) -> tuple[int, ...]:
    return (1, max(2, sms // 16), sms // 2, sms) if every else (1, sms)


def measure_global_atomics(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure atomics in global memory that hit the L2.

    ``lanes`` lanes side by side are at one word, and words are ``step`` bytes apart, in ``lines`` lines. Each of
    ``warps`` warps on each of ``sms`` SMs has its own words, or the warps of an SM have the same (``together``
    "warps"), or all warps have ("all"). With ``along`` 0, a warp's atomics are at the same words, else so many bytes
    apart. Column ``cycles`` has the median over SMs, ``slowest`` the longest; ``per_atomic`` the cycles of an SM for a
    warp's atomic, the latency for "dependent".
    """
    rows: list[MeasuredRow] = []
    data = device.cupy.zeros(device.sms * _GLOBAL_WARPS[-1] * _SPAN, dtype=np.uint8)
    for case in _global_cases(device.sms, quick=quick):
        warp_bytes = 0 if case.together else _SPAN
        cta_bytes = 0 if case.together == "all" else _GLOBAL_WARPS[-1] * _SPAN
        sizes = (case.pattern.lanes, case.pattern.step, warp_bytes, cta_bytes, case.along, _SPAN)
        spans = device.spans(
            "global_atomics",
            f"{case.result}_{case.operation}",
            (data, np.int32(_GLOBAL_TRIPS), *map(np.uint32, sizes)),
            ctas=case.ctas,
            threads=case.warps * WARP,
            shared=LONE_CTA_BYTES,
        )
        row: MeasuredRow = {"operation": case.operation, "result": case.result, **case.pattern._asdict()}
        row |= {"warps": case.warps, "sms": case.ctas, "together": case.together, "along": case.along}
        rows.append(row | by_sm(spans, case.ctas, _GLOBAL_TRIPS * _UNROLLED * case.warps, "per_atomic"))
    return rows


_STRIDES: Final = tuple(_LINE << power for power in range(14))
_NEIGHBOURS: Final = tuple(2 << power for power in range(1, 10))


def measure_slices(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure atomics on several lines in turn, by all warps of all SMs: lines of one slice of the L2 wait for each other.

    An atomic is at the 32 words of a line. The next one is at the line ``along`` bytes behind it, until ``lines`` lines
    had their turn. Column ``per_atomic`` has the cycles of the chip for a warp's atomic.
    """
    rows: list[MeasuredRow] = []
    data = device.cupy.zeros(2 * max(_STRIDES), dtype=np.uint8)
    groups = [(1, 0), *((2, along) for along in _STRIDES), *((lines, _LINE) for lines in _NEIGHBOURS)]
    warps, ctas = _GLOBAL_WARPS[-1], device.sms
    for lines, along in groups[:: 4 if quick else 1]:
        numbers = (1, 4, 0, 0, along, max(_LINE, lines * along))
        spans = device.spans(
            "global_atomics",
            "dropped_add_u32",
            (data, np.int32(_GLOBAL_TRIPS), *map(np.uint32, numbers)),
            ctas=ctas,
            threads=warps * WARP,
            shared=LONE_CTA_BYTES,
        )
        row: MeasuredRow = {"lines": lines, "along": along, "warps": warps, "sms": ctas}
        rows.append(row | by_sm(spans, ctas, _GLOBAL_TRIPS * _UNROLLED * warps * ctas, "per_atomic"))
    return rows


def by_sm(spans: IntArray, ctas: int, each: int, name: str) -> MeasuredRow:
    """
    Return the cycles of CTAs on an SM each: the median, the slowest, and the median for each of ``each`` instructions.

    Args:
        spans: Begin and end of each warp, shape [warps, 2]. Clocks of two SMs are not compared.
        ctas: CTAs, with the same number of warps each.
        each: Warp instructions of a CTA.
        name: Column of the cycles for one instruction.
    """
    of_ctas = spans.reshape(ctas, -1, 2)
    cycles = of_ctas[..., 1].max(axis=1) - of_ctas[..., 0].min(axis=1)
    middle = float(np.median(cycles))
    return {"cycles": middle, "slowest": int(cycles.max()), name: middle / each}
