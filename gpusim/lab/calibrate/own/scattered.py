"""Measures stores and loads whose lanes are in one or many lines and sectors, whole and in part."""

from collections.abc import Iterator
from itertools import product
from typing import Final, NamedTuple

import numpy as np

from gpusim.lab.calibrate.own.atomics import by_sm
from gpusim.lab.calibrate.runner import WARP, Device, MeasuredRow, ProfiledLaunch
from gpusim.units import LINE_BYTES, SECTOR_BYTES

_WARPS: Final = 16
_UNROLLED: Final = 8
_SHARED: Final = 200_000
"""Dynamic shared memory of a CTA, bytes: one fits on an SM, and leaves a small L1."""

OWN_RESIDENT: Final = 1 << 17
OWN_STREAMED: Final = 1 << 23
"""Bytes of an SM: few enough for the L2, or so many that they come from DRAM and go there."""

_PITCHES: Final = (LINE_BYTES, 4096)
_KINDS: Final = ("store", "load", "around")
_LINES_OF: Final = {OWN_RESIDENT: 1 << 14, OWN_STREAMED: 1 << 16}
"""Lines that an SM accesses, by the bytes that they are of."""


class _Case(NamedTuple):
    """An access: its lanes are in ``parts`` of ``words`` words of each of ``sectors`` sectors of each of ``lines``."""

    kind: str
    lines: int
    sectors: int
    parts: int
    words: int
    span: int
    sms: int
    pitch: int = LINE_BYTES
    step: int = 0


class _Shape(NamedTuple):
    lines: int
    sectors: int
    parts: int
    words: int


def _shapes() -> Iterator[_Shape]:
    """Return sectors of which a word is accessed, or 16 bytes, or all: by two lanes, or by eight."""
    for parts, words in ((1, 1), (1, 4), (2, 4), (4, 2), (8, 1)):
        for lines, sectors in product((1, 2, 4, 8, 16, 32), (1, 2, 4)):
            if lines * sectors * parts <= WARP:
                yield _Shape(lines, sectors, parts, words)


_CHOSEN: Final = (_Shape(32, 1, 1, 1), _Shape(8, 4, 1, 1), _Shape(8, 4, 1, 4), _Shape(4, 4, 2, 4), _Shape(1, 4, 8, 1))


def _cases(sms: int, *, quick: bool) -> Iterator[_Case]:
    for shape in list(_shapes())[:: 12 if quick else 1]:
        for kind, span, count in product(_KINDS[:2], (OWN_RESIDENT, OWN_STREAMED), (1, sms)):
            if (span, count) != (OWN_STREAMED, 1):  # what one SM streams stays in the L2
                yield _Case(kind, *shape, span, count)
    for kind, shape in product(_KINDS, _CHOSEN[: 1 if quick else None]):
        for count in (max(2, sms // 16), sms // 4, sms // 2):
            yield _Case(kind, *shape, OWN_RESIDENT, count)
        for count in (1, sms):
            # Rows 4096 bytes apart, as of a matrix: down its columns line by line, or word by word.
            for step in (LINE_BYTES, SECTOR_BYTES, 4 * shape.words):
                yield _Case(kind, *shape, _PITCHES[1], count, _PITCHES[1], step)
    for shape, count in product(_CHOSEN, (1, sms)):
        yield _Case("around", *shape, OWN_RESIDENT, count)


def measure_scattered(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure stores and loads by 16 warps on each of ``sms`` SMs ("around" are loads that do not look into the L1).

    The lanes of an access are in ``lines`` lines, ``sectors`` sectors of each, and ``bytes`` of each sector, by
    accesses of 4 ``words`` bytes. The lines are ``pitch`` bytes apart, and one access is ``step`` bytes from the next
    one, within ``span``. Columns have cycles of an SM: ``cycles`` of all accesses, until all stores have been
    performed, the median over SMs; ``slowest`` the most; ``per_access``, ``per_line`` and ``per_sector``.
    """
    rows: list[MeasuredRow] = []
    data = device.cupy.zeros(device.sms * OWN_STREAMED, dtype=np.uint8)
    for case in _cases(device.sms, quick=quick):
        lines = _LINES_OF.get(case.span, _LINES_OF[OWN_RESIDENT])
        trips = max(1, lines // (case.lines * _WARPS * _UNROLLED))
        step = case.step or case.lines * case.pitch
        sizes = (case.lines, case.sectors, case.parts, case.pitch, step, case.span)
        cta_bytes = np.uint64(max(case.span, WARP * case.pitch, OWN_RESIDENT))
        spans = device.spans(
            "scattered",
            f"{case.kind}_{case.words}",
            (data, np.int32(trips), *map(np.uint32, sizes), cta_bytes),
            ctas=case.sms,
            threads=_WARPS * WARP,
            shared=_SHARED,
        )
        row: MeasuredRow = {"kind": case.kind, "lines": case.lines, "sectors": case.sectors}
        row |= {"bytes": 4 * case.words * case.parts, "words": case.words, "pitch": case.pitch, "step": step}
        row |= {"span": case.span, "sms": case.sms, "accesses": trips * _UNROLLED * _WARPS}
        found = by_sm(spans, case.sms, trips * _UNROLLED * _WARPS, "per_access")
        each = float(found["per_access"])
        rows.append(row | found | {"per_line": each / case.lines, "per_sector": each / (case.lines * case.sectors)})
    return rows


PARTIAL_METRICS: Final = (
    "sm__cycles_active.max",
    "lts__t_requests_srcunit_tex.sum",
    "lts__t_sectors_srcunit_tex.sum",
    "lts__t_sectors_op_read.sum",
    "lts__t_sectors_op_write.sum",
    "lts__t_sectors_srcunit_ltcfabric.sum",
    "lts__t_tag_requests.sum",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "dram__sectors_read.sum",
    "dram__sectors_write.sum",
)
"""Counters of the L2's requests and sectors, and of DRAM's."""

PARTIAL_BYTES: Final = 1 << 22
"""Bytes that each SM accesses once, together many times what the L2 holds."""

_PARTIAL_SHAPES: Final = (
    *(_Shape(lines, sectors, 1, words) for words in (1, 4) for lines, sectors in ((32, 1), (8, 2), (8, 4))),
    *(_Shape(lines, sectors, 2, 4) for lines, sectors in ((16, 1), (8, 2), (4, 4))),
)


def partial_launches(sms: int, quick: bool) -> list[ProfiledLaunch]:
    """Return stores and loads of parts of lines that the L2 has not, each line accessed once, by all SMs."""
    launches = []
    for kind, shape in product(_KINDS[:2], _PARTIAL_SHAPES[: 2 if quick else None]):
        trips = PARTIAL_BYTES // LINE_BYTES // (shape.lines * _WARPS * _UNROLLED)
        columns: MeasuredRow = {"kind": kind, "lines": shape.lines, "sectors": shape.sectors}
        columns |= {"bytes": 4 * shape.words * shape.parts, "words": shape.words}
        columns["all_lines"] = sms * PARTIAL_BYTES // LINE_BYTES
        launches.append(
            ProfiledLaunch(
                "scattered",
                f"partial_{kind}_{shape.words}",
                sms,
                _WARPS * WARP,
                ("clocks", "data", trips, shape.lines, shape.sectors, shape.parts, PARTIAL_BYTES),
                columns,
                clocks=2 * _WARPS,
                data_bytes=sms * PARTIAL_BYTES,
                shared=_SHARED,
            )
        )
    return launches
