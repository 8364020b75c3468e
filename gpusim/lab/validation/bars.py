"""
``python -m gpusim.lab.validation.bars``: the bars that cycles are held to, and what the reports say of each.

It measures nothing: values are read from what other commands wrote under ``reports/``. Of a bar that is missed it says
what is suspected, and which experiment would decide.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from gpusim.errors import CannotRun, exit_code_of
from gpusim.lab.published.tables import WITHIN
from gpusim.lab.tables.markdown_page import put_page, table_row
from gpusim.lab.validation.observe import CYCLES
from gpusim.lab.validation.validate import BEST_WITHIN
from gpusim.machine.load import load_machine
from gpusim.records.record import reports_folder

MACHINE: Final = "h200"

MOST_MEAN, MOST_P90, MOST_WORST, MOST_GEMM, MOST_ESTIMATED = 0.04, 0.08, 0.15, 0.03, 0.08
"""Held-out errors of cycles with compiled streams (mean, 90th percentile, worst, mean of GEMMs) and estimated ones."""

MOST_CUTLASS, MOST_CUBINS, LEAST_BEST = 0.09, 0.05, 0.9
"""CUTLASS's kernels: mean errors from configuration and from machine code, share of problems whose best is found."""

MOST_POINTS, LEAST_LARGEST = 0.02, 0.9
"""Held-out stalls: mean error of a reason's share, and how often the largest reason is right."""

MOST_TRAFFIC: Final = {"L2 sectors read": 0.05, "lts writes": 0.05, "DRAM bytes": 0.08}
"""Mean held-out errors of traffic."""

MOST_K_TILE, LEAST_PAIRS = 0.04, 12
"""Mean error of the k tile, and the least number of pairs of kernels that differ in the sum."""

MOST_PHASE: Final = 0.1
"""Mean errors of the prologue and of the drain of stamped kernels."""

MOST_SAMPLED, MOST_SAMPLED_WORST = 0.003, 0.005
"""Errors of sampled launches against exact ones in elapsed cycles, of the held-out half: mean and worst."""

LEAST_PUBLISHED, MOST_FITTED, LEAST_MUTATIONS = 0.95, 5, 0.95
"""Share of published entries that are met, fitted figures, share of mutations that fail a test."""

_PERCENT: Final = r"([\d.]+) %"


@dataclass(frozen=True, slots=True)
class CycleBar:
    """
    One bar, and the figure that must meet it.

    Attributes:
        what: The figure, in words.
        measured: The figure.
        limit: The bar.
        at_least: Whether the bar is a minimum; else it is a maximum.
        is_share: Whether both are shares, which are shown in per cent.
        suspected: The suspected cause of a miss; empty if the bar is met.
        experiment: The experiment that would decide.
    """

    what: str
    measured: float
    limit: float
    at_least: bool = False
    is_share: bool = True
    suspected: str = ""
    experiment: str = ""

    @property
    def met(self) -> bool:
        """Whether the bar is met."""
        return self.measured >= self.limit if self.at_least else abs(self.measured) <= self.limit


@dataclass(frozen=True, slots=True)
class Doubt:
    """
    The suspected cause of a missed bar.

    Attributes:
        of: Pattern of the bars' names.
        suspected: The mechanism.
        experiment: The experiment that would decide.
    """

    of: str
    suspected: str
    experiment: str


_THROUGH: Final = (
    "data of cp.async.ca waits for zeros that are written behind it (32 copies of an SM with 96 of zeros: 686 cycles,"
    " simulated 440; a trial), of which convolutions with few k tiles have many"
)

