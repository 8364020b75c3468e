"""
``python -m gpusim.lab.main_loops.one_sm OUT``: main loops of several CTAs on one SM, while all other SMs rest.

Whole, and with some of their instructions left out (``gpusim.lab.main_loops.parts``).
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Final

import numpy as np

from gpusim.arrays import IntArray
from gpusim.cuda.compiler import compile_cubin
from gpusim.errors import CannotRun, exit_code_of
from gpusim.families.registry import family_of, load_scenario, parse_scenario
from gpusim.gpu.module import LoadedKernel, architecture
from gpusim.gpu.run import put_pointers
from gpusim.lab.calibrate.runner import WARP, Device, MeasuredRow, write_rows
from gpusim.lab.main_loops.lives import stamped
from gpusim.lab.main_loops.parts import without
from gpusim.machine.load import load_machine
from gpusim.machine.occupancy import ctas_per_sm
from gpusim.scenario.catalogue import find_scenario
from gpusim.scenario.models import Scenario

NAMES: Final = (
    *("gemm_64x64x32_s4", "gemm_64x64x32_s5_2048x2048x512", "gemm_64x64x64_s5_2048", "gemm_128x64x64_s3_4096x4096x512"),
    *("gemm_128x128x32_s3_2048", "gemm_128x128x64_s3_2048", "gemm_tt_128x64x32_s5_2560x1408x768"),
    *("gemm_nt_64x128x32_s4_2560x1536x768", "gemm_tf32_128x64x16_s4_4096x2048x256"),
    *("gemm_u8_128x64x64_s4_2560x1408x1024", "gemm_s8_128x128x64_s3_2048"),
)
"""Scenarios whose kernels are launched, by the number of CTAs that share an SM."""

PARTS_LEFT_OUT: Final = (
    *("", "LDGSTS lanes", "LDGSTS", "LDSM", "MMA", "empty LDS", "BAR"),
    *("LDGSTS LDSM", "LDGSTS MMA", "LDSM MMA", "LDGSTS lanes LDSM", "LDGSTS lanes MMA", "empty LDS MMA"),
    *("LDSM BAR", "LDGSTS lanes BAR", "LDGSTS BAR"),
)
"""Parts that are left out (``parts.parts_in``): none, the copies' data, copies, ldmatrix, mma.sync, barriers, ..."""

PIPELINED_NAMES: Final = (
    *("gemm_pipelined_128x128x32_s2_2048x2048x1536", "gemm_nt_pipelined_128x128x32_s2_2560x2560x512"),
    *("gemm_pipelined_s8_128x128x64_s2_1024x1024x1024", "gemm_turing_128x128x32_s2_1024x1024x1024"),
    *("gemm_tt_pipelined_ragged", "gemm_pipelined_ragged"),
)
"""Scenarios of kernels that load into registers and store to shared memory."""

PARTS_OF_PIPELINED: Final = (
    *("", "LDG", "STS", "LDSM", "MMA", "BAR", "LDG STS", "LDG LDSM", "LDG MMA", "STS LDSM", "STS MMA", "LDSM MMA"),
    *("LDG BAR", "STS BAR", "LDSM BAR", "LDG STS LDSM", "LDG STS MMA", "LDG LDSM MMA", "STS LDSM MMA"),
)
"""Parts that are left out of these: loads, stores, ldmatrix, mma.sync, barriers, ..."""

LENGTHS: Final = (2048, 6144)
"""Two lengths of the sum. The difference of their cycles belongs to the additional k tiles."""

TABLES: Final = {"pipelined": (PIPELINED_NAMES, PARTS_OF_PIPELINED), "one_sm": (NAMES, PARTS_LEFT_OUT)}
"""Scenarios and what is left out of their kernels, by the name of the table."""

_PATIENCE_S: Final = 1
_LAUNCHES, _FIRST = 5, 2
"""Launches of each kernel, and the first ones that are not timed: they bring the operands to the L2."""

SHARED_BYTES: Final = 232_448
"""Shared memory of an idle CTA: the maximum, so that no other CTA fits beside it."""


def scenario_of(name: str, ctas: int, k: int) -> Scenario:
    """Return a scenario with the kernel of a named one and ``ctas`` CTAs along n."""
    named = load_scenario(find_scenario(name)).model_dump(mode="json", exclude_none=True)
    m, n, _ = named["kernel"]["threadblock"]
    return parse_scenario(named | {"problem": named["problem"] | {"m": m, "n": n * ctas, "k": k}}, name)


