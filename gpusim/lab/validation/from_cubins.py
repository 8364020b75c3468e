"""
``python -m gpusim.lab.validation.from_cubins``: CUTLASS's kernels, measured and simulated from machine code.

Each kernel is built anew from CUTLASS's headers. It counts where it has the registers of the one that was measured, as
another compiler may have made another kernel, and where the schedule has its shared bytes.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gpusim.cuda.compiler import Compiler
from gpusim.errors import BadInput, CannotRun, CheckFailed, exit_code_of
from gpusim.families.registry import family_of
from gpusim.lab.cutlass_kernels import at_hand, build
from gpusim.lab.tables.markdown_page import put_page, table_row
from gpusim.lab.tables.speed_table import scenario_of
from gpusim.lab.validation.cutlass import FUSED_ATTENTION, committed_rows, name_of, rows_of
from gpusim.lab.validation.observe import CYCLES, Measured, Observation, observation
from gpusim.lab.validation.statistics import ErrorSummary, summary_of
from gpusim.lower.sass.cubin import kernel_names, read_cubin
from gpusim.lower.user_kernel import UserKernel, read_user_kernel
from gpusim.machine.load import load_machine
from gpusim.records.check_table import percent
from gpusim.verbs.simulate import simulate


@dataclass(frozen=True, slots=True)
class BuiltKernel:
    """
    One of CUTLASS's kernels, built and measured.

    Attributes:
        name: Its name in the rows.
        registers: Registers of a thread: built, and measured.
        shared_bytes: Shared memory of a CTA: of the schedule, and measured.
        observations: Its rows, measured and simulated from the machine code; empty if the two kernels differ.
        refusal: Why it was not built, or how it differs from the schedule; empty otherwise.
    """

    name: str
    registers: tuple[int, int] = (0, 0)
    shared_bytes: tuple[int, int] = (0, 0)
    observations: tuple[Observation, ...] = ()
    refusal: str = ""

    @property
    def counts(self) -> bool:
        """Whether it has the registers and the shared bytes of the measured kernel."""
        return not self.refusal and len(set(self.registers)) == len(set(self.shared_bytes)) == 1


def built_kernels(
    files: Sequence[Path], include: Path, compiler: Compiler, say: Callable[[str], object]
) -> Iterator[BuiltKernel]:
    """
    Build each kernel of measured rows, and simulate its rows from the machine code.

    Args:
        files: JSON files with measured rows under ``rows``.
        include: Folder of CUTLASS's headers.
        compiler: An nvcc.
        say: Called with a line on progress.

    Raises:
        CannotRun: A file cannot be read, or has no rows.
    """
    rows: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows_of(files):
        rows.setdefault(row["name"], []).append(row)
    with tempfile.TemporaryDirectory() as folder:
        for name, own in rows.items():
            try:
                yield _built(name, own, Path(folder) / f"{name}.cubin", include, compiler)
            except (BadInput, CannotRun, CheckFailed) as error:
                yield BuiltKernel(name, refusal=str(error))
            say(name)


def _built(name: str, rows: Sequence[Mapping[str, Any]], path: Path, include: Path, compiler: Compiler) -> BuiltKernel:
    first = rows[0]
    if first["kind"] == FUSED_ATTENTION:
        raise BadInput(f"kind must be gemm or conv2d_fprop, got {FUSED_ATTENTION!r}")
    scenario = scenario_of(first)
    machine = load_machine(scenario.machine)
    data = build(scenario, include, compiler)
    path.write_bytes(data)
    user = read_user_kernel(path, kernel_names(data, str(path))[0])
    registers = read_cubin(data, user.entry, str(path)).registers, first["registers_per_thread"]
    timed = family_of(scenario).timing.timed_kernels(scenario, machine)[0]
    found = BuiltKernel(name, registers, (timed.shared_bytes, first["shared_bytes"]))
    return (
        replace(found, observations=tuple(_observed(row, user, machine.sms) for row in rows)) if found.counts else found
    )


def _observed(row: Mapping[str, Any], user: UserKernel, sms: int) -> Observation:
    scenario = scenario_of(row)
    measured = Measured(name_of(row), scenario.resolved(), row["counters"], sms)
    return observation(measured, simulate(scenario, user=user)[0])


def page(kernels: Sequence[BuiltKernel], compiler: Compiler) -> str:
    """Return the page as markdown."""
    counted = [one for one in kernels if one.counts]
    seen = [observation for one in counted for observation in one.observations]
    lines = [
        "# CUTLASS's kernels from their machine code",
        "",
        (
            f"Built by {compiler.name} {compiler.version} from CUTLASS's headers, and simulated from the cubin: what"
            " `gpusim run FILE --cubin` does. A kernel counts where it has the registers of the one that was measured,"
            f" and the schedule its shared bytes: {len(counted)} of {len(kernels)} do, with {len(seen)} rows."
        ),
        "",
        table_row("figure", "rows", "mean", "median", "90th percentile", "worst", "signed mean"),
        "|" + "---|" * 7,
    ]
    for figure in CYCLES:
        summary = summary_of(seen, figure)
        if summary is not None:
            lines.append(table_row(figure, *_cells(summary)))
    lines += [
        "",
        table_row(
            "kernel",
            "registers built",
            "measured",
            "shared bytes of the schedule",
            "measured",
            "rows",
            *CYCLES,
            "why not",
        ),
    ]
    lines.append("|" + "---|" * 9)
    lines += [_row(one) for one in kernels]
    return "\n".join(lines) + "\n"


def _cells(summary: ErrorSummary) -> Iterator[str]:
    yield str(summary.kernels)
    yield from (f"{100 * value:.2f} %" for value in (summary.mean, summary.median, summary.p90))
    yield f"{percent(summary.worst)} {summary.worst_name}".rstrip()
    yield percent(summary.signed)


def _row(one: BuiltKernel) -> str:
    if one.refusal:
        return table_row(one.name, *[""] * 7, one.refusal)
    facts = (*map(str, one.registers), *(f"{size:,}" for size in one.shared_bytes))
    summaries = (summary_of(one.observations, figure) for figure in CYCLES)
    means = (f"{100 * summary.mean:.2f} %" if summary else "" for summary in summaries)
    return table_row(one.name, *facts, str(len(one.observations)), *means, "" if one.counts else "another kernel")


def main(argv: Sequence[str] | None = None) -> int:
    """Build and simulate all kernels, and write or print the page. Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m gpusim.lab.validation.from_cubins", description=__doc__)
    parser.add_argument("--headers", type=Path, help="CUTLASS's include folder; default: that of the wheel")
    parser.add_argument("--out", type=Path, help="file to write the page to; by default it is printed")
    arguments = parser.parse_args(argv)

    def work() -> None:
        include, compiler = at_hand(arguments.headers)
        found = tuple(built_kernels(committed_rows(), include, compiler, lambda line: sys.stderr.write(f"{line}\n")))
        put_page(page(found, compiler), arguments.out)

    return exit_code_of(work)


if __name__ == "__main__":
    sys.exit(main())
