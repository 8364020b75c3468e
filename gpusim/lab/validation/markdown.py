"""A validation as markdown: errors by figure and group, stalls, k tiles, CUTLASS's kernels, and every row."""

from collections.abc import Iterable, Iterator

from gpusim.lab.tables.markdown_page import table_row
from gpusim.lab.validation.observe import BUSY, CYCLES
from gpusim.lab.validation.statistics import LEAST_SHARE, ErrorSummary, KTile, StallSummary
from gpusim.lab.validation.validate import BEST_WITHIN, FEWEST_SHOWN, GROUPINGS, CutlassValidation, Validation
from gpusim.records.check_table import number, percent

_ERRORS = ("kernels", "mean", "median", "90th percentile", "worst", "signed mean")


def markdown(answer: Validation, commit: str | None, machine: str) -> str:
    """
    Return the page.

    Args:
        answer: The validation.
        commit: Commit of the source tree, or None if unknown.
        machine: Digest of the machine file.
    """
    lines = [f"# Validation, {answer.half} half, {answer.gpu}", "", *_preamble(answer, commit, machine)]
    lines += ["", "## Errors", "", *_overall(answer)]
    for by in GROUPINGS:
        lines += ["", f"## By {by}", "", *_by_group(answer, by)]
    lines += ["", "## Stalls", "", *_stalls(answer), "", "## Steady k tile", "", *_k_tiles(answer)]
    if answer.cutlass is not None:
        lines += ["", "## CUTLASS's kernels", "", *_cutlass(answer.cutlass)]
    if answer.rows:
        lines += ["", "## Every record", "", *_rows(answer)]
    return "\n".join(lines) + "\n"


def _preamble(answer: Validation, commit: str | None, machine: str) -> Iterator[str]:
    yield (
        f"{answer.records} records, simulated {answer.mode} at commit {commit or 'unknown'}, machine file"
        f" {machine[:12]}. An error is (simulated - measured) / measured; mean, median and 90th percentile are of"
        " absolute errors. *elapsed* is ncu's `sm__cycles_elapsed.max` of a cold launch, the median of several,"
        " *active* the mean active span of the SMs that had work."
    )
    if answer.half == "held-out" and not answer.rows:
        yield ""
        yield (
            f"Rows, names and groups of fewer than {FEWEST_SHOWN} records are not shown; `held_out_log.md` lists every"
            " look."
        )


def _overall(answer: Validation) -> Iterator[str]:
    yield from _head("figure", "stream", *_ERRORS)
    figures = dict.fromkeys(figure for stream in answer.streams.values() for figure in stream.overall)
    for figure in figures:
        for stream, own in answer.streams.items():
            if figure in own.overall:
                yield table_row(figure, stream, *_cells(own.overall[figure]))


def _by_group(answer: Validation, by: str) -> Iterator[str]:
    if by == "bound":
        yield (
            "What bounds a kernel is read from its own counters: the busiest of tensor core, L2 and DRAM if it is busy"
            f" for at least {100 * BUSY:.0f} % of the time, else latency."
        )
        yield ""
    yield from _head(by, "stream", "figure", *_ERRORS)
    groups = dict.fromkeys(group for stream in answer.streams.values() for group in stream.groups[by])
    for group in groups:
        for stream, own in answer.streams.items():
            for figure, summary in own.groups[by].get(group, {}).items():
                yield table_row(group, stream, figure, *_cells(summary))


def _stalls(answer: Validation) -> Iterator[str]:
    having = {stream: own.stalls for stream, own in answer.streams.items() if own.stalls is not None}
    for stream, own in having.items():
        yield (
            f"{stream.capitalize()} streams, {own.kernels} kernels: {own.points:.1f} points a reason (mean absolute"
            f" difference of its share, where that is at least {100 * LEAST_SHARE:.0f} %); the largest reason is right"
            f" on {100 * own.largest_right:.0f} %."
        )
        yield ""
    yield from _head("reason", *(cell for stream in having for cell in _stall_heads(stream)))
    for reason in dict.fromkeys(reason for own in having.values() for reason in own.reasons):
        yield table_row(reason, *(cell for own in having.values() for cell in _stall_cells(own, reason)))


def _stall_heads(stream: str) -> tuple[str, str, str]:
    return f"measured ({stream}'s kernels)", f"simulated, {stream}", "points"


def _stall_cells(own: StallSummary, reason: str) -> Iterable[str]:
    return [f"{100 * share:.1f}" for share in own.reasons.get(reason, (0.0, 0.0, 0.0))]


def _k_tiles(answer: Validation) -> Iterator[str]:
    yield (
        "The difference of two kernels that are equal but for the length of the sum, divided by the difference in k"
        " tiles (of attention: key blocks) of the CTAs that an SM runs one after another."
    )
    yield ""
    yield from _head("figure", "stream", "pairs", *_ERRORS[1:])
    for figure in CYCLES:
        for stream, own in answer.streams.items():
            if figure in own.k_tiles:
                yield table_row(figure, stream, *_cells(own.k_tiles[figure]))
    pairs = [pair for own in answer.streams.values() for pair in own.pairs]
    if pairs:
        yield ""
        yield from _head("pair", "stream", "k tiles", *(f"{figure} {what}" for figure in CYCLES for what in _COMPARED))
        for pair in sorted(pairs, key=lambda pair: (pair.names, pair.stream)):
            yield table_row(" to ".join(pair.names), pair.stream, str(pair.tiles), *_pair_cells(pair))


_COMPARED = ("measured", "error")


def _pair_cells(pair: KTile) -> Iterator[str]:
    for figure in CYCLES:
        yield f"{pair.figures[figure].measured:,.0f}"
        yield percent(pair.figures[figure].error)


def _cutlass(own: CutlassValidation) -> Iterator[str]:
    yield "CUTLASS's own kernels, simulated from their configuration alone, with estimated streams of CUTLASS's code."
    yield ""
    for stream, share in own.best_within.items():
        yield (
            f"With {stream} streams the predicted best kernel is within {100 * BEST_WITHIN:.0f} % of the true best on"
            f" {100 * share:.0f} % of {own.problems[stream]} problems."
        )
        yield ""
    yield from _head("figure", "stream", *_ERRORS)
    for figure in dict.fromkeys(figure for errors in own.errors.values() for figure in errors):
        for stream, errors in own.errors.items():
            if figure in errors:
                yield table_row(figure, stream, *_cells(errors[figure]))


def _rows(answer: Validation) -> Iterator[str]:
    columns = [f"{figure} {what}" for figure in CYCLES for what in _COMPARED]
    yield from _head("record", "stream", "waves", "bound", *columns)
    for one in sorted(answer.rows, key=lambda one: (one.name, one.stream)):
        figures = [one.figures.get(figure) for figure in CYCLES]
        cells = [
            cell
            for both in figures
            for cell in (("-", "-") if both is None else (number(round(both.measured)), percent(both.error)))
        ]
        yield table_row(one.name, one.stream, f"{one.waves:.1f}", one.groups["bound"], *cells)


def _cells(summary: ErrorSummary) -> tuple[str, ...]:
    shares = (summary.mean, summary.median, summary.p90)
    worst = f"{percent(summary.worst)} {summary.worst_name}".strip()
    return (str(summary.kernels), *(f"{100 * share:.1f} %" for share in shares), worst, percent(summary.signed))


def _head(*names: str) -> Iterator[str]:
    yield table_row(*names)
    yield "|" + "---|" * len(names)
