"""Derives the figures of a machine file that only kernels of a user's own need, from their CSV files."""

from math import log2
from statistics import mean
from typing import Final

from gpusim.lab.calibrate.derive_chip import CHIP_FORMULAS
from gpusim.lab.calibrate.own.scattered import OWN_RESIDENT
from gpusim.lab.calibrate.table import MeasuredTable, NotMeasured, NumberFormula
from gpusim.units import LINE_BYTES, SECTOR_BYTES, SECTORS_PER_LINE, WARP_SIZE

_Tables = dict[str, MeasuredTable]


def _fp64(column: str) -> NumberFormula:
    def formula(t: _Tables, _: int) -> tuple[float, str]:
        of = {"instruction": "dadd", "spread": 1}
        if column == "latency":
            return t["opcodes"].numbers("per_round", **of, ilp=1, warps=1)[0], "opcodes.csv, dadd, one chain"
        found = t["opcodes"].numbers("interval", **of, ilp=8)
        return found[-1], "opcodes.csv, dadd, 8 chains in each of the most warps"

    return formula


def _indexed_interval(t: _Tables, _: int) -> tuple[float, str]:
    found = t["indexed"].numbers("interval", lanes=1, step=4, ilp=8)[-1]
    return found / WARP_SIZE, "indexed.csv, 32 distinct words, 8 chains in each of the most warps, over 32"


def _indexed_further(t: _Tables, _: int) -> tuple[float, str]:
    many, one = (t["indexed"].numbers("per_round", lanes=lanes, step=4, ilp=1, warps=1)[0] for lanes in (1, 32))
    return (many - one) / (WARP_SIZE - 1), "indexed.csv, one chain, 32 distinct words less one, over 31"


def _fetch_bytes(t: _Tables, _: int) -> tuple[float, str]:
    (row,) = t["partial"].rows(kind="load", words=1, lines=32, sectors=1) or [{}]
    if not row:
        raise NotMeasured
    found = float(row["dram__bytes_read.sum"]) / int(row["all_lines"])
    return found, "partial.csv, loads of 4 bytes of each line: bytes that DRAM reads for each"


def _scattered(t: _Tables, column: str, **columns: object) -> list[float]:
    """Return a column of accesses of all SMs that hit the L2, lines next to each other."""
    of = {"span": OWN_RESIDENT, "pitch": LINE_BYTES, **columns}
    if not t["scattered"].rows(**of):
        raise NotMeasured
    sms = t["scattered"].widest("sms", **of)
    if sms == "1":
        raise NotMeasured
    return t["scattered"].numbers(column, **of, sms=sms)


def _whole(t: _Tables, kind: str, sectors: int) -> float:
    return _scattered(t, "per_line", kind=kind, lines=4, sectors=sectors, bytes=SECTOR_BYTES, words=4)[0]


def _read_bytes(t: _Tables, _: int) -> tuple[float, str]:
    one, four = _whole(t, "load", 1), _whole(t, "load", SECTORS_PER_LINE)
    found = LINE_BYTES * one / four
    return 2.0 ** round(log2(found)), (
        f"scattered.csv, loads that hit the L2, 4 lines each, all SMs: one sector of a line {one:.2f} cycles of an SM, "
        f"four {four:.2f}, which are 128 bytes: {found:.1f}, and the nearest power of two"
    )


def _store_bytes(t: _Tables, _: int) -> tuple[float, str]:
    one, four = _whole(t, "store", 1), _whole(t, "store", SECTORS_PER_LINE)
    return LINE_BYTES * one / four, (
        f"scattered.csv, stores of whole sectors, 4 lines each, all SMs: one of each line {one:.2f} cycles of an SM, "
        f"four {four:.2f}, which are 128 bytes"
    )


def _mask_bytes(t: _Tables, _: int) -> tuple[float, str]:
    part = mean(_scattered(t, "per_line", kind="store", sectors=1, bytes=4, words=1))
    four = _whole(t, "store", SECTORS_PER_LINE)
    return LINE_BYTES * part / four - SECTOR_BYTES, (
        f"scattered.csv, stores of a word, all SMs: one of each line {part:.2f} cycles of an SM in the mean, four "
        f"whole sectors {four:.2f}, which are 128 bytes, less 32 bytes"
    )


