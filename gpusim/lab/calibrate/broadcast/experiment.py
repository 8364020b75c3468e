"""Runs the broadcast experiment: each pattern by the SM's clock, and under ncu."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from gpusim.errors import CannotRun, GpusimError
from gpusim.gpu import ncu
from gpusim.lab.calibrate.broadcast.patterns import NO_LANE, OFFSETS_END, AddressPattern, patterns
from gpusim.lab.calibrate.runner import Device, MeasuredRow, elapsed, say, write_rows

ACCESSES: Final = 64
"""Accesses of the one warp of a launch (broadcast.cu)."""

BROADCAST_METRICS: Final = (
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "smsp__inst_executed_op_shared_ld.sum",
    "smsp__inst_executed_op_shared_st.sum",
    "smsp__inst_executed_op_ldsm.sum",
    "memory_l1_wavefronts_shared",
    "memory_l1_wavefronts_shared_ideal",
)


def offsets_text(pattern: AddressPattern) -> str:
    """Return a pattern's byte offsets as a field of the CSV file: one a lane, "-" for an inactive lane."""
    return " ".join("-" if offset == NO_LANE else str(offset) for offset in pattern.offsets.tolist())


def launch_all(device: Device) -> list[int]:
    """Launch every pattern, in order, and return the cycles of each launch."""
    module = device.module("broadcast")
    cycles = []
    for pattern in patterns():
        offsets = pattern.offsets.astype(np.int32)
        module.get_global("lane_offsets").copy_from_host(offsets.ctypes.data, offsets.nbytes)
        arguments = (np.uint64(0), np.uint32(0))
        spans = device.spans("broadcast", pattern.kernel, arguments, shared=OFFSETS_END, repeats=1)
        cycles.append(elapsed(spans))
    return cycles


def run(output_dir: Path, progress: Callable[[str], None] = lambda _: None) -> Path:
    """
    Measure every pattern, and write ``broadcast.csv``: its offsets, the cycles of 64 accesses, and ncu's counters.

    Returns:
        Path of the file.

    Raises:
        CannotRun: A GPU, CuPy or ncu is missing or fails, or ncu did not profile every launch.
    """
    device = Device()
    provenance = device.provenance()
    wanted = patterns()
    launch_all(device)
    cycles = launch_all(device)
    progress(f"{len(wanted)} launches")
    command = [sys.executable, "-m", "gpusim.lab.calibrate.broadcast.experiment", "--launches"]
    launches, dropped = ncu.profile(command, BROADCAST_METRICS, kernels="^broadcast_")
    names = [launch.name.split("(", maxsplit=1)[0] for launch in launches]
    if names != [pattern.kernel for pattern in wanted]:
        raise CannotRun(f"ncu saw {len(names)} launches, not the {len(wanted)} of the experiment in their order")
    provenance["metrics not on this GPU"] = ", ".join(dropped) or "none"
    rows: list[MeasuredRow] = [
        {"op": one.op, "bytes": one.width_bytes, "pattern": one.name, "offsets": offsets_text(one), "cycles": spent}
        | {metric: launch.metrics[metric] for metric in BROADCAST_METRICS if metric in launch.metrics}
        for one, spent, launch in zip(wanted, cycles, launches, strict=True)
    ]
    try:
        output_dir.mkdir(parents=True, exist_ok=True)
        write_rows(output_dir / "broadcast.csv", rows, provenance)
    except OSError as error:
        raise CannotRun(f"{output_dir}: cannot be written ({error.strerror})") from error
    return output_dir / "broadcast.csv"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``python -m gpusim.lab.calibrate.broadcast.experiment OUTDIR``: measure, and print the path of the CSV."""
    parser = argparse.ArgumentParser(
        prog="python -m gpusim.lab.calibrate.broadcast.experiment", description=run.__doc__
    )
    parser.add_argument("output_dir", type=Path, nargs="?")
    parser.add_argument("--launches", action="store_true", help="only launch the kernels, for ncu to profile")
    given = parser.parse_args(arguments)
    try:
        if given.launches:
            launch_all(Device())
            return 0
        if given.output_dir is None:
            parser.error("the folder to write to is missing")
        path = run(given.output_dir, say)
    except GpusimError as error:
        say(str(error))
        return error.exit_code
    sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
