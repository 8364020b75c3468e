"""``python -m gpusim.lab.main_loops.parts OUT``: main loops of kernels with some of their instructions left out."""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from gpusim.cuda.compiler import compile_cubin
from gpusim.errors import CannotRun, exit_code_of
from gpusim.families.registry import family_of, parse_scenario
from gpusim.gpu import counters, ncu
from gpusim.gpu.device import import_cupy
from gpusim.gpu.module import LoadedKernel, architecture
from gpusim.lab.calibrate.runner import Device, MeasuredRow, write_rows
from gpusim.lab.recording.samples import SAMPLED, counts_by_address
from gpusim.lower.sass.cubin import read_cubin
from gpusim.lower.stream import INSTRUCTION_BYTES
from gpusim.scenario.models import Scenario

ReadT = TypeVar("ReadT")

OPCODES: Final = {
    "LDGSTS": (0xFAE,),
    "LDSM": (0x83B,),
    "MMA": (0x23C, 0x237),
    "BAR": (0xB1D,),
    "LDG": (0x381, 0x981),
    "STS": (0x388, 0x988),
}
"""
Bits 0 to 11 of the instructions that can be left out: cp.async, ldmatrix, mma.sync of f16 and s8, bar.sync, ld.global
and st.shared.
"""

EMPTY_LDS: Final = 0x984
"""Bits 0 to 11 of ``@!PT LDS RZ, [RZ]``, a predicated-off load."""

_NOP: Final = 0x7918
_CONTROL_BITS: Final = 105
_NO_SCOREBOARDS: Final = (7 << 110) | (7 << 113)
_GUARD_BITS: Final = 12
_NEVER: Final = 0xF
_SAMPLING_TIMEOUT: Final = 560

EMPTY: Final = "empty LDS"
LANES: Final = "LDGSTS lanes"
"""The parts with names of two words: predicated-off loads, and the data of copies."""

LEFT_OUT: Final = (
    *("", "LDGSTS", "LDSM", "MMA", "LDGSTS LDSM", "LDGSTS MMA", "LDSM MMA", "LDGSTS LDSM MMA"),
    *("BAR", "LDGSTS BAR", EMPTY, LANES),
)
"""Parts that are left out. Instructions become NOPs that wait as long; for ``LDGSTS lanes``, all lanes are off."""


class MainLoop(NamedTuple):
    """
    A main loop.

    Attributes:
        tile: Threadblock tile, m, n and k.
        warp: Warp tile, m and n.
        stages: Slots of the ring.
        layout: "tn" (K is contiguous in both operands) or "nt" (in neither).
        dtype: "f16" or "s8".
    """

    tile: tuple[int, int, int]
    warp: tuple[int, int]
    stages: int
    layout: str = "tn"
    dtype: str = "f16"

    @property
    def name(self) -> str:
        """Name of the loop, such as "tn_f16_128x128x32_w64x64_s5"."""
        tile, warp = ("x".join(map(str, shape)) for shape in (self.tile, self.warp))
        return f"{self.layout}_{self.dtype}_{tile}_w{warp}_s{self.stages}"


LOOPS_ALONE: Final = (
    MainLoop((128, 128, 32), (64, 64), 5),
    MainLoop((128, 128, 64), (64, 64), 4),
    MainLoop((64, 64, 32), (32, 32), 6),
    MainLoop((64, 64, 64), (32, 32), 5),
    MainLoop((128, 64, 32), (64, 32), 5),
    MainLoop((256, 128, 32), (64, 64), 4),
    MainLoop((128, 128, 32), (64, 32), 5),
    MainLoop((128, 128, 32), (64, 64), 5, layout="nt"),
    MainLoop((64, 64, 64), (32, 32), 5, layout="nt"),
    MainLoop((128, 128, 64), (64, 64), 5, dtype="s8"),
)
"""Loops that one CTA executes alone, with operands in the L2."""

LOOPS_TOGETHER: Final = (LOOPS_ALONE[0], LOOPS_ALONE[2], LOOPS_ALONE[3], LOOPS_ALONE[8])
GRIDS: Final = ((1, 1), (4, 4), (11, 3), (11, 6), (11, 12), (22, 12), (24, 22))
"""Loops that the CTAs of these grids execute at once."""

K_ALONE, K_TOGETHER = (4096, 16384), (4096, 8192)
"""Two lengths of the sum. The difference of two launches belongs to the additional k tiles."""

LOOP_CYCLES: Final = ("sm__cycles_active.max", "sm__cycles_active.avg")
LOOP_COUNTS: Final = (
    "lts__t_sectors_op_read.sum",
    "lts__t_sectors_srcunit_tex.sum",
    "lts__t_requests_srcunit_tex.sum",
    "lts__t_sectors_srcunit_ltcfabric.sum",
    "dram__bytes_read.sum",
)