DOUBTS: Final = (
    Doubt(
        "worst",
        "left-over CTAs: which SMs they go to, and which share of the L2 these have (D24, D33). Elapsed cycles are"
        " worst for a convolution, active ones for a kernel of few CTAs",
        "the SMs of all CTAs of that configuration's neighbours (`gpusim.lab.main_loops.lives`, forward convolutions)",
    ),
    Doubt(
        "GEMM",
        "cold lines, for which CTAs wait too long behind their first copies (stamps.md, the first wait), and DRAM's"
        " refreshes, which each launch of an H200 meets at another phase",
        "that wait by copy: when the lines of each have come, in cold launches of one stamped kernel",
    ),
    Doubt(
        "from cubins",
        "spilled registers: CUTLASS's analytic convolutions read twelve each k tile, which always hit the simulated L1"
        " (D17). On an H200 1x1 ones, whose operands stream through the L1, wait 1,000 cycles a k tile longer, 3x3 ones"
        " 60 to 160. And " + _THROUGH,
        "samples of these kernels by instruction; their spilled registers' lines among those that copies evict from the"
        " L1; the arrival of such data where the zeros that stand before it are known",
    ),
    Doubt(
        "predicted best",
        "the estimated stream of CUTLASS's fused attention: for 4x16x1024x1024x64, causal, 64x64 is 13.5 % too slow and"
        " 32x128 7.1 % too fast. They end within .3 % of each other and are ranked the wrong way round",
        "both from their cubins, which `from_cubins` does not read, beside the estimated streams, by instruction",
    ),
    Doubt(
        "k tile",
        "a kernel of some thousand cycles meets DRAM's refresh at one phase when it is simulated, and at another in"
        " each launch of an H200. That is a part only: with the median of five phases 6.2 and 6.3 % remain of 7.2 and"
        " 6.7 (development 3.1 and 2.8 of 3.2 and 2.8; a trial). K tiles are 3 % too short in the mean: CTAs keep step,"
        " and too many of their requests are merged (D24)",
        "first what stamps cost, stamped less plain kernels, as simulated stamped main loops are 3.7 % too long; then"
        " steady k tiles from the stamps of every k tile, for each SM that shares a line",
    ),
    Doubt(
        "prologue",
        "code that comes from DRAM: from the first stamp to the first copy all CTAs of one launch take about as long,"
        " those of another launch up to 700 cycles longer (gemm_swizzle: four CTAs of seven launches, 620 to 1,410; a"
        " trial). Simulated, each line of cold code takes the mean time",
        "clocks at each line of the code before the first copy, in cold launches of such a kernel, beside lines of data"
        " that one SM reads meanwhile",
    ),
    Doubt(
        "largest reason",
        "where the MIO is full, short_scoreboard has too much of what an H200 counts as not_selected, dispatch_stall,"
        " lg_throttle and barrier: on silicon several warps of an SMSP become ready at once",
        "stores that wait in a queue of their own (lg_throttle): in admitted.csv an ldmatrix waits as long behind"
        " stores of an older CTA as of a younger one; simulated, it waits until an older one has stored all (D4)",
    ),
    Doubt(
        "L2 sectors read",
        "CTAs keep step longer than on an H200, so that too many requests are merged (D24)",
        "clocks of GPCs whose CTAs drift apart, by k tile, of one long GEMM",
    ),
    Doubt(
        "sampled",
        "fewer CTAs that share a line are simulated, so that it has been requested before less often than on a chip"
        " (D14): active cycles of nine SMs of 64, or seven of 132, are up to 1.8 % too many. Elapsed ones depend on the"
        " last SM: an exact run, too, moves by up to 2 % where DRAM answers a cycle later",
        "a sample whose lines are requested as early as by the first of all CTAs that share them, from the spread of"
        " the sample's own CTAs; the mean of exact runs whose DRAM answers some cycles later or earlier",
    ),
)
"""Suspected causes. The first one whose pattern matches counts."""

NOT_MEASURED: Final = (
    "Speed over that of the committed bench is held by turns of two trees on one machine (`bench.md`).",
)


def bars(reports: Path) -> Iterator[CycleBar]:
    """
    Yield every bar with its figure from the reports.

    Raises:
        CannotRun: A report is missing, or lacks the figure of a bar.
    """
    for bar in _bars(reports):
        doubt = next((one for one in DOUBTS if re.search(one.of, bar.what)), None)
        if bar.met or doubt is None:
            yield bar
        else:
            yield replace(bar, suspected=doubt.suspected, experiment=doubt.experiment)


def _bars(reports: Path) -> Iterator[CycleBar]:
    held_out = _validation(reports / "validation" / "held_out.json")
    own = ("streams", "compiled")
    for figure in CYCLES:
        errors = held_out.at(*own, "overall", figure)
        yield CycleBar(f"held-out, {figure}, mean", errors["mean"], MOST_MEAN)
        yield CycleBar(f"held-out, {figure}, 90th percentile", errors["p90"], MOST_P90)
        yield CycleBar(f"held-out, {figure}, worst", errors["worst"], MOST_WORST)
        gemm = held_out.at(*own, "groups", "kind", "gemm", figure)
        yield CycleBar(f"held-out GEMM, {figure}, mean", gemm["mean"], MOST_GEMM)
        estimated = held_out.at("streams", "estimated", "overall", figure)
        yield CycleBar(f"held-out, estimated, {figure}, mean", estimated["mean"], MOST_ESTIMATED)
    development = _validation(reports / "validation" / "development.json")
    for figure in CYCLES:
        mean = development.at("cutlass", "errors", "estimated", figure)["mean"]
        yield CycleBar(f"CUTLASS's kernels, from the configuration, {figure}, mean", mean, MOST_CUTLASS)
    best = development.at("cutlass", "best_within", "estimated")
    within = f"within {100 * BEST_WITHIN:.0f} % of the true one"
    yield CycleBar(f"CUTLASS's kernels, problems whose predicted best is {within}", best, LEAST_BEST, at_least=True)
    cubins = reports / "validation" / "from_cubins.md"
    for figure in CYCLES:
        mean = _share(cubins, rf"^\| {figure} \| \d+ \| {_PERCENT}")
        yield CycleBar(f"CUTLASS's kernels, from cubins, {figure}, mean", mean, MOST_CUBINS)
    stalls = held_out.at(*own, "stalls")
    yield CycleBar("held-out, stalls, share of a reason", stalls["points"] / 100, MOST_POINTS)
    yield CycleBar("held-out, the largest reason is right", stalls["largest_right"], LEAST_LARGEST, at_least=True)
    for figure, most in MOST_TRAFFIC.items():
        yield CycleBar(f"held-out, {figure}, mean", held_out.at(*own, "overall", figure)["mean"], most)
    for figure in CYCLES:
        errors = held_out.at(*own, "k_tiles", figure)
        yield CycleBar(f"held-out, k tile of {errors['kernels']} pairs, {figure}, mean", errors["mean"], MOST_K_TILE)
    pairs = held_out.at(*own, "k_tiles", "elapsed")["kernels"]
    yield CycleBar("held-out, pairs that differ in the sum", pairs, LEAST_PAIRS, at_least=True, is_share=False)
    for phase in ("prologue", "drain"):
        mean = _share(reports / "validation" / "stamps.md", rf"^\| {phase} \| \d+ \| {_PERCENT}")
        yield CycleBar(f"stamped kernels, {phase}, mean", mean, MOST_PHASE)
    met, entries = _stated(reports / "published_tables.md", r"^(\d+) of (\d+) entries are met")
    what = f"published tables, entries within {100 * WITHIN:.0f} %"
    yield CycleBar(what, int(met) / int(entries), LEAST_PUBLISHED, at_least=True)
    fitted = sum(figure.kind == "fitted" for figure in load_machine(MACHINE).figures)
    yield CycleBar(f"fitted figures of {MACHINE}", fitted, MOST_FITTED, is_share=False)
    sampled = reports / "sampling_error.md"
    mean = _share(sampled, rf"held-out problems(?:.|\n)*?by {_PERCENT} in the mean")
    yield CycleBar("sampled beside exact, elapsed, mean", mean, MOST_SAMPLED)
    worst = _share(sampled, rf"held-out problems(?:.|\n)*?in the mean and {_PERCENT} at most")
    yield CycleBar("sampled beside exact, elapsed, largest", worst, MOST_SAMPLED_WORST)
    noticed, tried = _stated(reports / "mutations.md", r"(\d+) of (\d+) mutations are noticed")
    yield CycleBar(
        "mutations of the machine that fail a test", int(noticed) / int(tried), LEAST_MUTATIONS, at_least=True
    )