@contextmanager
def others_rest(device: Device) -> Iterator[None]:
    """
    Keep an idle CTA on every SM but one.

    Raises:
        CannotRun: The idle CTAs do not all get an SM.
    """
    cupy = device.cupy
    flags = cupy.zeros(2, dtype=np.int32)
    resting, telling = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.runtime.deviceSynchronize()
    arguments = (flags[:1], flags[1:])
    with resting:
        device.launch("rest", "rest", arguments, ctas=device.sms - 1, threads=WARP, shared=SHARED_BYTES)
    try:
        begun, found = time.monotonic(), 0
        with telling:
            while found < device.sms - 1 and time.monotonic() < begun + _PATIENCE_S:
                found = int(flags[1:].get()[0])
        if found < device.sms - 1:
            raise CannotRun(f"{found} of {device.sms - 1} CTAs rest: other work is on this GPU")
        yield
    finally:
        with telling:
            flags[:1].set(np.ones(1, dtype=np.int32))
            telling.synchronize()
        resting.synchronize()


def ends_of(stamps: IntArray) -> list[int]:
    """
    Return the cycles from the first warp's begin to the end of each CTA's main loop, in the order of their ends.

    Args:
        stamps: SM, and its cycles at the begin, after the main loop and at the end; shape [CTAs, warps, 4].

    Raises:
        CannotRun: The CTAs are on several SMs, whose clocks differ.
    """
    sms = set(stamps[:, :, 0].ravel().tolist())
    if len(sms) != 1:
        raise CannotRun(f"CTAs lie on {len(sms)} SMs, not on one")
    return sorted((stamps[:, :, 2].max(axis=1) - stamps[:, :, 1].min()).tolist())


def measure_name(device: Device, name: str, parts: Sequence[str]) -> Iterator[MeasuredRow]:
    """Yield median cycles of a kernel on one SM: a row for each number of CTAs, length, and parts left out."""
    for ctas in count(1):
        rows = [row for k in LENGTHS for row in measure_ctas(device, name, ctas, k, parts)]
        if not rows:
            return
        yield from rows


def measure_ctas(device: Device, name: str, ctas: int, k: int, parts: Sequence[str]) -> Iterator[MeasuredRow]:
    """Yield a row for each of the parts left out of a kernel; none if so many CTAs do not fit on an SM."""
    cupy = device.cupy
    scenario = scenario_of(name, ctas, k)
    family = family_of(scenario)
    machine = load_machine(scenario.machine)
    problem = family.devices.upload(cupy, scenario, 0)
    with tempfile.TemporaryDirectory() as folder:
        own = stamped(family.cuda.specialisations(scenario, "plain")[0], Path(folder) / "source")
        cubin = compile_cubin(own, architecture(cupy)).read_bytes()
        stamps = cupy.zeros((ctas, own.block_threads // WARP, 4), dtype=np.int64)
        params = problem.params(own.k_iterations)
        put_pointers(params, {"records": stamps})
        for number, left_out in enumerate(parts):
            changed = Path(folder) / f"{number}.cubin"  # CuPy caches a loaded file by its path
            changed.write_bytes(without(cubin, own.entry, left_out))
            kernel = LoadedKernel(cupy, own, changed)
            room = ctas_per_sm(machine, own.block_threads, kernel.registers, own.shared_bytes)
            if ctas > room.ctas:
                return
            kernel.launch(params)  # loads the kernel now: with the idle CTAs running, loading would wait for them
            found = []
            with others_rest(device), cupy.cuda.Stream(non_blocking=True) as stream:
                for _ in range(_LAUNCHES):
                    kernel.launch(params)
                    stream.synchronize()
                    found.append(ends_of(stamps.get()))
            ends = np.median(found[_FIRST:], axis=0).astype(int).tolist()
            row: MeasuredRow = {"name": name, "left_out": left_out, "ctas": ctas, "k": k, "cycles": ends[-1]}
            yield row | {"ends": " ".join(map(str, ends))}


def measure(out: Path, tables: Sequence[str]) -> None:
    """Measure, and rewrite OUT's tables after each scenario, so that a later failure loses nothing."""
    device = Device()
    provenance = device.provenance()
    out.mkdir(parents=True, exist_ok=True)
    for table in tables:
        names, parts = TABLES[table]
        rows: list[MeasuredRow] = []
        for name in names:
            rows += measure_name(device, name, parts)
            write_rows(out / f"{table}.csv", rows, provenance)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure; return 0, or the exit code of the error."""
    parser = argparse.ArgumentParser(prog="python -m gpusim.lab.main_loops.one_sm", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", choices=TABLES, action="append", help="a table to measure; by default all are")
    arguments = parser.parse_args(argv)
    return exit_code_of(lambda: measure(arguments.out, tuple(dict.fromkeys(arguments.only or TABLES))))


if __name__ == "__main__":
    sys.exit(main())
