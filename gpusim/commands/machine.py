"""``gpusim machine``: lists the shipped machines, or shows one: its figures by kind, and its records."""

from collections.abc import Iterator, Sequence
from textwrap import wrap

from gpusim.commands.options.machine import MachineOptions
from gpusim.commands.output import print_json, print_text
from gpusim.machine.difference import FigureDifference, figure_differences
from gpusim.machine.figure import FIGURE_KINDS, FigureRecord, printed_value
from gpusim.machine.load import load_machine, machine_names
from gpusim.report.tables import print_tables
from gpusim.verbs.machine_report import MachineReport, machine_report

_WIDTH = 120
_LEAST_WORDS = 40


def show_machines(options: MachineOptions) -> None:
    """
    Print the machines that ship, or the one that is named, or the figures in which several differ.

    Raises:
        BadInput: There is no such machine or file, or a file breaks a rule.
    """
    names, as_json = options.names, options.as_json
    if not names:
        print_machines(as_json=as_json)
    elif len(names) == 1:
        print_machine(names[0], as_json=as_json)
    else:
        print_machine_differences(names, as_json=as_json)


def print_machines(*, as_json: bool) -> None:
    """Print the machines that ship, with the number of figures of each kind and of records."""
    reports = [machine_report(name) for name in machine_names()]
    if as_json:
        kept = ("name", "title", "sms", "clock_mhz", "counts", "records")
        print_json([{key: report.to_dict()[key] for key in kept} for report in reports])
        return
    rows = [("machine", "GPU", "SMs", "MHz", *FIGURE_KINDS, "records")]
    for report in reports:
        counts = (str(report.counts[kind]) for kind in FIGURE_KINDS)
        rows.append(
            (report.name, report.title, str(report.sms), str(report.clock_mhz), *counts, str(report.records or "none"))
        )
    print_text("\n".join(_columns(rows, left=2)))


def print_machine_differences(names: Sequence[str], *, as_json: bool) -> None:
    """
    Print the figures in which machines differ, each with its kind.

    Raises:
        BadInput: There is no such machine or file, or a file breaks a rule.
    """
    machines = [load_machine(name) for name in names]
    found = figure_differences(machines)
    if as_json:
        sides = [{"name": one.name, "title": one.title, "digest": one.digest()} for one in machines]
        print_json({"machines": sides, "figures": [one.to_dict() for one in found]})
        return
    keys = dict.fromkeys(record.key for one in machines for record in one.figures)
    print_text(f"{len(found)} of {len(keys)} figures differ")
    print_tables(("figure", [one.name for one in machines], list(map(figure_row, found))))


def figure_row(found: FigureDifference) -> tuple[str, ...]:
    """Return a figure in which machines differ as a row: key and unit, then value and kind of each machine."""
    unit = "" if found.unit == "bool" else f", {found.unit}"
    cells = ("-" if one is None else _number(one) for one in found.values)
    pairs = zip(cells, found.kinds, strict=True)
    return found.key + unit, *(f"{cell} ({kind})" if kind else cell for cell, kind in pairs)


def print_machine(name: str, *, as_json: bool) -> None:
    """
    Print one machine.

    Raises:
        BadInput: There is no such machine or file, or the file breaks a rule.
    """
    report = machine_report(name)
    if as_json:
        print_json(report.to_dict())
    else:
        print_text("\n".join(_lines(report)))


def _lines(report: MachineReport) -> Iterator[str]:
    yield f"{report.title} ({report.name}): {report.sms} SMs at {report.clock_mhz:,} MHz"
    counts = ", ".join(f"{count} {kind}" for kind, count in report.counts.items())
    yield f"figures    {counts}; digest {report.digest[:12]}"
    yield f"records    {_validation(report)}"
    for kind in report.counts:
        figures = [figure for figure in report.figures if figure.kind == kind]
        if figures:
            yield ""
            yield kind
            yield from _table(figures)
    yield ""
    yield "sources"
    yield from _columns([("key", "title"), *report.sources.items()], left=2)


def _validation(report: MachineReport) -> str:
    if not report.records:
        return "none of this machine: nothing that is predicted for it was compared with the GPU"
    return f"{report.records} kernels measured; `gpusim validate --gpu {report.name}` says how far predictions are off"


def _table(figures: Sequence[FigureRecord]) -> Iterator[str]:
    """Yield the lines of each figure; words that do not fit go to further lines."""
    cells = [("key", "value", "unit"), *((figure.key, _number(figure.value), figure.unit) for figure in figures)]
    lines = list(_columns(cells, left=1))
    left = max(map(len, lines)) + 2
    room = max(_LEAST_WORDS, _WIDTH - left)
    for line, words in zip(lines, ["from", *map(_words, figures)], strict=True):
        first, *others = wrap(words, room) or [""]
        yield f"{line:{left}}{first}".rstrip()
        yield from (" " * left + other for other in others)


def _number(value: int | bool | tuple[int, ...]) -> str:
    return f"{value:,}" if type(value) is int else printed_value(value).lower()


def _words(figure: FigureRecord) -> str:
    """Return the origin of a figure: its source, the place in it, the reason to assume it, and its fitting data."""
    place = ", ".join(part for part in (figure.source, figure.at) if part)
    fitted = f"fitted on {', '.join(figure.fitted_on)}" if figure.fitted_on else ""
    return "; ".join(part for part in (place, figure.why, fitted) if part)


def _columns(rows: Sequence[tuple[str, ...]], left: int) -> Iterator[str]:
    """Yield rows with aligned columns: the first ``left`` ones to the left, a unit too, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    last = len(widths) - 1
    for row in rows:
        cells = (
            cell.ljust(width) if place < left or (place == last and not cell[:1].isdigit()) else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()
