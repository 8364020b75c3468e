"""Lists the microbenchmarks, runs them on the current GPU, and writes one CSV file for each."""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from gpusim.errors import CannotRun, GpusimError
from gpusim.lab.calibrate import clocks, cold, lines, memory, profiled, runs, sharing, tiles, together, written
from gpusim.lab.calibrate.derive import Derived, derive
from gpusim.lab.calibrate.hopper import barriers, beside, box_stores, boxes, clock, merged, multicast, pitches, queue
from gpusim.lab.calibrate.own import atomics, fences, opcodes, partial, repeats, residents, scattered, spaces
from gpusim.lab.calibrate.runner import Device, MeasuredRow, say, write_rows
from gpusim.machine.figure import printed_value

_Measure: TypeAlias = Callable[..., list[MeasuredRow]]

BENCHMARKS: dict[str, _Measure] = {
    "mma": runs.measure_mma,
    "ldmatrix": runs.measure_ldmatrix,
    "shared": runs.measure_shared,
    "cp_async": memory.measure_cp_async,
    "release": runs.measure_release,
    "barrier": runs.measure_barrier,
    "barred": runs.measure_barred,
    "atomics": runs.measure_atomics,
    "stored": runs.measure_stored,
    "fenced": runs.measure_fenced,
    "arrived": runs.measure_arrived,
    "latency": memory.measure_latency,
    "semaphore": memory.measure_semaphore,
    "bandwidth": memory.measure_bandwidth,
    "arith": runs.measure_arith,
    "launch": runs.measure_launch,
    "cold": cold.measure_cold,
    "outstanding": cold.measure_outstanding,
    "together": together.measure_together,
    "stores": profiled.measure_stores,
    "merge": profiled.measure_merge,
    "idle": profiled.measure_idle,
    "lags": profiled.measure_lags,
    "fetch": profiled.measure_fetch,
    "mix": sharing.measure_mix,
    "dispatch": sharing.measure_dispatch,
    "duel": sharing.measure_duel,
    "gaps": sharing.measure_gaps,
    "special": sharing.measure_special,
    "special_queue": sharing.measure_special_queue,
    "turns": sharing.measure_turns,
    "loaded": sharing.measure_loaded,
    "order": sharing.measure_order,
    "handover": sharing.measure_handover,
    "tiles": tiles.measure_tiles,
    "backlog": tiles.measure_backlog,
    "held": tiles.measure_held,
    "freed": tiles.measure_freed,
    "chosen": tiles.measure_chosen,
    "elders": tiles.measure_elders,
    "clocks": clocks.measure_clocks,
    "domains": clocks.measure_domains,
    "hits": profiled.measure_hits,
    "places": profiled.measure_places,
    "ends": profiled.measure_ends,
    "rows": profiled.measure_rows,
    "standstills": together.measure_standstills,
    "sides": lines.measure_sides,
    "cpcs": lines.measure_cpcs,
    "mixed": lines.measure_mixed,
    "roles": lines.measure_roles,
    "leaving": memory.measure_leaving,
    "behind": sharing.measure_behind,
    "beside": sharing.measure_beside,
    "admitted": sharing.measure_admitted,
    "splits": profiled.measure_splits,
    "own": profiled.measure_own,
    "grids": profiled.measure_grids,
    "pairs": profiled.measure_pairs,
    "apart": profiled.measure_apart,
    "ahead": tiles.measure_ahead,
    "commits": tiles.measure_commits,
    "fills": tiles.measure_fills,
    "crowded": tiles.measure_crowded,
    "crossed": tiles.measure_crossed,
    "through": tiles.measure_through,
    "queued": tiles.measure_queued,
    "again": memory.measure_again,
    "flight": memory.measure_flight,
    "strides": memory.measure_strides,
    "returns": memory.measure_returns,
    "bursts": memory.measure_bursts,
    "wide": memory.measure_wide,
    "astern": memory.measure_astern,
    "amid": tiles.measure_amid,
    "zeros": written.measure_zeros,
    "steps": written.measure_steps,
    "constants": cold.measure_constants,
    "opcodes": opcodes.measure_opcodes,
    "opcode_pairs": opcodes.measure_opcode_pairs,
    "indexed": opcodes.measure_indexed,
    "shared_atomics": atomics.measure_shared_atomics,
    "global_atomics": atomics.measure_global_atomics,
    "slices": atomics.measure_slices,
    "scattered": scattered.measure_scattered,
    "spaces": spaces.measure_spaces,
    "partial": partial.measure_partial,
    "fences": fences.measure_fences,
    "repeats": repeats.measure_repeats,
    "residents": residents.measure_residents,
    "tma_boxes": boxes.measure_tma_boxes,
    "tma_pitch": pitches.measure_tma_pitch,
    "tma_merge": merged.measure_tma_merge,
    "tma_multicast": multicast.measure_tma_multicast,
    "tma_stores": box_stores.measure_tma_stores,
    "wgmma_queue": queue.measure_wgmma_queue,
    "wgmma_loads": beside.measure_wgmma_loads,
    "wgmma_clock": clock.measure_wgmma_clock,
    "mbarriers": barriers.measure_mbarriers,
}
"""Benchmarks by the name of their CSV file."""

