"""
``python -m gpusim.measure.validation.from_cubins``: CUTLASS's kernels, measured and simulated from machine code.

Each kernel is built anew from CUTLASS's headers. It counts where it has the registers and the shared bytes of the one
that was measured: another compiler may have made another kernel.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpusim.cuda.compiler import Compiler, find_compiler
from gpusim.errors import BadInput, CannotRun, exit_code_of
from gpusim.families.registry import family_of
from gpusim.lower.sass.cubin import kernel_names, read_cubin
from gpusim.lower.user_kernel import UserKernel, read_user_kernel
from gpusim.machine.load import load_machine
from gpusim.measure.cutlass_kernels import build, headers
from gpusim.measure.tables.page import put_page, table_row
from gpusim.measure.tables.speed_table import scenario_of
from gpusim.measure.validation.cutlass import committed_rows
from gpusim.measure.validation.observe import Measured, Observation, observation
from gpusim.measure.validation.statistics import ErrorSummary, summary_of
from gpusim.records.check_table import percent
from gpusim.verbs.simulate import simulate

_FIGURES = ("elapsed", "active")


@dataclass(frozen=True, slots=True)
class BuiltKernel:
    """
    One of CUTLASS's kernels, as it was built and as it was measured.

    Attributes:
        name: Its name in the rows.
        registers: Registers of a thread: built, and measured.
        shared_bytes: Shared memory of a CTA: of the schedule, and measured.
        observations: Its rows, measured and simulated from the machine code; none where the two kernels differ.
        refusal: Why it could not be built or run; empty where it could.
    """

    name: str
    registers: tuple[int, int] = (0, 0)
    shared_bytes: tuple[int, int] = (0, 0)
    observations: tuple[Observation, ...] = ()
    refusal: str = ""

    @property
    def counts(self) -> bool:
        """Whether it is the kernel that was measured, as far as registers and shared bytes tell."""
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
    for path in files:
        try:
            for row in json.loads(path.read_text(encoding="utf-8"))["rows"]:
                rows.setdefault(row["name"], []).append(row)
        except (OSError, ValueError, KeyError) as error:
            raise CannotRun(f"{path}: no measured rows ({error})") from error
    with tempfile.TemporaryDirectory() as folder:
        for name, own in rows.items():
            try:
                yield _built(name, own, Path(folder) / f"{name}.cubin", include, compiler)
            except (BadInput, CannotRun) as error:
                yield BuiltKernel(name, refusal=str(error))
            say(name)


def _built(name: str, rows: Sequence[Mapping[str, Any]], path: Path, include: Path, compiler: Compiler) -> BuiltKernel:
    first = rows[0]
    if first["kind"] not in {"gemm", "conv2d_fprop"}:
        raise BadInput("fused attention is not built here")
    scenario = scenario_of(first)
    machine = load_machine(scenario.machine)
    data = build(scenario, include, compiler)
    path.write_bytes(data)
    (entry,) = kernel_names(data, str(path))
    user = read_user_kernel(path, entry)
    registers = read_cubin(data, entry, str(path)).registers, first["registers_per_thread"]
    timed = family_of(scenario).timing.timed_kernels(scenario, machine)[0]
    shared = timed.shared_bytes, first["shared_bytes"]
    counts = registers[0] == registers[1] and shared[0] == shared[1]
    return BuiltKernel(
        name, registers, shared, tuple(_observed(row, user, machine.sms) for row in rows) if counts else ()
    )


def _observed(row: Mapping[str, Any], user: UserKernel, sms: int) -> Observation:
    scenario = scenario_of(row)
    extents = "x".join(str(row[key]) for key in "MNKHWCRS" if key in row)
    measured = Measured(f"{row['name']} {extents}", scenario.resolved(), row["counters"], sms)
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
            " `gpusim run FILE --cubin` does. A kernel counts where it has the registers and the shared bytes of the"
            f" one that was measured: {len(counted)} of {len(kernels)} do, with {len(seen)} rows."
        ),
        "",
        table_row("figure", "rows", "mean", "median", "90th percentile", "worst", "signed mean"),
        "|" + "---|" * 7,
    ]
    for figure in _FIGURES:
        summary = summary_of(seen, figure)
        if summary is not None:
            lines.append(table_row(figure, *_cells(summary)))
    lines += [
        "",
        table_row("kernel", "registers built", "measured", "shared bytes", "measured", "rows", *_FIGURES, "why not"),
    ]
    lines.append("|" + "---|" * 9)
    lines += [_row(one) for one in kernels]
    return "\n".join(lines) + "\n"


def _cells(summary: ErrorSummary) -> Iterator[str]:
    yield str(summary.kernels)
    yield from (f"{100 * value:.1f} %" for value in (summary.mean, summary.median, summary.p90))
    yield f"{percent(summary.worst)} {summary.worst_name}".rstrip()
    yield percent(summary.signed)


def _row(one: BuiltKernel) -> str:
    if one.refusal:
        return table_row(one.name, *[""] * 7, one.refusal)
    facts = (*map(str, one.registers), *(f"{size:,}" for size in one.shared_bytes))
    summaries = (summary_of(one.observations, figure) for figure in _FIGURES)
    means = (f"{100 * summary.mean:.1f} %" if summary else "" for summary in summaries)
    return table_row(one.name, *facts, str(len(one.observations)), *means, "" if one.counts else "another kernel")


def main(argv: Sequence[str] | None = None) -> int:
    """Build and simulate all kernels, and write or print the page. Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m gpusim.measure.validation.from_cubins", description=__doc__)
    parser.add_argument("--headers", type=Path, help="CUTLASS's include folder; default: that of the wheel")
    parser.add_argument("--out", type=Path, help="file to write the page to; by default it is printed")
    arguments = parser.parse_args(argv)

    def work() -> None:
        include, compiler = arguments.headers or headers(), find_compiler("nvcc")
        if include is None:
            raise CannotRun("CUTLASS's headers are missing: pip install --no-deps -r requirements/cutlass.txt")
        found = tuple(built_kernels(committed_rows(), include, compiler, lambda line: sys.stderr.write(f"{line}\n")))
        put_page(page(found, compiler), arguments.out)

    return exit_code_of(work)


if __name__ == "__main__":
    sys.exit(main())
