"""Tables of microbenchmarks, published ones and this project's, with the simulated cycles of the same programs."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gpusim.lab.calibrate.runner import read_rows
from gpusim.lab.published.programs import (
    MOST_CHAINS,
    arithmetic,
    barrier,
    cycles_of_a_trip,
    ldmatrix,
    lds,
    mma,
)
from gpusim.lab.published.trips import OWN, PUBLISHED, SpacedLoop, spacings
from gpusim.machine.load import load_machine
from gpusim.machine.spec import Machine
from gpusim.records.record import golden_folder, measured_folder
from gpusim.sim.code import Decoded

WITHIN: Final = 0.05
"""Largest relative difference of a simulated value from the published one."""

OWN_MACHINE: Final = "h200"
_OWN: Final = "gpusim calibrate"
_LDS_BYTES: Final = {"u32": 4, "u64": 8}
_PIPES: Final = {"lop3": "alu", "ffma": "fma", "imad": "fmaheavy", "mufu_ex2": "mufu"}


@dataclass(frozen=True, slots=True)
class Microbenchmark:
    """
    One microbenchmark: a loop of independent chains of one instruction.

    Attributes:
        machine: Name of the machine file.
        instruction: "mma", "ldmatrix", "lds", "arithmetic" or "barrier".
        name: Which: shape and types, "x4", bytes of a lane, or the pipe.
        wavefronts: Wavefronts of a shared access.
        warps: Warps of a CTA.
        chains: Independent instructions of one trip.
        ctas: CTAs on the SM.
    """

    machine: str
    instruction: str
    name: str
    wavefronts: int
    warps: int
    chains: int
    ctas: int = 1


@dataclass(frozen=True, slots=True)
class Entry:
    """
    One entry of a table, measured and simulated.

    Attributes:
        source: Who measured it.
        place: Table of the source.
        program: The microbenchmark.
        measured: Measured cycles of one trip.
        simulated: Simulated cycles of one trip.
    """

    source: str
    place: str
    program: Microbenchmark
    measured: float
    simulated: float

    @property
    def error(self) -> float:
        """(simulated - measured) / measured."""
        return (self.simulated - self.measured) / self.measured

    @property
    def met(self) -> bool:
        """Whether the simulated value is within ``WITHIN`` of the measured one."""
        return abs(self.error) <= WITHIN


def published_file() -> Path:
    """Return the path of the published tables, in the source tree."""
    return golden_folder() / "published" / "tables.csv"


def published_entries() -> tuple[Entry, ...]:
    """
    Run the published microbenchmarks.

    Raises:
        CannotRun: The tables cannot be read, as with an installed wheel.
    """
    found = []
    for row in _rows(published_file()):
        machine = load_machine(row["machine"])
        name, ways = row["name"], int(row["ways"])
        wavefronts = ways * _own_wavefronts(row["program"], name)
        shape = (int(row["warps"]), int(row["chains"]), int(row["ctas"]))
        program = Microbenchmark(machine.name, row["program"], name, wavefronts, *shape)
        found.append(
            Entry(row["source"], row["place"], program, float(row["cycles"]), _simulated(machine, program, PUBLISHED))
        )
    return tuple(found)


def own_entries() -> tuple[Entry, ...]:
    """
    Run this project's microbenchmarks of the H200 whose chains have a scoreboard each.

    Warps of a program go to the SMSPs in turn. So rows with several warps on one SMSP alone are left out, and so is an
    mma.sync that the machine file lacks.

    Raises:
        CannotRun: The CSV files cannot be read.
    """
    machine = load_machine(OWN_MACHINE)
    folder = measured_folder() / OWN_MACHINE / "microbench"
    return tuple(
        Entry(_OWN, table, program, measured, _simulated(machine, program, OWN))
        for table, program, measured in _own_rows(folder)
        if program.chains <= MOST_CHAINS and (program.instruction != "mma" or program.name in machine.tensor)
    )


def _own_rows(folder: Path) -> Iterator[tuple[str, Microbenchmark, float]]:
    for row in _rows(folder / "mma.csv"):
        if row["pattern"] == "chains" and row["operands"] == "distinct A, distinct B":
            program = Microbenchmark(OWN_MACHINE, "mma", row["type"], 1, int(row["warps"]), int(row["ilp"]))
            yield "mma.csv", program, float(row["per_round"])
    for row in _rows(folder / "ldmatrix.csv"):
        if row["smsps"] == "4" or row["warps"] == "1":
            shape = (int(row["wavefronts"]), int(row["warps"]), int(row["ilp"]))
            program = Microbenchmark(OWN_MACHINE, "ldmatrix", f"x{row['matrices']}", *shape)
            yield "ldmatrix.csv", program, float(row["per_round"])
    for row in _rows(folder / "shared.csv"):
        if row["instruction"] == "lds" and (row["smsps"] == "4" or row["warps"] == "1"):
            shape = (int(row["wavefronts"]), int(row["warps"]), int(row["ilp"]))
            yield "shared.csv", Microbenchmark(OWN_MACHINE, "lds", row["bytes"], *shape), float(row["per_round"])
    for row in _rows(folder / "arith.csv"):
        pipe = _PIPES.get(row["instruction"])
        if pipe:
            program = Microbenchmark(OWN_MACHINE, "arithmetic", pipe, 1, int(row["warps"]), int(row["ilp"]))
            yield "arith.csv", program, float(row["per_round"])
    for row in _rows(folder / "barrier.csv"):
        program = Microbenchmark(OWN_MACHINE, "barrier", "bar.sync", 1, int(row["warps"]), 1, int(row["ctas_per_sm"]))
        yield "barrier.csv", program, float(row["per_barrier"])


def share_within(entries: Iterable[Entry]) -> float:
    """Return the share of entries that are met."""
    met = [entry.met for entry in entries]
    return sum(met) / len(met)


def _rows(path: Path) -> list[dict[str, str]]:
    return read_rows(path, "a table of microbenchmarks")


def _own_wavefronts(instruction: str, name: str) -> int:
    """Return the wavefronts of an access without conflicts: one for each matrix. Conflicts multiply them."""
    return int(name[1:]) if instruction == "ldmatrix" else 1


def _simulated(machine: Machine, program: Microbenchmark, source: str) -> float:
    """
    Return the cycles of a trip.

    Loops that are not in ``trips.csv`` are simulated as endless chains: published single chains, from whose trips the
    latencies of a machine file were read, those of the H800, and loads of this project.
    """
    loop = SpacedLoop(source, program.machine, program.instruction, program.name, program.chains)
    cycles = spacings().get(loop, ())
    trips = len(cycles) // program.chains or 1
    return cycles_of_a_trip(machine, _body(machine, program, cycles), program.warps, program.ctas) / trips


def _body(machine: Machine, program: Microbenchmark, cycles: Sequence[int]) -> tuple[Decoded, ...]:
    match program.instruction:
        case "mma":
            return mma(machine, program.name, program.chains, cycles)
        case "ldmatrix":
            return ldmatrix(machine, int(program.name[1:]), program.chains, program.wavefronts, cycles)
        case "lds":
            width = _LDS_BYTES.get(program.name) or int(program.name)
            return lds(machine, width, program.wavefronts, program.chains)
        case "arithmetic":
            return arithmetic(machine, program.name, program.chains)
        case _:
            return barrier(machine)
