"""
``python -m gpusim.lab.published.trips``: how ptxas spaces the instructions of microbenchmarks' loops.

In the code of sm_80 and sm_90 nothing holds an mma.sync back but the stalls in control fields: ptxas knows how long
one takes, and lets the warp wait before the next of its chain (on sm_86, whose tensor cores take longer, they are busy
until then). What it does at the end of a loop costs a lone warp cycles that no tensor core takes.
"""

import argparse
import csv
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from gpusim.cuda.compiler import compile_cubin, find_compiler
from gpusim.cuda.specialise import Specialisation, kernels_folder
from gpusim.errors import CannotRun, CheckFailed, exit_code_of
from gpusim.lab.calibrate.runner import read_rows
from gpusim.lab.calibrate.runs import EMULATED, MMA_TYPES
from gpusim.lower.sass.cubin import kernel_names, read_cubin
from gpusim.lower.sass.decode import Control, control_field, decode_word
from gpusim.lower.sass.operands import CodeAddress
from gpusim.lower.stream import INSTRUCTION_BYTES
from gpusim.machine.load import load_machine
from gpusim.records.record import golden_folder
from gpusim.units import WARP_SIZE

PUBLISHED, OWN = "trips", "mma"
"""Sources of loops in ``kernels_cuda/microbench``: those in the form of Sun et al., and this project's."""

MACHINES: Final = {PUBLISHED: ("a100", "rtx3090"), OWN: ("h200",)}
"""Machines for which each source is compiled. For sm_90 nvcc unrolls the published loops almost completely."""

_TYPES: Final = {
    **MMA_TYPES,
    "S8K16N8": "m8n8k16.s8.s32",
    "S4K32": "m16n8k32.s4.s32",
    "B1K256": "m16n8k256.b1.s32",
    "B1K128": "m16n8k128.b1.s32",
}

_OPCODE_BITS: Final = 0xFFF
_BRANCH: Final = 0x947
_TIMED: Final = frozenset({0x23C, 0x237, 0x23D, 0x83B})
"""Opcodes of HMMA, IMMA, BMMA and LDSM."""

_COLUMNS: Final = ("source", "machine", "program", "name", "chains", "cycles")


class SpacedLoop(NamedTuple):
    """
    A loop of a microbenchmark, with its source and its target.

    Attributes:
        source: ``PUBLISHED`` or ``OWN``.
        machine: The target machine.
        program: "mma" or "ldmatrix".
        name: The instruction: shape and types of the mma.sync, or "x4" of the ldmatrix.
        chains: Independent instructions of one trip.
    """

    source: str
    machine: str
    program: str
    name: str
    chains: int


def trips_file() -> Path:
    """Return the path of the committed spacing, in the source tree."""
    return golden_folder() / "published" / "trips.csv"


@cache
def spacings() -> dict[SpacedLoop, tuple[int, ...]]:
    """
    Return, for each loop, the cycles from each timed instruction to the next by ptxas's stalls, over unrolled trips.

    Raises:
        CannotRun: The file cannot be read, or a row has no whole trips.
    """
    path = trips_file()
    found = {}
    for row in read_rows(path, "spacing of loops"):
        loop = SpacedLoop(row["source"], row["machine"], row["program"], row["name"], int(row["chains"]))
        found[loop] = tuple(map(int, row["cycles"].split()))
        if len(found[loop]) % loop.chains:
            raise CannotRun(f"{path}: {loop}: cycles must be of whole trips of {loop.chains}, got {len(found[loop])}")
    return found


def cycles_of(control: Control) -> int:
    """
    Return the least cycles to a warp's next instruction.

    An instruction that yields keeps its warp from issuing in the next cycle: with a stall of 1 it takes two. On an
    H200, a chain of m16n8k8, each with a stall of 15 and a yielding NOP with a stall of 1, takes 17.0 cycles an
    mma.sync, not 16 (mma.csv).

    Source: Huerta et al., MICRO'25, section 4.
    """
    stall = max(1, control.stall)
    return stall + 1 if stall == 1 and not control.yield_ else stall