class LoopLaunch(NamedTuple):
    """A loop with parts left out, on a grid of ``ctas`` (along m and n), and the length of its sum."""

    loop: MainLoop
    left_out: str
    ctas: tuple[int, int]
    k: int

    @property
    def row(self) -> MeasuredRow:
        """The columns that identify the launch."""
        m, n = self.ctas
        return {"loop": self.loop.name, "left_out": self.left_out, "ctas_m": m, "ctas_n": n, "k": self.k}


def launches(*, together: bool) -> list[LoopLaunch]:
    """Return the launches of single CTAs, or of many CTAs together, in order."""
    if together:
        left_out = ("", "LDSM MMA")
        return [LoopLaunch(*one) for one in _product(LOOPS_TOGETHER, left_out, GRIDS, K_TOGETHER)]
    return [LoopLaunch(*one) for one in _product(LOOPS_ALONE, LEFT_OUT, ((1, 1),), K_ALONE)]


def _product(
    loops: Sequence[MainLoop], left_out: Sequence[str], grids: Sequence[tuple[int, int]], ks: Sequence[int]
) -> Iterator[tuple[MainLoop, str, tuple[int, int], int]]:
    return ((loop, out, ctas, k) for loop in loops for ctas in grids for k in ks for out in left_out)


def scenario_of(launch: LoopLaunch) -> Scenario:
    """Return the scenario of a launch, of the whole loop."""
    loop, (m, n) = launch.loop, launch.ctas
    integers = loop.dtype == "s8"
    a, b = ("row", "column") if loop.layout == "tn" else ("column", "row")
    shared = "crosswise" if loop.layout == "tn" else "congruous"
    output = {"accumulator": "s32", "output": "s32"} if integers else {"accumulator": "f32", "output": "f16"}
    problem: dict[str, object] = {"kind": "gemm", "m": m * loop.tile[0], "n": n * loop.tile[1], "k": launch.k}
    problem |= {"layout_a": a, "layout_b": b, "dtype": {"ab": loop.dtype} | output}
    kernel: dict[str, object] = {
        "mainloop": "multistage",
        "threadblock": list(loop.tile),
        "warp": [*loop.warp, loop.tile[2]],
    }
    kernel |= {"instruction": [16, 8, 32 if integers else 16], "stages": loop.stages}
    kernel |= {"shared": {"a": shared, "b": shared}}
    return parse_scenario({"machine": "h200", "problem": problem, "kernel": kernel}, loop.name)


def without(cubin: bytes, kernel: str, left_out: str) -> bytes:
    """
    Return a cubin without some instructions.

    Each becomes a NOP with the same control field, so a warp waits as long before and after it; it sets no scoreboard.

    Args:
        cubin: Bytes of the file.
        kernel: Name of the kernel.
        left_out: Names of parts, as in ``LEFT_OUT``.

    Raises:
        BadInput: The file is not a cubin, or lacks the kernel.
    """
    code, parts = read_cubin(cubin, kernel, "the kernel").code, parts_in(left_out)
    opcodes = {opcode for name in parts for opcode in OPCODES.get(name, ())}
    places = range(0, len(code), INSTRUCTION_BYTES)
    words = (int.from_bytes(code[at : at + INSTRUCTION_BYTES], "little") for at in places)
    changed = b"".join(_changed(word, opcodes, parts).to_bytes(INSTRUCTION_BYTES, "little") for word in words)
    return cubin.replace(code, changed, 1)


def parts_in(left_out: str) -> frozenset[str]:
    """Return the parts named in a text of the column ``left_out``, separated by spaces."""
    of_two_words = {name for name in (EMPTY, LANES) if name in left_out}
    for name in of_two_words:
        left_out = left_out.replace(name, "")
    return frozenset(of_two_words | set(left_out.split()))


def _changed(word: int, opcodes: set[int], parts: Collection[str]) -> int:
    opcode, guard = word & 0xFFF, word >> _GUARD_BITS & 0xF
    if LANES in parts and opcode in OPCODES["LDGSTS"]:
        return word | _NEVER << _GUARD_BITS
    if opcode in opcodes or (EMPTY in parts and opcode == EMPTY_LDS and guard == _NEVER):
        return (word >> _CONTROL_BITS << _CONTROL_BITS) | _NO_SCOREBOARDS | _NOP
    return word


