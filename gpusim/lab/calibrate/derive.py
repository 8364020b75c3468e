"""Derives figures of a machine file from the microbenchmarks' CSV files, each by a stated formula; measures nothing."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median

import numpy as np

from gpusim.errors import BadInput, CannotRun
from gpusim.lab.calibrate.derive_chip import CHIP_FORMULAS
from gpusim.lab.calibrate.derive_launch import LAUNCH_FORMULAS
from gpusim.lab.calibrate.derive_mio import MIO_FORMULAS
from gpusim.lab.calibrate.lines import MIXED_RESIDENT, MIXED_STREAMED
from gpusim.lab.calibrate.own.derive_machine import MACHINE_FORMULAS
from gpusim.lab.calibrate.own.derive_own import OWN_FILES, own_formulas
from gpusim.lab.calibrate.table import Formula, MeasuredTable, NotMeasured, NumberFormula, Row
from gpusim.machine.load import load_machine
from gpusim.units import LINE_BYTES, WORD_BYTES


@dataclass(frozen=True, slots=True)
class Derived:
    """
    A derived figure.

    Attributes:
        value: Value in the machine file's unit, rounded to an integer; several if the figure is a list.
        at: CSV file, rows and formula, with the value before rounding.
    """

    value: int | tuple[int, ...]
    at: str


NOT_THE_FIGURE = {
    "async_copy.commit_stage": "ldmatrix hides a part of it, as it does copies",
    "async_copy.l1_latency": "the empty commit and wait that are subtracted overlap the copy",
    "shared.warp_return_bytes": "a chain of ldmatrix.x4 also waits for its issue; the path's width is a power of two",
    "pipes.half.interval": "ptxas alternates HFMA2 and HFMA2.MMA, which are two pipes",
}
"""
Keys whose derived figure only bounds the machine file's figure, with the reason.

