"""
Compares a simulation with a hardware record, line by line: some figures must be equal, others may differ.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from gpusim.records.pipeline import steady_k_tile
from gpusim.records.record import Record
from gpusim.results.result import ELAPSED, BankConflicts, Result
from gpusim.schedule.counts import Counts

Verdict: TypeAlias = Literal["exact", "differs", "approximate", "not measured"]

NAMED_OPCODES = ("HMMA", "IMMA", "LDSM", "LDGSTS", "LDGDEPBAR", "BAR", "STS", "LDG", "STG")
"""
SASS opcodes whose executed count the schedule determines.

DEPBAR is left out, because the compiler also uses it for its own purposes. LDS is left out, because ptxas puts
predicated-off loads, ``@!PT LDS RZ, [RZ]``, before groups of LDGSTS.
"""

WAVEFRONTS = "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
CONFLICTS = "sm__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum"
STALL_RATIO = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"

# Kind of access of each operation in ncu's SASS-level metrics.
_SASS_OPS: dict[str, str] = {"ldsm": "ldmatrix", "ld": "lds", "st": "sts"}
_OPCODE_OPS: dict[str, str] = {"LDSM": "ldmatrix", "LDS": "lds", "STS": "sts"}

GLOBAL_LOADS = frozenset(
    {"smsp__inst_executed_op_global_ld.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "LDG"}
)
"""Sources (metrics and opcodes) that count global loads."""

GLOBAL_STORES = frozenset({"smsp__inst_executed_op_global_st.sum", "STG"})
"""Sources (metrics and opcodes) that count executed global stores."""

GLOBAL_STORE_SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"

SUMS = frozenset({WAVEFRONTS.format("ld"), "LDS by instruction"})
"""Sources (metrics and opcodes) that count plain loads from shared memory."""

_APPROXIMATE = (
    "lts__t_sectors_op_read.sum",
    "lts__t_sectors_op_read_lookup_hit.sum",
    "lts__t_sectors_op_write.sum",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
)


@dataclass(frozen=True, slots=True)
class CheckRow:
    """
    One line of a check.

    Attributes:
        what: Description of the figure.
        source: ncu metric, SASS opcode, or another origin of the measurement.
        simulated, measured: The two figures; None for a missing one.
        verdict: "exact": the figures must be equal, and are. "differs": they must be equal, and are not.
            "approximate": they may differ. "not measured": there is no measurement.
        note: Reason for a difference, or details such as its place.
    """

    what: str
    source: str
    simulated: float | None
    measured: float | None
    verdict: Verdict
    note: str = ""

    @property
    def error(self) -> float | None:
        """(simulated - measured) / measured; None if either is missing or measured is 0."""
        if self.simulated is None or not self.measured:
            return None
        return (self.simulated - self.measured) / self.measured


def holds(rows: tuple[CheckRow, ...]) -> bool:
    """Return whether every figure that must be equal is equal."""
    return all(row.verdict != "differs" for row in rows)


class Latitude(Protocol):
    """Returns why a count may differ from the measured one; empty if it must not differ."""

    def __call__(self, source: str, *, fewer: bool) -> str:
        """
        Return the reason as text.

        Args:
            source: ncu metric, SASS opcode, or how else it was measured.
            fewer: Whether fewer were measured than simulated.
        """


def check_rows(
    latitude: Latitude, counts: Counts, results: Mapping[str, Result], record: Record, expected_trace: str | None = None
) -> tuple[CheckRow, ...]:
    """
    Return every line of a check: first figures that must be equal, then those that may differ, then those not measured.

    Args:
        latitude: Reasons for allowed differences in the scenario.
        counts: Counts of the grid, from the schedule.
        results: Simulated result for each stream origin ("estimated", "compiled").
        record: The measurement.
        expected_trace: Digest of the Python stream of the traced CTAs, if it was computed again.
    """
    return (
        *_numerics(record),
        *_trace(record, expected_trace),
        *_counters(latitude, counts, record),
        *_opcodes(latitude, counts, record),
        *(row for origin, result in results.items() for row in _timing(origin, result, record)),
        *_ldgsts(counts, record),
        *(row for result in list(results.values())[:1] for row in _memory_and_stalls(result, record)),
        *(CheckRow(part, "", None, None, "not measured", reason) for part, reason in record.missing.items()),
    )


def exact_counters(counts: Counts) -> dict[str, int]:
    """
    Return the required value of each ncu metric: instructions, requested sectors, and wavefronts by address pattern.
    """
    exact = dict(counts.counters())
    for name, op in _SASS_OPS.items():
        rows = [row for row in counts.bank_conflicts if row.op == op]
        exact[WAVEFRONTS.format(name)] = sum(row.wavefronts for row in rows)
        exact[CONFLICTS.format(name)] = sum(row.conflicts for row in rows)
    return exact


def active_cycles(counters: Mapping[str, float], ctas: int, sms: int) -> float | None:
    """
    Return the mean active span, in cycles, of the SMs that had work.

    ncu's average counts idle SMs as 0; this one leaves them out.

    Args:
        counters: Counters of one launch.
        ctas: CTAs of the grid. If fewer than SMs, each is on an SM of its own.
        sms: SMs of the GPU.
    """
    average = counters.get("sm__cycles_active.avg")
    return None if average is None else average * sms / min(sms, ctas)


def stall_shares(counters: Mapping[str, float]) -> dict[str, float]:
    """Return each stall reason's ratio over the sum of all ratios; empty if none was measured."""
    before, after = STALL_RATIO.split("{}")
    ratios = {
        name.removeprefix(before).removesuffix(after): value
        for name, value in counters.items()
        if name.startswith(before) and name.endswith(after)
    }
    total = sum(ratios.values())
    return {reason: ratio / total for reason, ratio in ratios.items()} if total else {}