def _atomics(t: _Tables, name: str, **columns: object) -> float:
    """Return the cycles of the chip from one dropped atomic of all its SMs to the next."""
    of = {"operation": name, "result": "dropped", "warps": 8, **columns}
    if not t["global_atomics"].rows(**of):
        raise NotMeasured
    sms = t["global_atomics"].widest("sms", **of)
    if sms == "1":
        raise NotMeasured
    return t["global_atomics"].numbers("per_atomic", **of, sms=sms)[0] / int(sms)


def _atomic_bytes(t: _Tables, peak: int) -> tuple[float, str]:
    each = _atomics(t, "add_u32", lanes=1, step=4, together="", along=LINE_BYTES)
    bandwidth, _ = CHIP_FORMULAS["l2.write_bytes_per_cycle"](t, peak)
    return each * float(bandwidth) / SECTORS_PER_LINE, (  # type: ignore[arg-type]
        f"global_atomics.csv, dropped add_u32, each warp at lines of its own, all SMs: {each:.4f} cycles for four "
        "sectors, at the write bandwidth of stores.csv"
    )


def _sector_percent(t: _Tables, _: int) -> tuple[float, str]:
    each = _atomics(t, "add_u32", lanes=1, step=4, together="all")
    return 100 * each / SECTORS_PER_LINE, (
        f"global_atomics.csv, dropped add_u32, all warps at one line: {each:.2f} cycles for four sectors, in per cent"
    )


def _lane_percent(name: str) -> NumberFormula:
    def formula(t: _Tables, _: int) -> tuple[float, str]:
        each = _atomics(t, name, lanes=WARP_SIZE, step=4, together="all")
        return 100 * each / WARP_SIZE, (
            f"global_atomics.csv, dropped {name}, all lanes at one word: {each:.2f} cycles for 32 lanes, in per cent"
        )

    return formula


def _slices(t: _Tables, _: int) -> tuple[float, str]:
    line = _atomics(t, "add_u32", lanes=1, step=4, together="all")
    apart = _atomics(t, "add_u32", lanes=1, step=4, together="", along=LINE_BYTES)
    return line / apart, (
        f"global_atomics.csv, dropped add_u32, 32 words: {line:.2f} cycles if all warps are at one line, "
        f"{apart:.4f} if each is at lines of its own"
    )


def _fence(name: str) -> NumberFormula:
    def formula(t: _Tables, _: int) -> tuple[float, str]:
        found = t["fences"].numbers("per_fence", fence=name, pending="nothing", delay=-1, warps=1, sms=1)[0]
        return found, f"fences.csv, {name}, one warp, nothing before it"

    return formula


def _barriers(t: _Tables, _: int) -> tuple[float, str]:
    rows = t["residents"].rows(register_id=0, threads=WARP_SIZE)
    if not rows:
        raise NotMeasured
    found = max(int(row["barriers"]) * int(row["resident"]) for row in rows)
    return found, "residents.csv, CTAs of 32 threads: most barriers of the CTAs that an SM holds at once"


MACHINE_FORMULAS: Final[dict[str, NumberFormula]] = {
    "limits.barriers": _barriers,
    "pipes.fp64.interval": _fp64("interval"),
    "pipes.fp64.latency": _fp64("latency"),
    "constant_cache.indexed.interval": _indexed_interval,
    "constant_cache.indexed.further": _indexed_further,
    "l2.fetch_bytes": _fetch_bytes,
    "l2.parts.read_bytes": _read_bytes,
    "l2.parts.store_bytes": _store_bytes,
    "l2.parts.mask_bytes": _mask_bytes,
    "l2.atomics.bytes": _atomic_bytes,
    "l2.atomics.sector_percent": _sector_percent,
    "l2.atomics.lane_percent": _lane_percent("add_u32"),
    "l2.atomics.float_percent": _lane_percent("add_f32"),
    "l2.atomics.slices": _slices,
    "barrier.fences.cta": _fence("threadfence_block"),
    "barrier.fences.gpu": _fence("threadfence"),
    "barrier.fences.system": _fence("threadfence_system"),
}
"""Figures of a machine file by their dotted key."""
