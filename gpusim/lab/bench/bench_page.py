"""A report on speed as markdown: the bars, the tables of costs, and published figures of peers."""

from collections.abc import Iterable, Iterator, Sequence

from gpusim.lab.bench.bars import bars, ratio_of
from gpusim.lab.bench.peers import PEERS
from gpusim.lab.bench.rows import BenchReport, RunRow
from gpusim.lab.tables.markdown_page import table_row

RUN_COLUMNS = (
    *("run", "mode", "core", "processes", "user s", "MB", "M warp instructions", "core's s", "M instructions/s"),
    *("simulated us on the GPU", "slower than the GPU", "stream"),
)

_MET = {True: "met", False: "**not met**", None: "not measured"}


def bench_page(report: BenchReport) -> str:
    """Return a report as markdown."""
    lines = [
        "# Speed",
        "",
        *report.host.lines(),
        *([report.note] if report.note else []),
        "",
        "`make bench` measures it anew. Seconds are user CPU of whole processes, MB their peak resident memory (10^6",
        "bytes; no less than the measuring process's own, about 23), both medians over so many processes. The core's",
        "seconds are wall time of the simulated SMs' execution alone (`simulated.seconds`), and instructions a second",
        "are `simulated.instructions` over them. Slower than the GPU: the core's seconds over the simulated cycles at",
        "the GPU's clock. Executions of one scenario take turns in the same run; one that takes a minute interpreted",
        "does so once.",
        "",
        *_section("Bars", ("figure", "bar", "measured", "met"), _bar_cells(report)),
        "That `verify` still catches every mutation is held by tests: `tests/unit/verbs/test_verify.py`.",
        "",
        *_run_sections(report),
    ]
    ratios = [(name, ratio) for name in _names(report) if (ratio := ratio_of(report, name)) is not None]
    if ratios:
        cells = [(name, f"{ratio:.1f}") for name, ratio in ratios]
        lines += _section("Compiled over interpreted, exact", ("scenario", "ratio of instructions a second"), cells)
    if report.loops:
        columns = ("M = N, K about", "processes", "points", "first point, s", "points a second and core")
        lines += _section(
            "One process, many points: sampled, streams estimated, no pictures",
            columns,
            [
                (str(row.size), str(row.runs), str(row.points), f"{row.first_s:.2f}", f"{row.points_per_s:.1f}")
                for row in report.loops
            ],
        )
    if report.others:
        lines += _section(
            "Other processes",
            ("process", "processes", "user s", "wall s", "MB"),
            [
                (f"`{row.name}`", str(row.runs), f"{row.user_s:.2f}", f"{row.wall_s:.2f}", f"{row.peak_mb:.0f}")
                for row in report.others
            ],
        )
    lines += _section(
        "Beside peers, as they have published (`quoted`: as others quote it)",
        ("simulator", "speed", "error against hardware", "source"),
        [(peer.name, peer.speed, peer.error, peer.source) for peer in PEERS],
    )
    return "\n".join(lines[:-1]) + "\n"


def _bar_cells(report: BenchReport) -> Iterator[tuple[str, ...]]:
    for bar in bars(report):
        measured = "-" if bar.measured is None else _figure(bar.measured)
        yield bar.what, bar.wanted, measured, _MET[bar.met]


def _figure(value: float) -> str:
    """Return a figure with enough digits to compare it with a bar."""
    if value >= 1e6:
        return f"{value / 1e6:.1f} million"
    return f"{value:.0f}" if value >= 100 else f"{value:.2f}"


def _names(report: BenchReport) -> list[str]:
    return list(dict.fromkeys(row.name for row in report.runs))


def _run_sections(report: BenchReport) -> Iterator[str]:
    for table in dict.fromkeys(row.table for row in report.runs):
        rows = [row for row in report.runs if row.table == table]
        yield from _section(table, RUN_COLUMNS, map(_run_cells, rows))


def _run_cells(row: RunRow) -> tuple[str, ...]:
    return (
        row.name,
        row.mode,
        row.engine,
        str(row.runs),
        f"{row.user_s:.2f}",
        f"{row.peak_mb:.0f}",
        f"{row.instructions / 1e6:.3f}",
        f"{row.seconds:.3f}",
        f"{row.rate / 1e6:.2f}",
        f"{row.gpu_us:.1f}",
        f"{row.slowdown:,.0f}",
        row.stream,
    )


def _section(title: str, columns: Sequence[str], rows: Iterable[tuple[str, ...]]) -> list[str]:
    cells = [columns, ["---"] * len(columns), *rows]
    return [f"## {title}", "", *(table_row(*row) for row in cells), ""]
