"""Writes the page of own kernels' cycles: errors by class, and each kernel of the development half."""

from collections.abc import Iterator, Mapping, Sequence

from gpusim.lab.own.cycles.compared import ComparedCycles, errors
from gpusim.lab.own.machine_code import ARCHIVE
from gpusim.lab.own.measured import OWN_TABLE, OwnTable
from gpusim.records.halves import Half


def cycles_page(
    half: Half,
    compared: Sequence[ComparedCycles],
    refused: Mapping[str, str],
    *,
    rows: bool = True,
    table: OwnTable = OWN_TABLE,
) -> str:
    """
    Return the page as Markdown.

    Args:
        half: The half of the kernels that are compared.
        compared: The kernels.
        refused: Why kernels have no time, by name.
        rows: Whether single kernels are shown, or aggregates alone.
        table: The table that has the kernels.
    """
    parts = [_head(half, compared, refused, table), _by_class(compared)]
    if rows:
        parts += [_kernels(compared), _refused(refused)]
    return "\n".join(line for part in parts for line in part) + "\n"


def _head(half: Half, compared: Sequence[ComparedCycles], refused: Mapping[str, str], table: OwnTable) -> Iterator[str]:
    command = table.command("gpusim.lab.own.cycles", "--held-out" if half == "held-out" else "")
    mean, tenth, _ = errors(compared)
    yield f"# Cycles of {table.words}: {half} half"
    yield ""
    yield f"`{command}` wrote this page. It compares elapsed cycles of large launches"
    yield "with `sm__cycles_elapsed.max` on an H200, with cold caches. Both execute the same machine code"
    yield f"(`{table.folder}/{ARCHIVE}`). Figures of the machine come from microbenchmarks; none was"
    yield "chosen on one of these kernels."
    yield ""
    yield f"**{len(compared)} kernels: the mean error is {mean:.1f} %, the 90th percentile {tenth:.1f} %.**"
    yield f"{len(refused)} kernels have no time." if refused else "Every kernel has a time."
    yield ""


def _by_class(compared: Sequence[ComparedCycles]) -> Iterator[str]:
    yield "| class | kernels | mean error | 90th percentile | with sign | within 15 % |"
    yield "|---|---:|---:|---:|---:|---:|"
    classes = sorted({one.bound for one in compared})
    for bound in (*classes, "all"):
        own = [one for one in compared if bound in (one.bound, "all")]
        mean, tenth, signed = errors(own)
        near = sum(abs(one.percent) <= 15 for one in own)
        yield f"| {bound} | {len(own)} | {mean:.1f} % | {tenth:.1f} % | {signed:+.1f} % | {near} |"
    yield ""


def _kernels(compared: Sequence[ComparedCycles]) -> Iterator[str]:
    yield "## Kernels"
    yield ""
    yield "| kernel | class | warp instructions | H200 | gpusim | error |"
    yield "|---|---|---:|---:|---:|---:|"
    for one in sorted(compared, key=lambda one: abs(one.percent)):
        counts = f"{one.instructions:,} | {one.measured:,} | {one.ours:,}"
        yield f"| `{one.kernel}` | {one.bound} | {counts} | {one.percent:+.1f} % |"
    yield ""


def _refused(refused: Mapping[str, str]) -> Iterator[str]:
    if refused:
        yield "## Without a time"
        yield ""
        yield from (f"- `{name}`: {reason}" for name, reason in sorted(refused.items()))
