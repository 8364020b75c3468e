"""Measures lines by the requesting SM: which cross the chip, which are merged, and the SMs' shares of bandwidth."""

from collections.abc import Mapping
from itertools import product
from typing import Any, Final, NamedTuple

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.lab.calibrate.cold import FILL_BYTES, fill_l2
from gpusim.lab.calibrate.grids import LONE_CTA_BYTES
from gpusim.lab.calibrate.runner import WARP, Device, MeasuredRow, ProfiledLaunch
from gpusim.units import LINE_BYTES, PAGE_LINE_BITS, SMS_PER_TPC

CROSSES: Final = 80
"""Least cycles by which the first load of a line takes longer than the second if it crosses the chip; else it is 9."""

APART_METRICS: Final = (
    "lts__t_sectors_srcunit_tex.sum",
    "lts__t_sectors_op_read.sum",
    "l1tex__m_xbar2l1tex_read_sectors.sum",
    "lrc__xbar2lrc_requests_op_read.sum",
    "lrc__lrc2xbar_sectors_op_read_replayed.sum",
    "lrc__request_sectors_op_read_coalescing_achieved_type_hardware.sum",
    "dram__bytes_read.sum",
)
"""Counters of sectors that L2 slices look up and SMs receive, and of the request coalescers before the slices."""

_APART_STEPS, _APART_PERIOD = 256, 3000
_NOBODY = -1

_PAGE_BYTES: Final = LINE_BYTES << PAGE_LINE_BITS
_LINES_OF_AN_SM: Final = 16
_LOADERS: Final = (0, 1, 2, 5)


def crosses(row: Mapping[str, str | float]) -> bool:
    """Return whether the line of a row of ``measure_sides`` crossed the chip to the SM that loaded it."""
    return int(row["first"]) - int(row["second"]) > CROSSES


