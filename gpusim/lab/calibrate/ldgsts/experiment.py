"""Runs the experiment on the hardware's counters of LDGSTS: launches with chosen addresses, profiled by ncu."""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.errors import CannotRun, GpusimError
from gpusim.gpu import ncu
from gpusim.lab.calibrate.ldgsts.patterns import (
    NO_SOURCE,
    Pattern,
    gemm_patterns,
    pitched_rows,
    row_pattern,
    single_phases,
)
from gpusim.lab.calibrate.runner import WARP, Device, MeasuredRow, say, write_rows
from gpusim.layout.banks import access_ideal, access_wavefronts

MODES = ("plain", "zfill", "guarded")
_LINE = 128
_SECTOR = 32
_MAX_COPIES, _MAX_THREADS = 16, 256

_OPS = ("", "_cache_access", "_cache_bypass")
LDGSTS_METRICS = (
    "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum",
    *(f"sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts{op}.sum" for op in _OPS[1:]),
    *(f"sm__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts{op}.sum" for op in _OPS),
    "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared.sum",
    "sm__sass_l1tex_data_pipe_lsu_wavefronts.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "l1tex__data_pipe_lsu_wavefronts.sum",
    *(f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts{op}.sum" for op in _OPS),
    "l1tex__data_bank_writes.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    *(f"l1tex__t_sectors_pipe_lsu_mem_global_op_ldgsts{op}.sum" for op in _OPS),
    *(f"l1tex__t_requests_pipe_lsu_mem_global_op_ldgsts{op}.sum" for op in _OPS),
    "l1tex__t_output_wavefronts_pipe_lsu_mem_global_op_ld.sum",
    "smsp__inst_executed_op_ldgsts.sum",
    *(f"smsp__inst_executed_op_ldgsts{op}.sum" for op in _OPS[1:]),
    "smsp__sass_inst_executed_op_ldgsts.sum",
    "smsp__inst_executed_op_shared_ld.sum",
    "lts__t_sectors_op_read.sum",
)


@dataclass(frozen=True, slots=True)
class Case:
    """
    One launch of one CTA: a pattern of copies and the form of cp.async.

    Attributes:
        pattern: Global and shared-memory byte offsets of every copy and thread.
        op: "ca" or "cg".
        mode: "plain", "zfill" (lanes without a source zero-fill) or "guarded" (they are predicated off).
        repetitions: Number of rounds of the copies, with a wait and a barrier in between.
        step_bytes: Bytes by which each repetition advances in global memory; 0 reads the same bytes again.
        stages: Slots of shared memory that the repetitions write to in turn.
    """

    pattern: Pattern
    op: str
    mode: str
    repetitions: int = 8
    step_bytes: int = 0
    stages: int = 1

    @property
    def kernel(self) -> str:
        """Name of the kernel in ldgsts.cu."""
        return f"copies_{self.op}_{self.pattern.bytes}_{self.mode}_{self.pattern.copies}"

    @property
    def instructions(self) -> int:
        """Number of warp-level LDGSTS that the launch executes."""
        return self.pattern.copies * self.pattern.threads // WARP * self.repetitions


def cases() -> list[Case]:
    """Return every launch of the experiment, in order."""
    return [*_global_rows(), *_targets(), *_widths(), *_partial(), *_bursts(), *_tiles(), *_sectors()]


def _global_rows() -> Iterator[Case]:
    """Vary length and alignment of the global rows, with conflict-free targets: does the count follow the lines?"""
    for row_bytes in (512, 128, 64, 32, 16):
        for skew in (0,) if row_bytes >= _LINE else (0, row_bytes):
            pattern = row_pattern(row_bytes, target="crosswise", skew=skew)
            for op in ("cg", "ca"):
                for mode in MODES if op == "cg" else ("plain",):
                    yield Case(pattern, op, mode, step_bytes=4096)


def _targets() -> Iterator[Case]:
    """Vary row lengths and targets, with and without bank conflicts; with .ca also for source bytes that are in L1."""
    for row_bytes in (512, 128, 64, 16):
        for target in ("linear", "row_major"):
            pattern = row_pattern(row_bytes, target=target)
            for op, step in (("cg", 4096), ("ca", 4096), ("ca", 0)):
                yield Case(pattern, op, "plain", step_bytes=step)


def _widths() -> Iterator[Case]:
    """Vary the width: copies of 8 and 4 bytes."""
    for width in (8, 4):
        for row_bytes in (32 * width, 64, 32):
            for target in ("linear", "row_major"):
                yield Case(row_pattern(row_bytes, width=width, target=target), "ca", "plain", step_bytes=4096)


def _partial() -> Iterator[Case]:
    """Vary the active lanes: half of them, one, or none, by zero-fill and by predicate."""
    for row_bytes in (128, 64):
        for lanes in ("even", "low", "one", "none"):
            pattern = row_pattern(row_bytes, target="crosswise", lanes=lanes)
            for op in ("cg", "ca"):
                for mode in ("zfill", "guarded"):
                    yield Case(pattern, op, mode, step_bytes=4096)


def _bursts() -> Iterator[Case]:
    """Vary the number of successive copies: do neighbours in a burst share wavefronts?"""
    for row_bytes in (128, 64):
        for copies in (2, 4, 8, 16):
            for warps in (1, 4):
                pattern = row_pattern(row_bytes, target="crosswise", copies=copies, warps=warps)
                for mode in ("plain", "guarded", "zfill"):
                    yield Case(pattern, "cg", mode, step_bytes=row_bytes)


def _tiles() -> Iterator[Case]:
    """Copy whole k tiles of GEMM kernels whose counters are known, in the order of the mainloop."""
    for pattern in gemm_patterns():
        for mode in ("guarded", "zfill"):
            yield Case(pattern, "cg", mode, repetitions=16, step_bytes=pattern.step_bytes, stages=pattern.stages)


def _sectors() -> Iterator[Case]:
    """Vary the alignment of sources and targets at vectors: when is a sector requested more than once?"""
    for pattern in single_phases():
        yield Case(pattern, "cg", "zfill", step_bytes=4096)
    for pattern in pitched_rows():
        for op in ("cg", "ca"):
            yield Case(pattern, op, "zfill", step_bytes=65536)


def hypotheses(case: Case) -> MeasuredRow:
    """
    Return the wavefronts that each hypothesis about the counter predicts for a launch.

    ``by_pattern``: the shared-memory address pattern alone decides, over the lanes that write (with zero-fill, all).
    ``by_line``: each 128-byte line of the source returns separately and writes its own lanes. ``by_half_line``: each
    aligned half of a line does. ``by_sector``: each 32-byte sector does. ``by_tag``: the pattern decides, but each line
    takes at least one wavefront.
    """
    pattern = case.pattern
    valid = pattern.source != NO_SOURCE
    writes = np.ones_like(valid) if case.mode != "guarded" else valid
    by_warp = (pattern.copies, pattern.threads // WARP, WARP)
    target, source = pattern.target.reshape(by_warp), np.where(valid, pattern.source, 0).reshape(by_warp)
    writing, reading = writes.reshape(by_warp), valid.reshape(by_warp)
    whole = access_wavefronts(target, pattern.bytes, writing)
    lines = _pieces(source, reading, _LINE)
    row: MeasuredRow = {
        "instructions": case.instructions,
        "ideal": int(access_ideal(pattern.bytes, writing).sum()) * case.repetitions,
        "by_pattern": int(whole.sum()) * case.repetitions,
        "lines": int(lines.sum()) * case.repetitions,
        "sectors": int(_pieces(source, reading, _SECTOR).sum()) * case.repetitions,
        "by_tag": int(np.maximum(whole, lines).sum()) * case.repetitions,
    }
    for name, piece in (("by_line", _LINE), ("by_half_line", _LINE // 2), ("by_sector", _SECTOR)):
        row[name] = _apart(target, source, reading, pattern.bytes, piece) * case.repetitions
    return row


def _pieces(source: IntArray, reading: BoolArray, piece: int) -> IntArray:
    """Return the number of distinct aligned pieces of global memory that each warp instruction reads."""
    flat, active = (source // piece).reshape(-1, WARP), reading.reshape(-1, WARP)
    counts = [len(np.unique(of[lanes])) for of, lanes in zip(flat, active, strict=True)]
    return np.array(counts, dtype=np.int64).reshape(source.shape[:-1])


def _apart(target: IntArray, source: IntArray, reading: BoolArray, width: int, piece: int) -> int:
    """Return the wavefronts if the lanes of each aligned piece of global memory write separately."""
    total = 0
    for to, at, lanes in zip(
        target.reshape(-1, WARP), (source // piece).reshape(-1, WARP), reading.reshape(-1, WARP), strict=True
    ):
        for one in np.unique(at[lanes]):
            total += int(access_wavefronts(to, width, lanes & (at == one)))
    return total


def launch_all() -> None:
    """Launch every case once, in order, for ``run`` to profile."""
    device = Device()
    data = device.cupy.zeros(64 * 2**20, dtype=np.uint8)
    module = device.module("ldgsts")
    for case in cases():
        for symbol, table in (("global_offsets", case.pattern.source), ("shared_offsets", case.pattern.target)):
            full = np.zeros((_MAX_COPIES, _MAX_THREADS), dtype=np.int32)
            full[: table.shape[0], : table.shape[1]] = table
            pointer = module.get_global(symbol)
            pointer.copy_from_host(full.ctypes.data, full.nbytes)
        arguments = (data, np.uint64(0), np.int32(case.repetitions), np.int32(case.step_bytes), np.int32(case.stages))
        device.launch(
            "ldgsts",
            case.kernel,
            (*arguments, np.int32(case.pattern.stage_bytes)),
            threads=case.pattern.threads,
            shared=case.pattern.shared_bytes,
        )
    device.cupy.cuda.Device().synchronize()


def run(output_dir: Path, progress: Callable[[str], None] = lambda _: None) -> Path:
    """
    Profile every case, and write ``ldgsts.csv`` with the case, the predictions of each hypothesis and ncu's counters.

    Returns:
        Path of the file.

    Raises:
        CannotRun: A GPU, CuPy or ncu is missing or fails, or ncu did not profile every launch.
    """
    provenance = Device().provenance()
    wanted = cases()
    found, missing = ncu.existing(LDGSTS_METRICS, ncu.available_metrics())
    progress(f"{len(wanted)} launches, {len(found)} metrics")
    command = [sys.executable, "-m", "gpusim.lab.calibrate.ldgsts.experiment", "--launches"]
    launches, dropped = ncu.profile(command, found, kernels="^copies_")
    names = [launch.name.split("(", maxsplit=1)[0] for launch in launches]
    if names != [case.kernel for case in wanted]:
        raise CannotRun(f"ncu saw {len(names)} launches, not the {len(wanted)} of the experiment in their order")
    provenance["metrics not on this GPU"] = ", ".join([*missing, *dropped]) or "none"
    rows: list[MeasuredRow] = []
    for case, launch in zip(wanted, launches, strict=True):
        row = _description(case) | hypotheses(case)
        row.update({metric: launch.metrics[metric] for metric in found if metric in launch.metrics})
        rows.append(row)
    try:
        output_dir.mkdir(parents=True, exist_ok=True)
        write_rows(output_dir / "ldgsts.csv", rows, provenance)
    except OSError as error:
        raise CannotRun(f"{output_dir}: cannot be written ({error.strerror})") from error
    return output_dir / "ldgsts.csv"


def _description(case: Case) -> MeasuredRow:
    pattern = case.pattern
    return {
        "pattern": pattern.name,
        "target": pattern.target_name,
        "lanes": pattern.lanes,
        "op": case.op,
        "bytes": pattern.bytes,
        "mode": case.mode,
        "copies": pattern.copies,
        "warps": pattern.threads // WARP,
        "repetitions": case.repetitions,
        "step_bytes": case.step_bytes,
        "stages": case.stages,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``python -m gpusim.lab.calibrate.ldgsts.experiment OUTDIR``: profile, write the CSV, print its path."""
    parser = argparse.ArgumentParser(prog="python -m gpusim.lab.calibrate.ldgsts.experiment", description=run.__doc__)
    parser.add_argument("output_dir", type=Path, nargs="?")
    parser.add_argument("--launches", action="store_true", help="only launch the kernels, for ncu to profile")
    given = parser.parse_args(arguments)
    try:
        if given.launches:
            launch_all()
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