def launch_all(folder: Path, *, together: bool) -> None:
    """Launch every kernel twice, for ncu to profile; changed cubins are written to a folder."""
    cupy = import_cupy()
    for number, launch in enumerate(launches(together=together)):
        scenario = scenario_of(launch)
        family = family_of(scenario)
        (own,) = family.cuda.specialisations(scenario, "plain")
        problem = family.devices.upload(cupy, scenario, 0)
        changed = folder / f"{number}.cubin"  # CuPy caches a loaded file by its path
        cubin = compile_cubin(own, architecture(cupy)).read_bytes()
        changed.write_bytes(without(cubin, own.entry, launch.left_out))
        kernel = LoadedKernel(cupy, own, changed)
        for _ in range(2):
            kernel.launch(problem.params(own.k_iterations))
            cupy.cuda.runtime.deviceSynchronize()
        cupy.get_default_memory_pool().free_all_blocks()


def profile(metrics: Sequence[str], read: Callable[[Any], ReadT], *, together: bool) -> list[ReadT]:
    """
    Launch all kernels under ncu without flushing caches; return the result of ``read`` for each one's second launch.

    Raises:
        CannotRun: ncu is missing or may not profile here, or has no Python module.
    """
    module = counters.import_ncu_report()
    if module is None:
        raise CannotRun("ncu_report cannot be imported: it comes with full installations of Nsight Compute")
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "parts.ncu-rep"
        command = [ncu.find_ncu(), "--force-overwrite", "--export", str(report), "--target-processes", "all"]
        command += ["--clock-control", "none", "--cache-control", "none", "--kernel-name", f"regex:{counters.KERNELS}"]
        command += ["--warp-sampling-interval", "0", "--metrics", ",".join(metrics)]
        command += [sys.executable, "-m", "gpusim.lab.main_loops.parts", folder, "--launch"]
        ran = subprocess.run(  # noqa: S603 # ncu, and this package
            [*command, *(["--together"] if together else [])],
            capture_output=True,
            text=True,
            check=False,
            timeout=_SAMPLING_TIMEOUT,
        )
        if not report.is_file():
            raise CannotRun(f"ncu wrote no report: {counters.ncu_says(ran.stdout + ran.stderr)}")
        actions = module.load_report(str(report)).range_by_idx(0)
        expected = 2 * len(launches(together=together))
        if actions.num_actions() != expected:
            found = actions.num_actions()
            raise CannotRun(f"ncu profiled {found} launches, which are not the {expected} that were asked for")
        return [read(actions.action_by_idx(number)) for number in range(1, expected, 2)]


def counts_of(metrics: Sequence[str]) -> Callable[[Any], MeasuredRow]:
    """Return a function that reads metrics of an action as columns."""
    return lambda action: {metric: action.metric_by_name(metric).value() for metric in metrics}


def samples_of(action: Any) -> Mapping[int, MeasuredRow]:
    """Return the samples of each address, by stall reason, with the instruction's text."""
    found: dict[int, MeasuredRow] = {}
    for at, counts in counts_by_address(action).items():
        if samples := {reason: count for reason, count in counts.items() if count}:
            found[at] = {"sass": action.sass_by_pc(at).strip(), **samples}
    return found


def measure(out: Path) -> None:
    """
    Measure all, and write ``alone.csv``, ``samples.csv`` and ``together.csv``.

    ``samples.csv`` has the samples of the longer loops only, by address from the first sampled one.

    Raises:
        CannotRun: ncu is missing or may not profile here, or has no Python module.
    """
    out.mkdir(parents=True, exist_ok=True)
    provenance = Device().provenance()
    for name, together, counted in (("alone", False, ()), ("together", True, LOOP_COUNTS)):
        rows = [launch.row for launch in launches(together=together)]
        # Counters take several passes. Cycles are measured in a pass of their own, because others have colder caches.
        for metrics in (LOOP_CYCLES, counted):
            if metrics:
                found = profile(metrics, counts_of(metrics), together=together)
                rows = [row | counts for row, counts in zip(rows, found, strict=True)]
        write_rows(out / f"{name}.csv", rows, provenance)
    sampled = []
    samples = profile((SAMPLED,), samples_of, together=False)
    for launch, addresses in zip(launches(together=False), samples, strict=True):
        if launch.k == max(K_ALONE):
            first = min(addresses, default=0)
            row: MeasuredRow = {"loop": launch.loop.name, "left_out": launch.left_out}
            sampled += [row | {"address": at - first} | addresses[at] for at in sorted(addresses)]
    write_rows(out / "samples.csv", sampled, provenance)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure; return 0, or the exit code of the error."""
    parser = argparse.ArgumentParser(prog="python -m gpusim.lab.main_loops.parts", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--launch", action="store_true", help="launch only, for ncu to profile")
    parser.add_argument("--together", action="store_true", help="launch the loops of many CTAs")
    arguments = parser.parse_args(argv)
    if arguments.launch:
        return exit_code_of(lambda: launch_all(arguments.out, together=arguments.together))
    return exit_code_of(lambda: measure(arguments.out))


if __name__ == "__main__":
    sys.exit(main())