def measure_sides(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure loads by every SM of lines that another SM has brought into the L2, or written.

    A single SM (``loader``) brings lines of one page of 2 MiB from DRAM (``miss``) and loads them again (``again``), or
    stores to them. Then each SM loads its own 16 of them twice (``first``, ``second``). ``line`` is the line's number
    in the page. Cycles include clock reads.
    """
    rows: list[MeasuredRow] = []
    memory = device.cupy.zeros(2 * _PAGE_BYTES, dtype=np.uint8)
    filling = device.cupy.zeros(FILL_BYTES, dtype=np.uint8)
    aligned = -int(memory.data.ptr) % _PAGE_BYTES // LINE_BYTES
    for what, loaders in (("read", _LOADERS[: 1 if quick else None]), ("written", _LOADERS[: 0 if quick else 2])):
        for loader in loaders:
            generator = np.random.default_rng(loader)
            lines = generator.permutation(_PAGE_BYTES // LINE_BYTES - 1)[: device.sms * _LINES_OF_AN_SM] + 1
            own = lines.reshape(device.sms, _LINES_OF_AN_SM)
            # Each SM reads the page's line 0 first, for the address translation and the code.
            of_each = np.hstack([np.zeros((device.sms, 1), dtype=np.int64), own]) + aligned
            of_one = np.concatenate([[0], lines]).reshape(1, -1) + aligned
            fill_l2(device, filling)
            passes: list[IntArray] = [np.zeros_like(lines)] * 2
            if what == "written":
                _loads(device, memory, of_one, only=loader, writes=True)
            else:
                passes = [_loads(device, memory, of_one, only=loader)[1][0, 1:] for _ in range(2)]
            passes += [_loads(device, memory, of_each)[1][:, 1:].reshape(-1) for _ in range(2)]
            for place, line in enumerate(lines.tolist()):
                row: MeasuredRow = {"what": what, "loader": loader, "sm": place // _LINES_OF_AN_SM, "line": line}
                names = ("miss", "again", "first", "second")
                rows.append(row | {name: int(found[place]) for name, found in zip(names, passes, strict=True)})
    return rows


class _Loads(NamedTuple):
    begins: IntArray
    cycles: IntArray


def _loads(device: Device, memory: Any, lines: IntArray, *, only: int = -1, writes: bool = False) -> _Loads:
    """Return begin and cycles of each load, shaped as ``lines``: a row for each SM, or one for SM ``only``."""
    begins = device.cupy.zeros(lines.shape, dtype=np.uint64)
    cycles = device.cupy.zeros(lines.shape, dtype=np.uint32)
    numbers = device.cupy.asarray(lines.astype(np.uint32))
    scalars = (np.int32(value) for value in (lines.shape[1], only, int(writes)))
    device.launch("lines", "in_turn", (begins, cycles, memory, numbers, *scalars), ctas=device.sms, threads=WARP)
    return _Loads(*(np.asarray(device.cupy.asnumpy(found), dtype=np.int64) for found in (begins, cycles)))


def apart_launches(sms: int, quick: bool) -> list[ProfiledLaunch]:
    """
    Return reads by pairs of SMs, and by four, that begin some cycles apart (``late``): SMs 0, 1, 16 and 17 of a GPC.

    SMs 0 and 2 are of two GPCs: their reads are not merged. ``burst`` lines are requested at once; with ``warm`` 1 they
    hit the L2.
    """
    near = (-200, -160, -120, -80, -60, -40, -20, -10, 0, 10, 20, 40, 60, 80, 120, 160, 200)
    if quick:
        return [_apart(sms, (0, 1), 0), _apart(sms, (0, 1), 1000)]
    found = [_apart(sms, members, late) for members in ((0, 1), (0, 16)) for late in near]
    found += [_apart(sms, (0, 16), late, burst=32) for late in near]
    found += [_apart(sms, (0, 16), late, warm=0) for late in (0, 50, 100, 200, 400, 600, 800, 1000, 1400)]
    found += [
        _apart(sms, (0, 1, 16, 17), late, burst=burst) for burst in (1, 32) for late in (0, 10, 20, 40, 60, 80, 120)
    ]
    return [*found, _apart(sms, (0, 2), 0)]


def _apart(sms: int, members: tuple[int, ...], late: int, *, burst: int = 1, warm: int = 1) -> ProfiledLaunch:
    named = (*members, *(_NOBODY,) * (4 - len(members)))
    return ProfiledLaunch(
        "apart",
        f"apart_{burst}",
        sms,
        WARP,
        ("clocks", "data", "flags", _APART_STEPS, _APART_PERIOD, late, warm, *named),
        {
            "sms": " ".join(map(str, members)),
            "members": len(members),
            "burst": burst,
            "warm": warm,
            "late": late,
            "bytes": _APART_STEPS * burst * LINE_BYTES,
            "steps": _APART_STEPS,
        },
        clocks=2,
        data_bytes=_APART_STEPS * burst * LINE_BYTES,
        shared=LONE_CTA_BYTES,
    )


CPC_ROWS: Final = ((128, 1), (64, 1), (128, 0))
"""Bytes of rows of lines that SMs copy in cpcs.cu, and whether each SM has lines of its own."""

_CPC_WARPS, _CPC_CYCLES, _CPC_SPAN, _GROUP_BYTES, _LAUNCHES = 8, 40_000, 1 << 17, 4096, 3


def measure_cpcs(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure the bytes that each SM reads from the L2: alone, together with one SM of each TPC, and with all others.

    Column ``bytes`` has the bytes in ``cycles`` of this SM, of rows of ``row_bytes`` that are a line apart. SMs are in
    the order of their numbers: those of a TPC are neighbours.
    """
    rows: list[MeasuredRow] = []
    data = device.cupy.zeros(device.sms * _CPC_SPAN, dtype=np.uint8)
    every = np.arange(device.sms)
    some = {"one": every[:1], "a TPC": every[:SMS_PER_TPC], "one of each TPC": every[::SMS_PER_TPC], "all": every}
    for (row_bytes, own), (which, sms) in product(CPC_ROWS[:1] if quick else CPC_ROWS, some.items()):
        counts = device.cupy.zeros((device.sms, 3), dtype=np.uint64)
        takes_part = device.cupy.asarray(np.isin(every, sms).astype(np.int32))
        sizes = (np.uint32(row_bytes), np.uint32(LINE_BYTES), np.uint32(_CPC_SPAN), np.int32(own))
        for _ in range(_LAUNCHES):
            arguments = (counts, data, takes_part, np.int32(_CPC_CYCLES), *sizes)
            shared = 4 * _CPC_WARPS * _GROUP_BYTES
            device.launch("cpcs", "cpcs", arguments, ctas=device.sms, threads=_CPC_WARPS * WARP, shared=shared)
        for sm, groups, cycles in sorted(device.cupy.asnumpy(counts).astype(np.int64).tolist()):
            if sm in sms:
                row: MeasuredRow = {"row_bytes": row_bytes, "own": own, "sms": which, "sm": sm}
                rows.append(row | {"bytes": groups * _GROUP_BYTES, "cycles": cycles})
    return rows


MIXED_RESIDENT: Final = 1 << 16
MIXED_STREAMED: Final = 1 << 23
"""Bytes that each SM of mixed.cu accesses: few enough for the L2, or so many that they come from DRAM and go there."""

_MIXED_BEFORE, _MIXED_CYCLES = 80_000, 240_000
_NO_ROLES: Final = np.uint64(0)
"""A null pointer in place of the SMs' roles."""


class _Mixed(NamedTuple):
    read_span: int
    stored_span: int
    copiers: int
    storers: int
    pause: int = 0
    rest: int = 0


def _mixed_cases() -> list[_Mixed]:
    alone = [
        _Mixed(span, MIXED_RESIDENT, copiers, 0) for span in (MIXED_RESIDENT, MIXED_STREAMED) for copiers in (1, 8)
    ]
    alone += [
        _Mixed(MIXED_RESIDENT, span, 0, storers) for span in (MIXED_RESIDENT, MIXED_STREAMED) for storers in (1, 2, 4)
    ]
    spans, warps = product((MIXED_RESIDENT, MIXED_STREAMED), repeat=2), list(product((1, 2, 4, 8), (1, 4)))
    both = [_Mixed(read, stored, copiers, storers) for read, stored in spans for copiers, storers in warps]
    few = [250, 500, 1000, 2000, 4000, 8000, 16000, 32000, 64000]
    both += [_Mixed(MIXED_STREAMED, MIXED_STREAMED, 1, 1, pause=pause) for pause in few]
    return alone + both + [_Mixed(MIXED_STREAMED, MIXED_STREAMED, 8, 1, rest=rest) for rest in few]


def measure_mixed(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure reads and stores of all SMs at once, in the L2, and from DRAM or to it.

    Warps that copy wait ``pause`` cycles after each commit group; warps that store wait ``rest`` after eight stores.
    Columns ``read`` and ``stored`` have bytes of all SMs a cycle, once the L2 is full of this data.
    """
    rows: list[MeasuredRow] = []
    data, stored = (device.cupy.zeros(device.sms * MIXED_STREAMED, dtype=np.uint8) for _ in range(2))
    for case in _mixed_cases()[:: 29 if quick else 1]:
        found = _mixed_groups(device, data, stored, case)
        read, kept = (found.sum(axis=0) * _GROUP_BYTES / _MIXED_CYCLES).tolist()
        rows.append(case._asdict() | {"read": round(read, 2), "stored": round(kept, 2)})
    return rows


def _mixed_groups(device: Device, data: Any, stored: Any, case: _Mixed, role_of: Any = _NO_ROLES) -> IntArray:
    """Return commit groups and bursts of stores of each SM, shape (SMs, 2). Without ``role_of``, all SMs do both."""
    counts = device.cupy.zeros((device.sms, 2), dtype=np.uint64)
    spans = (data, np.uint64(case.read_span), stored, np.uint64(case.stored_span))
    times = (np.int32(value) for value in (_MIXED_BEFORE, _MIXED_CYCLES, case.pause, case.rest))
    arguments = (counts, *spans, role_of, np.int32(case.copiers), *times)
    threads, shared = (case.copiers + case.storers) * WARP, max(4 * case.copiers * _GROUP_BYTES, LONE_CTA_BYTES)
    for _ in range(_LAUNCHES):
        device.launch("mixed", "mixed", arguments, ctas=device.sms, threads=threads, shared=shared)
    return np.asarray(device.cupy.asnumpy(counts), dtype=np.int64)


_COPIES, _STORES = 1, 2
_ROLE_COPIERS, _ROLE_STORERS = 8, 4
"""Warps of an SM that copy and that store, unless they are varied."""


class _Roles(NamedTuple):
    copying: str
    storing: str
    copiers: int = _ROLE_COPIERS
    storers: int = _ROLE_STORERS


def _role_cases() -> list[_Roles]:
    alone = [_Roles(*pair) for sms in ("SM 0", "TPC 0", "even", "all") for pair in ((sms, ""), ("", sms), (sms, sms))]
    apart = [_Roles("SM 0", "SM 1"), _Roles("even", "odd")]
    some = [f"first {tpcs}" for tpcs in (1, 2, 4, 8, 16, 33)]
    few = [pair for sms in some for pair in (("all", sms), (f"not {sms}", sms), (sms, "all"), (sms, f"not {sms}"))]
    warps = [_Roles(sms, sms, *of) for sms in ("SM 0", "all") for of in product((1, 2, 4, 8), repeat=2)]
    return [*alone, *apart, *(_Roles(*pair) for pair in few), *warps]


def _named(name: str, sms: int) -> BoolArray:
    """Return which SMs a name means: "first 4" are those of the first four TPCs, "not first 4" the others."""
    every: IntArray = np.arange(sms)
    chosen: IntArray
    match name.split():
        case ["not", *others]:
            return ~_named(" ".join(others), sms)
        case []:
            chosen = every[:0]
        case ["SM", one]:
            chosen = every[int(one) : int(one) + 1]
        case ["TPC", "0"]:
            chosen = every[:SMS_PER_TPC]
        case ["first", tpcs]:
            chosen = every[: int(tpcs) * SMS_PER_TPC]
        case ["even" | "odd" as which]:
            chosen = every[which == "odd" :: SMS_PER_TPC]
        case _:
            chosen = every
    return np.isin(every, chosen)


def measure_roles(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure reads from the L2 and stores to it while some SMs copy, some store and some do both (mixed.cu).

    Columns ``read`` and ``stored`` have bytes of all SMs a cycle; ``least_`` and ``most_`` those of a single SM among
    the SMs that read or store. All accesses hit the L2.
    """
    rows: list[MeasuredRow] = []
    data, stored = (device.cupy.zeros(device.sms * MIXED_RESIDENT, dtype=np.uint8) for _ in range(2))
    for case in _role_cases()[:: 29 if quick else 1]:
        copying, storing = (_named(name, device.sms) for name in (case.copying, case.storing))
        role_of = device.cupy.asarray((_COPIES * copying + _STORES * storing).astype(np.int32))
        mixed = _Mixed(MIXED_RESIDENT, MIXED_RESIDENT, case.copiers, case.storers)
        bytes_a_cycle = _mixed_groups(device, data, stored, mixed, role_of) * _GROUP_BYTES / _MIXED_CYCLES
        row: MeasuredRow = dict(case._asdict())
        for name, own, sms in (("read", bytes_a_cycle[:, 0], copying), ("stored", bytes_a_cycle[:, 1], storing)):
            found = own[sms] if sms.any() else np.zeros(1)
            values = {name: found.sum(), f"least_{name}": found.min(), f"most_{name}": found.max()}
            row |= {key: round(float(value), 2) for key, value in values.items()}
        rows.append(row)
    return rows
