"""``gpusim plot``, ``gpusim trace`` and what ``run`` draws: a result and its timeline as pictures and trace files."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias, cast

from gpusim.arrays import IntArray
from gpusim.commands.output import check_folder, check_picture, print_json, print_text
from gpusim.element_types import element_bits
from gpusim.errors import CannotRun
from gpusim.families.attention.blocks import gemm_view, p_load_offsets, p_store_offsets
from gpusim.families.attention.chart import attention_overlap_chart
from gpusim.families.attention.lanes import OPERAND_OF, AttentionWavefronts, Tensor
from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.registry import parse_scenario
from gpusim.machine import load_machine
from gpusim.report.bank_grid import BankPicture
from gpusim.report.conflicts import conflict_picture
from gpusim.report.kanata import write_kanata
from gpusim.report.overlap import overlap_chart
from gpusim.report.perfetto import write_perfetto
from gpusim.report.roofline import roofline
from gpusim.report.stalls import stall_chart
from gpusim.results import run_directory
from gpusim.results.result import Result
from gpusim.results.timeline import Timeline
from gpusim.scenario.gemm import GemmScenario
from gpusim.scenario.models import Scenario
from gpusim.tile.ldmatrix import fragment_loads, ldmatrix_offsets
from gpusim.tile.operand import SIDES
from gpusim.tile.shared_store import store_offsets
from gpusim.units import VECTOR_BITS, WORD_BYTES

Draw: TypeAlias = Callable[[Result, Timeline, Path], object]

RUN_FIGURES = ("overlap", "conflicts", "stalls")
"""The pictures that every run draws; the others are drawn when asked for."""


def _draw_overlap(result: Result, timeline: Timeline, path: Path) -> object:
    chart = attention_overlap_chart if result.scenario["problem"]["kind"] == "attention" else overlap_chart
    return chart(result, timeline, path)


def _draw_conflicts(result: Result, _timeline: Timeline, path: Path) -> object:
    scenario = _scenario(result)
    if isinstance(scenario, AttentionScenario):
        return conflict_picture(result, attention_bank_pictures(scenario), path)
    scenario = cast("GemmScenario", scenario)
    return conflict_picture(result, bank_pictures(scenario), path)


def _draw_roofline(result: Result, _timeline: Timeline, path: Path) -> object:
    return roofline(result, load_machine(_scenario(result).machine), path)


_FIGURES: dict[str, Draw] = {
    "overlap": _draw_overlap,
    "conflicts": _draw_conflicts,
    "stalls": lambda result, _timeline, path: stall_chart(result, path),
    "roofline": _draw_roofline,
}

_TRACES: dict[str, Draw] = {
    "perfetto": write_perfetto,
    "kanata": write_kanata,
}


def plot_run(directory: Path, kind: str, out: Path | None, *, as_json: bool) -> None:
    """
    Draw one picture of a run directory; without ``out``, in its place there.

    Raises:
        BadInput: It is no run directory, or ``out`` is named as something else than a PNG.
        CannotRun: The file cannot be written.
    """
    if out is not None:
        check_picture("--out", out)
    result, timeline = run_directory.read_run(directory)
    path = out or directory / run_directory.FIGURES[kind]
    draw_figure(kind, result, timeline, path)
    _answer({"kind": kind, "path": str(path)}, as_json=as_json)


def trace_run(directory: Path, trace_format: str, out: Path | None, *, as_json: bool) -> None:
    """
    Write the timeline of a run directory; without ``out``, in its place there.

    Raises:
        BadInput: It is no run directory.
        CannotRun: The file cannot be written.
    """
    if out is not None:
        check_folder(out)
    result, timeline = run_directory.read_run(directory)
    path = out or directory / run_directory.TRACES[trace_format]
    write_trace(trace_format, result, timeline, path)
    _answer({"format": trace_format, "path": str(path)}, as_json=as_json)


def draw_figure(kind: str, result: Result, timeline: Timeline, path: Path) -> None:
    """Draw a picture, one of ``run_directory.FIGURES``."""
    _write(_FIGURES[kind], result, timeline, path)


def write_trace(trace_format: str, result: Result, timeline: Timeline, path: Path) -> None:
    """Write a trace file, one of ``run_directory.TRACES``."""
    _write(_TRACES[trace_format], result, timeline, path)


def bank_pictures(scenario: GemmScenario) -> tuple[BankPicture, ...]:
    """The first write into shared memory of operand A, and the first ldmatrix of each operand, all of warp 0."""
    bits = element_bits(scenario.problem.dtype.ab)
    written = store_offsets(scenario.operand("a"), 0)[:32, 0, 0] * bits // 8
    if scenario.kernel.mainloop == "pipelined":
        write = BankPicture("st.shared of A", written, VECTOR_BITS // 8, kind="store")
    else:
        write = BankPicture("cp.async of A", written, scenario.problem.access("a") * bits // 8, kind="store")
    loads = {operand: ldmatrix_offsets(scenario.operand(operand), 0)[0, 0, 0] * bits // 8 for operand in SIDES}
    return (
        write,
        *(
            BankPicture(
                f"ldmatrix of {operand.upper()}", rows, 16, matrices=fragment_loads(scenario.operand(operand)).matrices
            )
            for operand, rows in loads.items()
        ),
    )


def attention_bank_pictures(scenario: AttentionScenario) -> tuple[BankPicture, ...]:
    """
    Where P lies in shared memory its round trip, stores and fragments; else the first ldmatrix of Q and K; and V's.

    The first access of each, of warp 0.
    """
    bits = element_bits(scenario.problem.dtype.ab)
    loads: dict[Tensor, IntArray] = {
        name: ldmatrix_offsets(gemm_view(scenario, gemm).operand(operand), 0)[0, 0, 0]
        for name, (gemm, operand) in OPERAND_OF.items()
        if name != "p"
    }
    pictures = []
    if not scenario.flash:
        stored = p_store_offsets(scenario)[:32, 0] * bits // 8
        pictures.append(BankPicture("st.shared of P", stored, WORD_BYTES, kind="store"))
        loads = {"p": p_load_offsets(scenario)[0, 0, 0, 0], "v": loads["v"]}
    matrices = AttentionWavefronts(scenario).matrices
    for name, rows in loads.items():
        trans = ".trans" if name == "v" else ""
        title = f"ldmatrix{trans} of {name.upper()}"
        pictures.append(BankPicture(title, rows * bits // 8, 16, matrices=matrices[name]))
    return tuple(pictures)


def _scenario(result: Result) -> Scenario:
    return parse_scenario(result.scenario, run_directory.SCENARIO)


def _write(draw: Draw, result: Result, timeline: Timeline, path: Path) -> None:
    try:
        draw(result, timeline, path)
    except OSError as error:
        raise CannotRun(f"{path}: cannot be written ({error.strerror or error})") from error


def _answer(data: dict[str, str], *, as_json: bool) -> None:
    if as_json:
        print_json(data)
    else:
        print_text(data["path"])