class _Validation(NamedTuple):
    """A validation's report, and the file that it was read from."""

    path: Path
    report: Any

    def at(self, *keys: str) -> Any:
        """Return the value under nested keys."""
        found = self.report
        for key in keys:
            if not isinstance(found, dict) or found.get(key) is None:
                raise CannotRun(f"{self.path}: {'.'.join(keys)} must be there, no {key!r}")
            found = found[key]
        return found


def _validation(path: Path) -> _Validation:
    try:
        return _Validation(path, json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise CannotRun(f"{path}: no validation ({error})") from error


def _stated(path: Path, pattern: str) -> tuple[str, ...]:
    """Return the groups of a pattern that matches the text of a page."""
    try:
        found = re.search(pattern, path.read_text(encoding="utf-8"), re.MULTILINE)
    except OSError as error:
        raise CannotRun(f"{path}: no such report ({error.strerror or error})") from error
    if found is None:
        raise CannotRun(f"{path}: the page must state {pattern!r}")
    return found.groups()


def _share(path: Path, pattern: str) -> float:
    """Return the share that a page states in per cent."""
    return float(_stated(path, pattern)[0]) / 100


def page(found: Sequence[CycleBar]) -> str:
    """Return the page as markdown."""
    missed = [bar for bar in found if not bar.met]
    lines = [
        "# Bars",
        "",
        "Made by `python -m gpusim.lab.validation.bars` from what stands in the other reports.",
        "",
        f"{len(found) - len(missed)} of {len(found)} are met.",
        "",
        table_row("figure", "bar", "value", "met"),
        "|---|---|---|---|",
    ]
    lines += [
        table_row(
            bar.what,
            f"{'at least' if bar.at_least else 'at most'} {_shown(bar, bar.limit)}",
            _shown(bar, bar.measured),
            "met" if bar.met else "**not met**",
        )
        for bar in found
    ]
    if missed:
        lines += ["", "## Missed", "", "What is suspected of each, and which experiment would decide.", ""]
    for doubt in dict.fromkeys((bar.suspected, bar.experiment) for bar in missed):
        named = "; ".join(bar.what for bar in missed if (bar.suspected, bar.experiment) == doubt)
        suspected, experiment = doubt
        lines.append(f"- **{named}**: {suspected}. *Decides:* {experiment}.")
    lines += ["", "## Not in the table", "", *(f"- {line}" for line in NOT_MEASURED)]
    return "\n".join(lines) + "\n"


def _shown(bar: CycleBar, value: float) -> str:
    return f"{100 * value:.3g} %" if bar.is_share else f"{value:g}"


def main(argv: Sequence[str] | None = None) -> int:
    """Write or print the page; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m gpusim.lab.validation.bars", description=__doc__)
    parser.add_argument("--reports", type=Path, default=reports_folder(), help="folder of reports")
    parser.add_argument("--out", type=Path, help="file to write the page to; by default it is printed")
    arguments = parser.parse_args(argv)
    return exit_code_of(lambda: put_page(page(tuple(bars(arguments.reports))), arguments.out))


if __name__ == "__main__":
    sys.exit(main())