def _must_equal(what: str, source: str, simulated: float, measured: float, note: str = "") -> CheckRow:
    return CheckRow(what, source, simulated, measured, "exact" if simulated == measured else "differs", note)


def _may_differ(
    what: str, source: str, simulated: float | None, measured: float | None, note: str = ""
) -> Iterator[CheckRow]:
    if simulated is not None and measured is not None:
        yield CheckRow(what, source, simulated, measured, "approximate", note)


def _numerics(record: Record) -> Iterator[CheckRow]:
    if record.numerics is None:
        return
    found = record.numerics
    row, column = found.worst_element
    quotient = (
        "not a number" if found.max_error_over_bound is None else f"{found.max_error_over_bound:.3g} of the bound"
    )
    note = f"{found.elements:,} elements, seed {found.seed}; worst {quotient}, at row {row}, column {column}"
    yield _must_equal("elements beyond their bound", "float64 reference", 0, found.wrong_elements, note)


def _trace(record: Record, expected: str | None) -> Iterator[CheckRow]:
    if record.trace is None:
        return
    found = record.trace
    where = f"{found.records:,} records, CTAs {', '.join(map(str, found.ctas))}"
    note = found.first_difference or where
    yield _must_equal("traced stream unlike the Python stream", "trace build", 0, int(not found.equal), note)
    if expected is not None:
        same = expected == found.sha256
        note = where if same else f"SHA-256 {expected[:12]} now, {found.sha256[:12]} recorded"
        yield _must_equal("recorded stream unlike today's", "trace build", 0, int(not same), note)


def _counters(latitude: Latitude, counts: Counts, record: Record) -> Iterator[CheckRow]:
    for metric, simulated in exact_counters(counts).items():
        if metric in record.counters:
            yield _counted(latitude, metric, metric, simulated, record.counters[metric])


def _counted(latitude: Latitude, what: str, source: str, simulated: float, measured: float) -> CheckRow:
    note = latitude(source, fewer=measured < simulated)
    if note:
        return CheckRow(what, source, simulated, measured, "approximate", note)
    return _must_equal(what, source, simulated, measured)


def _opcodes(latitude: Latitude, counts: Counts, record: Record) -> Iterator[CheckRow]:
    if not record.opcodes:
        return
    for opcode in (opcode for opcode in NAMED_OPCODES if opcode in counts.instructions):
        simulated = counts.instructions[opcode]  # type: ignore[index]
        measured = record.opcodes.get(opcode, {}).get("executed", 0)
        yield _counted(latitude, f"{opcode} executed", opcode, simulated, measured)
    for opcode, op in _OPCODE_OPS.items():
        found = record.opcodes.get(opcode, {})
        rows: list[BankConflicts] = [row for row in counts.bank_conflicts if row.op == op]
        for figure, expected in (
            ("wavefronts", sum(row.wavefronts for row in rows)),
            ("ideal", sum(row.ideal_wavefronts for row in rows)),
        ):
            if figure in found:
                words = "wavefronts" if figure == "wavefronts" else "ideal wavefronts"
                yield _counted(latitude, f"{opcode} {words}", f"{opcode} by instruction", expected, found[figure])


def _timing(origin: str, result: Result, record: Record) -> Iterator[CheckRow]:
    counters, note = record.counters, f"{origin} stream"
    elapsed = counters.get(ELAPSED)
    yield from _may_differ("cycles elapsed", ELAPSED, result.cycles.elapsed, elapsed, note)
    sms = int(record.environment.get("sms", 0))
    active, simulated = (active_cycles(one, result.ctas, sms) for one in (counters, result.counters))
    words = "mean of the SMs that had work"
    yield from _may_differ("cycles active", "sm__cycles_active.avg", simulated, active, f"{note}; {words}")
    executed = "smsp__inst_executed.sum"
    yield from _may_differ("warp instructions", executed, result.counters[executed], counters.get(executed), note)
    if record.pipeline is not None:
        simulated, measured = steady_k_tile(result.pipeline), steady_k_tile(record.pipeline.rows)
        yield from _may_differ("cycles of a k tile", "timeline build", simulated, measured, f"{note}; steady, stamped")
    registers = record.kernel.get("registers")
    yield from _may_differ("registers per thread", "cubin", result.registers_per_thread, registers, note)


def _ldgsts(counts: Counts, record: Record) -> Iterator[CheckRow]:
    """
    Compare LDGSTS wavefronts: those of the address pattern, and one more for each line that returns separately (D9).
    """
    rows = [row for row in counts.bank_conflicts if row.op == "ldgsts"]
    wavefronts = sum(row.wavefronts for row in rows) + counts.line_returns
    conflicts = sum(row.conflicts for row in rows)
    for metric, simulated, note in (
        (WAVEFRONTS.format("ldgsts"), wavefronts, "by pattern and line; first copies of a group are lost (D9)"),
        (CONFLICTS.format("ldgsts"), conflicts, "by address pattern alone (D9)"),
    ):
        yield from _may_differ(metric, metric, simulated, record.counters.get(metric), note)


def _memory_and_stalls(result: Result, record: Record) -> Iterator[CheckRow]:
    for metric in _APPROXIMATE:
        yield from _may_differ(metric, metric, result.counters.get(metric), record.counters.get(metric))
    shares = stall_shares(record.counters)
    for reason in sorted(shares, key=lambda reason: -shares[reason]):
        simulated = result.stalls.get(reason, 0.0)
        if max(simulated, shares[reason]) >= 0.01:
            yield from _may_differ(f"stall {reason}", STALL_RATIO.format(reason), simulated, shares[reason], "share")
