"""Writes the streams of gpusim's own scenarios into the package, or checks them: ``ship_streams [--check]``."""

import argparse
import hashlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from gpusim.cuda.compiled_kernel import CompiledKernel, compile_kernel
from gpusim.element_types import is_emulated
from gpusim.errors import GpusimError
from gpusim.families.registry import family_of, load_scenario, scenario_of
from gpusim.lower.compiled import CompilableKernel
from gpusim.lower.sass.cubin import read_cubin
from gpusim.lower.shipped import INDEX, SHIPPED, ShippedStream, StreamKey, load_index, save_index
from gpusim.lower.stream_file import CompiledStream, Kinds, load_stream, save_stream
from gpusim.machine.load import load_machine
from gpusim.scenario.catalogue import recordable_scenarios, shipped_scenarios
from gpusim.scenario.models import Scenario

EXAMPLES: Final = {
    "my_gemm": {"machine": "h200", "problem": {"kind": "gemm", "m": 2048, "n": 2048, "k": 512}},
    "my_gemm_s4": {
        "machine": "h200",
        "problem": {"kind": "gemm", "m": 2048, "n": 2048, "k": 512},
        "kernel": {"stages": 4},
    },
}
"""The README's examples by the names of their files. Their streams ship, so the output needs no compiler."""


@dataclass(frozen=True, slots=True)
class _Fresh:
    """A stream from today's sources, its row in the index, and the classes of its steps."""

    row: ShippedStream
    stream: CompiledStream
    kinds: Kinds


def _compiled() -> Iterator[_Fresh]:
    """
    Yield the streams of every shipped or recordable scenario and example, compiled and lowered now, each kernel once.

    Kernels with an emulated mma.sync have none (D27), and neither have those whose machine code is not aligned yet.
    """
    seen: set[StreamKey] = set()
    for stem, scenario in scenarios_with_streams():
        machine = load_machine(scenario.machine)
        for number, kernel in enumerate(family_of(scenario).timing.timed_kernels(scenario, machine)):
            if not isinstance(kernel, CompilableKernel):
                continue
            if kernel.mma is not None and is_emulated(kernel.mma.ab, machine.compute_capability):
                continue
            suffix = f".{kernel.specialisation.entry.removeprefix('gpusim_')}" if number else ""
            for fresh in _of_kernel(kernel, f"{machine.name}/{stem}{suffix}", seen):
                seen.add(fresh.row.key)
                yield fresh


def scenarios_with_streams() -> Iterator[tuple[str, Scenario]]:
    """Yield every scenario whose streams ship, with the stem of its files."""
    for path in dict.fromkeys([*(one.path for one in shipped_scenarios()), *recordable_scenarios()]):
        yield path.stem, load_scenario(path)
    for name, data in EXAMPLES.items():
        yield name, scenario_of(data, name=name)


def _of_kernel(kernel: CompilableKernel[Any], name: str, seen: set[StreamKey]) -> Iterator[_Fresh]:
    own, target = kernel.specialisation, kernel.machine.compute_capability
    for slice_ in range(len(kernel.slice_blocks)):
        if (own.source.name, own.options, target, slice_) in seen:
            continue
        binary = compile_kernel(own, target)
        suffix = f".slice{slice_}" if len(kernel.slice_blocks) > 1 else ""
        row = ShippedStream(
            file=f"{name}{suffix}.json.gz",
            source=own.source.name,
            target=target,
            slice=slice_,
            compiler=binary.compiler,
            sources=own.sources,
            code=_code_digest(binary),
            options=own.options,
        )
        yield _Fresh(row, kernel.lowered(binary, slice_), kernel.step_kinds)


def _code_digest(binary: CompiledKernel) -> str:
    return hashlib.sha256(read_cubin(binary.cubin, binary.specialisation.entry, "the compiled kernel").code).hexdigest()


def ship() -> int:
    """
    Compile, lower and write the streams of every recordable or shipped scenario with their index; drop all others.

    Returns:
        Number of streams.

    Raises:
        CannotRun: No compiler is installed.
        CheckFailed: A kernel does not execute its schedule.
    """
    rows = []
    for fresh in _compiled():
        save_stream(SHIPPED / fresh.row.file, fresh.stream)
        rows.append(fresh.row)
    save_index(INDEX, rows)
    written = {SHIPPED / row.file for row in rows}
    for path in SHIPPED.rglob("*.json.gz"):
        if path not in written:
            path.unlink()
    return len(rows)


def differences() -> list[str]:
    """
    Compile and lower all streams again, and compare them with the shipped ones.

    Returns:
        A line for each stream that differs, with the consequence; empty if none does.

    Raises:
        CannotRun: No compiler is installed.
        CheckFailed: A kernel does not execute its schedule.
        BadInput: The index or a stream is damaged.
    """
    shipped = {row.file: row for row in load_index(INDEX)}
    lines = []
    for fresh in _compiled():
        row = shipped.pop(fresh.row.file, None)
        if row is None:
            lines.append(f"{fresh.row.file}: not shipped yet")
        elif row.code != fresh.row.code:
            lines.append(
                f"{row.file}: other machine code by {fresh.row.compiler} than by {row.compiler}: record it anew"
            )
        elif load_stream(SHIPPED / row.file, fresh.kinds) != fresh.stream:
            lines.append(f"{row.file}: equal machine code is lowered to another stream")
        elif row != fresh.row:
            lines.append(f"{row.file}: other sources or options, equal machine code: ship it anew, its records stand")
    return [*lines, *(f"{row.file}: no scenario has this kernel any more" for row in shipped.values())]


def main() -> int:
    """Print how many streams were written or differ, or the error; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m gpusim.lab.ship_streams", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 where a stream differs")
    try:
        if not parser.parse_args().check:
            sys.stdout.write(f"{ship()} streams in {SHIPPED}\n")
            return 0
        found = differences()
    except GpusimError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    sys.stdout.write("".join(f"{line}\n" for line in [*found, f"{len(found)} streams differ"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
