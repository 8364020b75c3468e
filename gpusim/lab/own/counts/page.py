"""Writes the page of counts of own kernels against ncu: a summary, each count that differs, and each kernel."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from gpusim.lab.own.counts.compared import WITHOUT_CONFLICTS, ComparedCount
from gpusim.lab.own.counts.metrics import COMPARABLE, NOT_COMPARED
from gpusim.lab.own.machine_code import ARCHIVE
from gpusim.lab.own.measured import OWN_TABLE, OwnTable
from gpusim.records.halves import Half

_RACES: Final = (
    "a warp repeats its compare-and-swap if another warp was faster, and gpusim runs one CTA after the other; between"
    " ncu's own passes the compare-and-swaps differ by a factor of 1.5"
)
_GROUPS: Final = (
    "lanes that leave a loop in different iterations wait at one BSYNC; the H200 lets some groups arrive together, by a"
    " rule that is not known"
)
_SAME_ADDRESS: Final = (
    "an atomic takes a pass for each lane at one address (repeats.csv, equal for 119 of 122 patterns of words). Where"
    " random words of several lines repeat, the H200 takes up to three sectors more, by a rule that is not known"
)

DIFFERENCES: Final[Mapping[str, str]] = MappingProxyType(
    {"atomic_max_float": _RACES, "histogram_global": _SAME_ADDRESS, "mandelbrot": _GROUPS}
)
"""Why counts of a kernel differ from ncu's."""

_WORDS: Final = {metric.name: metric.words for metric in COMPARABLE} | {WITHOUT_CONFLICTS: WITHOUT_CONFLICTS}


def counts_page(
    half: Half,
    compared: Sequence[ComparedCount],
    refused: Mapping[str, str],
    *,
    rows: bool = True,
    table: OwnTable = OWN_TABLE,
) -> str:
    """
    Return the page as Markdown.

    Args:
        half: The half of the kernels that are compared.
        compared: All counts, kernel by kernel.
        refused: Why kernels were not executed, by name.
        rows: Whether counts of single kernels are shown, or aggregates alone.
        table: The table that has the kernels.
    """
    single = (_differing(compared), _kernels(compared)) if rows else ()
    parts = (_head(half, compared, refused, table), _by_metric(compared), *single, _left_out())
    return "\n".join(line for part in parts for line in part) + "\n"


def _head(half: Half, compared: Sequence[ComparedCount], refused: Mapping[str, str], table: OwnTable) -> Iterator[str]:
    command = table.command("gpusim.lab.own.counts", "--held-out" if half == "held-out" else "")
    by_kernel = _grouped(compared)
    whole = sum(all(one.equal for one in rows) for rows in by_kernel.values())
    yield f"# Counts of {table.words} against ncu: {half} kernels"
    yield ""
    yield f"`{command}` wrote this page. An H200 and gpusim executed the large launch of"
    yield f"each kernel from the same machine code (`{table.folder}/{ARCHIVE}`); ncu counted on the H200."
    yield "A count that is zero on both sides is no row."
    yield ""
    if table is not OWN_TABLE:
        yield "Which pipe executes an opcode was found from development kernels of CUDA; no rule was changed for these."
        yield ""
    elif half == "development":
        yield "Which pipe executes an opcode was found from these kernels, and so was the version of NVRTC that made"
        yield "their machine code. The rules for wavefronts and sectors stood before."
        yield ""
    equal = sum(one.equal for one in compared)
    yield f"**{equal} of {len(compared)} counts are equal, and all counts of {whole} of {len(by_kernel)} kernels.**"
    yield ""
    if refused:
        yield "Not executed:"
        yield ""
        yield from (f"- {name}: {why}" for name, why in refused.items())
        yield ""


def _grouped(compared: Sequence[ComparedCount]) -> dict[str, list[ComparedCount]]:
    grouped = defaultdict[str, list[ComparedCount]](list)
    for one in compared:
        grouped[one.kernel].append(one)
    return dict(grouped)


def _by_metric(compared: Sequence[ComparedCount]) -> Iterator[str]:
    yield "## By metric"
    yield ""
    yield "| count | ncu's metric | kernels | equal |"
    yield "|---|---|---:|---:|"
    for name, words in _WORDS.items():
        rows = [one for one in compared if one.what == name]
        if rows:
            metric = "source page, ideal" if name == WITHOUT_CONFLICTS else f"`{name}`"
            yield f"| {words} | {metric} | {len(rows)} | {sum(one.equal for one in rows)} |"
    rows = [one for one in compared if one.what not in _WORDS]
    equal = sum(one.equal for one in rows)
    yield f"| instructions of one opcode | `sass__inst_executed_per_opcode` | {len(rows)} | {equal} |"
    yield ""


def _differing(compared: Sequence[ComparedCount]) -> Iterator[str]:
    yield "## Counts that differ"
    yield ""
    yield "| kernel | count | gpusim | ncu | gpusim / ncu |"
    yield "|---|---|---:|---:|---:|"
    for one in compared:
        if not one.equal:
            ratio = f"{one.ours / one.measured:.4f}" if one.measured else ""
            yield f"| {one.kernel} | {_WORDS.get(one.what, one.what)} | {one.ours} | {one.measured} | {ratio} |"
    yield ""
    for name in dict.fromkeys(one.kernel for one in compared if not one.equal):
        yield f"- {name}: {DIFFERENCES.get(name, 'not explained')}."
    yield ""


def _kernels(compared: Sequence[ComparedCount]) -> Iterator[str]:
    yield "## Kernels"
    yield ""
    yield "| kernel | instructions | counts | equal |"
    yield "|---|---:|---:|---:|"
    for name, rows in _grouped(compared).items():
        executed = next(one.ours for one in rows if one.what == COMPARABLE[0].name)
        yield f"| {name} | {executed} | {len(rows)} | {sum(one.equal for one in rows)} |"
    yield ""


def _left_out() -> Iterator[str]:
    yield "## What is not compared"
    yield ""
    yield "| metrics | why |"
    yield "|---|---|"
    yield from (f"| {metrics} | {why} |" for metrics, why in NOT_COMPARED)