def spacing(code: bytes, architecture: int, where: str) -> tuple[int, ...]:
    """
    Return the cycles from each timed instruction of a kernel's loop to the next.

    Args:
        code: The kernel's machine code.
        architecture: Compute capability as 10 * major + minor.
        where: Name of the kernel in error messages.

    Raises:
        CheckFailed: No loop has a timed instruction.
    """
    words = [
        int.from_bytes(code[at : at + INSTRUCTION_BYTES], "little") for at in range(0, len(code), INSTRUCTION_BYTES)
    ]
    for last, word in enumerate(words):
        first = _target(word, last * INSTRUCTION_BYTES, architecture)
        if first is None or first >= last:
            continue
        body = words[first : last + 1]
        timed = [at for at, one in enumerate(body) if one & _OPCODE_BITS in _TIMED]
        if timed:
            taken = [cycles_of(control_field(one)) for one in body]
            ends = (*timed[1:], len(body))
            found = [sum(taken[begin:end]) for begin, end in zip(timed, ends, strict=True)]
            found[-1] += sum(taken[: timed[0]])
            return tuple(found)
    raise CheckFailed(f"{where}: no loop with mma.sync or ldmatrix")


def _target(word: int, address: int, architecture: int) -> int | None:
    """Return the index of a branch's target; None for any other instruction."""
    if word & _OPCODE_BITS != _BRANCH:
        return None
    branch = decode_word(word, address, architecture)
    return branch.operand("t", CodeAddress).address // INSTRUCTION_BYTES


def compiled_loops() -> Iterator[tuple[SpacedLoop, tuple[int, ...]]]:
    """
    Compile the loops and yield how each is spaced.

    Raises:
        CannotRun: No compiler is installed.
        CheckFailed: A kernel has no such loop.
    """
    folder = kernels_folder() / "microbench"
    for source, machines in MACHINES.items():
        for name in machines:
            architecture = load_machine(name).compute_capability
            kernel = Specialisation(
                entry=source,
                build="plain",
                options=("-std=c++17",),
                grid=(1, 1, 1),
                block_threads=WARP_SIZE,
                shared_bytes=0,
                k_iterations=0,
                semaphores=0,
                source=folder / f"{source}.cu",
                include=folder,
            )
            path = compile_cubin(kernel, f"sm_{architecture}", find_compiler("nvcc"))
            data = path.read_bytes()
            for entry in kernel_names(data, str(path)):
                loop = _loop(source, name, entry)
                if loop is not None:
                    yield loop, spacing(read_cubin(data, entry, str(path)).code, architecture, entry)


def _loop(source: str, machine: str, entry: str) -> SpacedLoop | None:
    """Return the loop of a kernel; None if a kernel of this project has no such chain."""
    program, kind, *rest = entry.split("_")
    if source == OWN:
        alone = program == "chains" and rest[1:] == ["2"] and kind != EMULATED
        return SpacedLoop(source, machine, "mma", _TYPES[kind], int(rest[0])) if alone else None
    return SpacedLoop(source, machine, program, _TYPES.get(kind, kind), int(rest[0]))


def main(arguments: Sequence[str] | None = None) -> int:
    """Compile the loops, and write their spacing. Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m gpusim.lab.published.trips", description=__doc__)
    parser.add_argument("--out", type=Path, default=trips_file(), help="file to write (default: %(default)s)")
    parsed = parser.parse_args(arguments)

    def work() -> None:
        compiler = find_compiler("nvcc")
        rows = sorted(compiled_loops())
        try:
            with parsed.out.open("w", encoding="utf-8", newline="") as file:
                file.write(f"# python -m gpusim.lab.published.trips, {compiler.name} {compiler.version}\n")
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(_COLUMNS)
                writer.writerows((*loop, " ".join(map(str, found))) for loop, found in rows)
        except OSError as error:
            raise CannotRun(f"{parsed.out}: cannot be written ({error.strerror or error})") from error

    return exit_code_of(work)


if __name__ == "__main__":
    sys.exit(main())