SM_90_BENCHMARKS: Final = (
    *("tma_boxes", "tma_pitch", "tma_merge", "tma_multicast", "tma_stores"),
    *("wgmma_queue", "wgmma_loads", "wgmma_clock", "mbarriers"),
)
"""Benchmarks of what only compute capability 9.0 has. Other GPUs run them only where they are asked for."""

_SM_90: Final = "90"


def calibrate(
    output_dir: Path,
    *,
    quick: bool = False,
    only: Sequence[str] = (),
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Derived]:
    """
    Run the microbenchmarks, write one CSV file for each, and derive figures of a machine file from them.

    Every kernel is timed by the SM's own cycle counter, so the clock need not be locked. If a benchmark fails, the
    others still run.

    Args:
        output_dir: Folder of the CSV files. It is created if absent; files of the same name are replaced.
        quick: Use fewer warps, strides and SMs. Every figure is still derived.
        only: Names of the benchmarks to run; empty runs all that the GPU has the instructions for.
        progress: Called with a line about each benchmark.

    Returns:
        Derived figures by their dotted key in a machine file.

    Raises:
        CannotRun: CuPy or a GPU is missing, the folder cannot be written, or a benchmark failed. The message lists
            those that failed.
    """
    device = Device()
    provenance = device.provenance()
    try:
        output_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotRun(f"{output_dir}: cannot be created ({error.strerror})") from error
    failures = []
    for name, measure in BENCHMARKS.items():
        if name not in only if only else name in SM_90_BENCHMARKS and device.capability != _SM_90:
            continue
        begin = time.monotonic()
        try:
            rows = measure(device, quick=quick)
            write_rows(output_dir / f"{name}.csv", rows, provenance)
        except Exception as error:  # noqa: BLE001 # CuPy raises many kinds, and the other benchmarks are worth having
            failures.append(f"{name} ({type(error).__name__}: {error})")
            progress(f"{name:10} failed: {error}")
            continue
        progress(f"{name:10} {len(rows):5} rows {time.monotonic() - begin:6.1f} s")
    figures = derive(output_dir)
    if failures:
        raise CannotRun(f"{output_dir}: these benchmarks failed: {'; '.join(failures)}")
    return figures


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``python -m gpusim.lab.calibrate.benchmarks OUTDIR``: calibrate, and print the derived figures."""
    parser = argparse.ArgumentParser(prog="python -m gpusim.lab.calibrate.benchmarks", description=calibrate.__doc__)
    parser.add_argument("output_dir", type=Path, nargs="?")
    parser.add_argument("--quick", action="store_true", help="fewer warps, strides and SMs")
    parser.add_argument("--only", action="append", default=[], choices=tuple(BENCHMARKS), help="just this benchmark")
    parser.add_argument("--derive-only", action="store_true", help="derive from the CSV that is there; needs no GPU")
    parser.add_argument("--plan", choices=tuple(profiled.PLANS), help="just launch these kernels, for ncu to profile")
    parser.add_argument("--clocks", type=Path, help="file for the clocks of --plan")
    given = parser.parse_args(arguments)
    try:
        if given.plan is not None:
            if given.clocks is None:
                parser.error("the file for the clocks is missing")
            profiled.launch_plan(given.plan, given.clocks, quick=given.quick)
            return 0
        if given.output_dir is None:
            parser.error("the folder to write to is missing")
        if given.derive_only:
            figures = derive(given.output_dir)
        else:
            figures = calibrate(given.output_dir, quick=given.quick, only=given.only, progress=say)
    except GpusimError as error:
        say(str(error))
        return error.exit_code
    for key, figure in figures.items():
        sys.stdout.write(f"{key:34} {printed_value(figure.value):>6}  {figure.at}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