Such a figure is printed, but never written into a machine file.
"""


_FILES = (
    *("mma", "ldmatrix", "shared", "cp_async", "barrier", "latency", "bandwidth", "arith", "launch"),
    *("cold", "stores", "merge", "idle", "fetch", "release", "semaphore", "dispatch", "backlog"),
    *("places", "ends", "held", "hits", "duel", "together"),
    *("sides", "pairs", "own", "standstills", "fills", "crowded", "queued", "gaps", "domains", "lags"),
    *("returns", "ahead", "amid", "outstanding", "crossed", "atomics", "cpcs", "mixed", "steps", "constants"),
    *OWN_FILES,
)


def derive(directory: Path, machine: str = "h200") -> dict[str, Derived]:
    """
    Derive all figures that the CSV files of ``calibrate`` allow, by their dotted key in a machine file.

    A figure whose rows are missing is left out.

    Args:
        directory: Folder that ``calibrate`` wrote to.
        machine: Machine whose peak DRAM bandwidth is the base of ``dram.achievable_percent``.

    Raises:
        CannotRun: The folder has none of the files.
        BadInput: There is no such machine, or a CSV file cannot be read.
    """
    tables = {name: MeasuredTable(directory, name) for name in _FILES}
    if not any((directory / table.name).is_file() for table in tables.values()):
        raise CannotRun(
            f"{directory}: holds no CSV of `gpusim calibrate` ({', '.join(t.name for t in tables.values())})"
        )
    peak = load_machine(machine).dram.bandwidth_gb_s
    found: dict[str, Derived] = {}
    for key, formula in _formulas(tables):
        try:
            exact, rule = formula(tables, peak)
        except NotMeasured:
            continue
        except (KeyError, ValueError, ZeroDivisionError) as error:
            raise BadInput(f"{directory}: a CSV file cannot be read for {key} ({error!r})") from error
        if isinstance(exact, tuple):
            found[key] = Derived(exact, rule)
        else:
            found[key] = Derived(_nearest(exact), f"{rule}: {exact:.2f}")
    return found


def _nearest(value: float) -> int:
    return int(value + 0.5)


def _formulas(tables: dict[str, MeasuredTable]) -> Iterable[tuple[str, Formula]]:
    for kind in tables["mma"].values("type"):
        yield f"tensor.{kind}.interval", lambda t, _, kind=kind: _tensor_interval(t["mma"], kind)  # type: ignore[misc]
        yield f"tensor.{kind}.beyond.percent", lambda t, _, kind=kind: _tensor_beyond(t["mma"], kind)  # type: ignore[misc]
        yield f"tensor.{kind}.latency", lambda t, _, kind=kind: _tensor_latency(t["mma"], kind)  # type: ignore[misc]
    for pipe, instruction in _PIPE_INSTRUCTIONS.items():
        for what in ("interval", "latency"):
            yield f"pipes.{pipe}.{what}", lambda t, _, i=instruction, w=what: _pipe(t["arith"], i, w)  # type: ignore[misc]
    yield from _FORMULAS.items()
    yield from MIO_FORMULAS.items()
    yield from CHIP_FORMULAS.items()
    yield from LAUNCH_FORMULAS.items()
    yield from own_formulas(tables)
    yield from MACHINE_FORMULAS.items()


_PIPE_INSTRUCTIONS = {"alu": "lop3", "fma": "ffma", "fmaheavy": "imad", "half": "hfma2", "mufu": "mufu_ex2"}
"""Instruction that each pipe is measured with. For "half", ptxas alternates dependent HFMA2 between two pipes."""


def _tensor_interval(mma: MeasuredTable, kind: str) -> tuple[float, str]:
    """
    Return the interval of an mma.sync and its rule.

    It is measured in a 64x64 warp tile in CUTLASS's order with the most warps; without such a row, it is the least
    interval of the chains.
    """
    tile = {"pattern": "tile", "type": kind, "tile": "4x8", "order": "serpentine", "ldmatrix": "none", "smsps": 4}
    try:
        warps = mma.widest("warps", **tile)
        return mma.numbers("interval", **tile, warps=warps)[0], f"mma.csv, warp tile 4x8, serpentine, {warps} warps"
    except NotMeasured:
        found = min(mma.numbers("interval", pattern="chains", type=kind, operands="distinct A, distinct B"))
        return found, "mma.csv, least interval of the chains with distinct operands"


def _tensor_beyond(mma: MeasuredTable, kind: str) -> tuple[float, str]:
    """
    Return the time of an mma.sync beyond whole cycles, in hundredths, and its rule.

    It is the difference of two warp tiles, one with twice as many mma.sync as the other. At the end of a loop, ptxas
    lets a warp wait until its last mma.sync is done; the difference does not contain that wait.
    """
    tile = {"pattern": "tile", "type": kind, "order": "serpentine", "ldmatrix": "none", "smsps": 4}
    warps = mma.widest("warps", tile="4x8", **tile)
    (large,), (small,) = (mma.rows(tile=shape, warps=warps, **tile) for shape in ("4x8", "2x8"))
    cycles = int(large["cycles"]) - int(small["cycles"])
    each = cycles / (int(large["mma_per_warp"]) - int(small["mma_per_warp"])) / int(large["warps_per_smsp"])
    interval = _nearest(_tensor_interval(mma, kind)[0])
    if each >= interval + 1:  # one of the two figures is wrong
        raise NotMeasured
    rule = f"mma.csv, warp tiles 4x8 less 2x8, serpentine, {warps} warps: {each:.3f} cycles"
    return 100 * max(0.0, each - interval), rule


def _tensor_latency(mma: MeasuredTable, kind: str) -> tuple[float, str]:
    """
    Return the latency of an mma.sync and its rule.

    It is the shortest round of one warp, with the fewest chains that reach it. A single chain may need a yielding NOP
    between its mma.sync, and then takes a cycle more.
    """
    chains = {"pattern": "chains", "type": kind, "warps": 1}
    least = min(mma.numbers("per_round", **chains))
    few = min(int(row["ilp"]) for row in mma.rows(**chains) if float(row["per_round"]) == least)
    return least, f"mma.csv, least round of one warp, chains {few}"


def _pipe(arith: MeasuredTable, instruction: str, what: str) -> tuple[float, str]:
    if what == "latency":
        return arith.numbers("per_round", instruction=instruction, ilp=1, warps=1)[
            0
        ], f"arith.csv, {instruction}, one chain"
    warps = arith.widest("warps", instruction=instruction, ilp=8)
    found = arith.numbers("interval", instruction=instruction, ilp=8, warps=warps)[0]
    return found, f"arith.csv, {instruction}, 8 chains in each of {warps} warps"


def _lds(t: dict[str, MeasuredTable], column: str, **columns: object) -> float:
    return t["shared"].numbers(column, instruction="lds", bytes=4, **columns)[0]


def _atomic_wavefronts(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    many, few = (
        t["atomics"].numbers("per_trip", others="none", one="atomic", lanes=lanes, warps=16)[0] for lanes in (32, 4)
    )
    if many <= few:
        raise NotMeasured
    return (many - few) / 28, "atomics.csv, red.shared.max of 32 lanes at a word less that of 4, by 16 warps, over 28"


def _wavefront_latency(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    slow = _lds(t, "per_round", ilp=1, warps=1, wavefronts=32)
    fast = _lds(t, "per_round", ilp=1, warps=1, wavefronts=1)
    return (slow - fast) / 31, "shared.csv, lds.32 of 32 wavefronts less that of one, over 31"


def _register_latency(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    found, alone = [], _lds(t, "per_round", wavefronts=1, ilp=1, warps=1)
    for registers in (2, 4):
        of = {"instruction": "lds", "bytes": registers * WORD_BYTES, "wavefronts": registers, "ilp": 1, "warps": 1}
        wide = t["shared"].numbers("per_round", **of)[0]
        found.append((wide - alone) / (registers - 1) - _wavefront_latency(t, 0)[0])
    return mean(found), "shared.csv, lds of 8 and 16 bytes, one chain, less lds.32 and what their wavefronts add, mean"


def _wavefronts_per_cycle(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    row = t["ldmatrix"].rows(matrices=4, row_bytes=16, ilp=8, warps=16, smsps=4)[0]
    found = int(row["wavefronts"]) * int(row["instructions"]) / float(row["cycles"])
    return found, "ldmatrix.csv, x4, 8 chains in each of 16 warps, wavefronts over cycles"


def _return_bytes(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    each = t["ldmatrix"].numbers("per_instruction", matrices=4, row_bytes=16, ilp=8, warps=1, smsps=1)[0]
    return 512 / each, "ldmatrix.csv, x4, 8 chains in one warp, 512 bytes over the cycles of one"


def _l2_latency(where: str) -> Formula:
    def formula(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
        found = t["latency"].numbers("cycles", level="l2", what=where)
        return mean(found), f"latency.csv, chase of the {where} lines, mean of {len(found)} SMs"

    return formula


def _far_fraction(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    # If all lines take equal time for an SM, it shows no far partition, and says nothing about the hash.
    far = {row["sm"]: float(row["lines"]) for row in t["latency"].rows(level="l2", what="far")}
    near = {row["sm"]: float(row["lines"]) for row in t["latency"].rows(level="l2", what="near") if row["sm"] in far}
    total = sum(far.values()) + sum(near.values())
    return 100 * sum(far.values()) / total, f"latency.csv, far lines over all, {len(far)} SMs that see both"


def _bandwidth(level: str, column: str, *, alone: bool) -> NumberFormula:
    def formula(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
        # Older files have streams of cp.async that filled memory which earlier copies were still filling. Some of these
        # copies are dropped (again.csv), so they seemed to read 6.2 TB/s from DRAM.
        rows = [
            row
            for row in t["bandwidth"].rows(level=level)
            if (int(row["sms"]) == 1) == alone and row["kernel"] != "read_cp_async"
        ]
        if not rows:
            raise NotMeasured
        best = max(rows, key=lambda row: float(row[column]))
        return float(best[column]), f"bandwidth.csv, {level}, {best['kernel']} from {best['sms']} SMs"

    return formula


def _l2_rate(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    # Not the loads of bandwidth.csv: there every SM reads the same bytes, and the SMs of large CPCs end last, alone.
    rows = t["cpcs"].rows(sms="all", row_bytes=LINE_BYTES, own=1)
    brought = sum(float(row["bytes"]) / float(row["cycles"]) for row in rows)
    return brought, f"cpcs.csv, lines of their own: what {len(rows)} SMs bring at once"


def _impeded(t: dict[str, MeasuredTable], read_span: int) -> float:
    """Return, for data in the L2, by how many bytes each read byte reduces the stored bytes, in per cent."""
    of = {"stored_span": MIXED_RESIDENT}
    rows = t["mixed"].rows(read_span=read_span, **of)
    both = [row for row in rows if float(row["read"]) and int(row["storers"])]
    if not both:
        raise NotMeasured
    alone = {row["storers"]: float(row["stored"]) for row in t["mixed"].rows(copiers=0, **of)}
    return median(100 * (alone[row["storers"]] - float(row["stored"])) / float(row["read"]) for row in both)


def _fill_percent(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    found = _impeded(t, MIXED_STREAMED) - _impeded(t, MIXED_RESIDENT)
    return found, "mixed.csv, streams that are read less what the L2 has: bytes that are stored fewer for each"


def _alone(t: dict[str, MeasuredTable]) -> tuple[float, float]:
    """Return the bytes a cycle of streams that only read, and of streams that only store."""
    reads = max(t["mixed"].numbers("read", read_span=MIXED_STREAMED, storers=0))
    stores = max(t["mixed"].numbers("stored", stored_span=MIXED_STREAMED, copiers=0))
    if not reads or not stores:
        raise NotMeasured
    return reads, stores


def _turns(t: dict[str, MeasuredTable], row: Row) -> float:
    """Return the remaining read bandwidth of DRAM, bytes a cycle, beside the reads and stores of some streams."""
    reads, stores = _alone(t)
    return reads * (1 - float(row["read"]) / reads - float(row["stored"]) / stores)


def _streams(t: dict[str, MeasuredTable], copiers: int) -> list[Row]:
    """Return the rows of streams of ``copiers`` reading warps and one storing warp on each SM, paused or not."""
    return t["mixed"].rows(read_span=MIXED_STREAMED, stored_span=MIXED_STREAMED, copiers=copiers, storers=1)


def _turning(t: dict[str, MeasuredTable]) -> tuple[float, float]:
    """
    Return the cost of both turns, in bytes that could be read, and the bytes that are stored before a turn.

    Between two turns so many bytes are stored, and then a line is read. The bytes lost in a cycle are the cost over the
    cycles of both. The fit is least squares of the relative errors of their inverse, for one reading warp on each SM.
    """
    rows = [(1 / _turns(t, row), float(row["read"]), float(row["stored"])) for row in _streams(t, 1)]
    both = [[1 / stored / cycles, LINE_BYTES / read / cycles] for cycles, read, stored in rows]
    stored, read = np.linalg.lstsq(np.array(both), np.ones(len(both)), rcond=None)[0].tolist()
    return 1 / read, stored / read


def _meanwhile(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    lost, gathered = _turning(t)
    reads, _stores = _alone(t)
    found = []
    for row in _streams(t, 8):
        cycles, stored = lost / _turns(t, row), float(row["stored"])
        # These streams store fewer bytes between turns than DRAM gathers otherwise.
        if stored * cycles < gathered:
            found.append(reads * (cycles - LINE_BYTES / stored))
    if not found:
        raise NotMeasured
    return median(found), "mixed.csv, few stores among streams of reads: bytes read from a store to a turn"


def _achievable(t: dict[str, MeasuredTable], peak_gb_s: int) -> tuple[float, str]:
    found, rule = _bandwidth("dram", "gb_per_s", alone=False)(t, peak_gb_s)
    return 100 * found / peak_gb_s, f"{rule}, {found:.0f} of {peak_gb_s} GB/s"


def _barrier_fit(t: dict[str, MeasuredTable]) -> tuple[float, float]:
    """Return base and slope of the least-squares line through cycles over warps, with one CTA per SM."""
    rows = t["barrier"].rows(ctas_per_sm=1)
    slope, base = np.polyfit([int(row["warps"]) for row in rows], [float(row["per_barrier"]) for row in rows], 1)
    return float(base), float(slope)


def _atomics_further(t: dict[str, MeasuredTable], peak: int) -> tuple[float, str]:
    """Return what a dependent atomic of one lane takes longer than a hit in the near partition, and its rule."""
    chain = median(t["global_atomics"].numbers("per_atomic", operation="add_u32", result="dependent", lines=1, lanes=1))
    near, _ = _l2_latency("near")(t, peak)
    return chain - float(near), f"global_atomics.csv, dependent add_u32, one line: {chain:.1f}, less a near hit"  # type: ignore[arg-type]


_FORMULAS: dict[str, Formula] = {
    "mio.smsp_interval": lambda t, _: (
        _lds(t, "per_instruction", wavefronts=1, ilp=8, warps=4, smsps=1),
        "shared.csv, lds.32, 8 chains in each of 4 warps of one SMSP",
    ),
    "mio.sm_interval": lambda t, _: (
        _lds(t, "per_instruction", wavefronts=1, ilp=8, warps=16, smsps=4),
        "shared.csv, lds.32, 8 chains in each of 16 warps",
    ),
    "shared.load_latency": lambda t, _: (
        _lds(t, "per_round", wavefronts=1, ilp=1, warps=1),
        "shared.csv, lds.32, one chain",
    ),
    "shared.wavefront_latency": _wavefront_latency,
    "shared.wide.register_latency": _register_latency,
    "shared.atomic_wavefronts": _atomic_wavefronts,
    "shared.ldmatrix_latency_x1": lambda t, _: (
        t["ldmatrix"].numbers("per_round", matrices=1, row_bytes=16, ilp=1, warps=1)[0],
        "ldmatrix.csv, x1, one chain",
    ),
    "shared.shuffle_latency": lambda t, _: _pipe(t["arith"], "shfl", "latency"),
    "shared.warp_return_bytes": _return_bytes,
    "shared.wavefronts_per_cycle": _wavefronts_per_cycle,
    "l1.hit_latency": lambda t, _: (t["latency"].numbers("cycles", level="l1")[0], "latency.csv, pointer chase"),
    "l2.atomics.further": _atomics_further,
    "l2.hit_latency": _l2_latency("near"),
    "l2.far_latency": _l2_latency("far"),
    "l2.far_fraction_percent": _far_fraction,
    "l2.bytes_per_cycle": _l2_rate,
    "l2.mixed.read_percent": lambda t, _: (
        _impeded(t, MIXED_RESIDENT),
        "mixed.csv, all in the L2: bytes that are stored fewer for each that is read",
    ),
    "l2.mixed.fill_percent": _fill_percent,
    "l2.bytes_per_cycle_per_sm": _bandwidth("l2", "bytes_per_cycle", alone=True),
    "dram.achievable_percent": _achievable,
    "dram.turns.write_percent": lambda t, _: (
        100 * _alone(t)[0] / _alone(t)[1],
        "mixed.csv, streams of reads and of stores alone: bytes read over bytes stored",
    ),
    "dram.turns.lost": lambda t, _: (
        _turning(t)[0],
        "mixed.csv, one warp of each SM reads amid streams of stores: bytes that could be read in both turns' time",
    ),
    "dram.turns.gathered": lambda t, _: (_turning(t)[1], "mixed.csv, the same: bytes stored before"),
    "dram.turns.meanwhile": _meanwhile,
    "barrier.base": lambda t, _: (_barrier_fit(t)[0], "barrier.csv, line through cycles over warps, one CTA"),
    "barrier.per_warp": lambda t, _: (_barrier_fit(t)[1], "barrier.csv, slope of cycles over warps, one CTA"),
}
