"""``gpusim sass``: prints the compiled kernel's instructions as a warp executes them, with simulated issue cycles."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from gpusim.commands.options.sass import SassOptions
from gpusim.commands.output import print_json, print_text, progress
from gpusim.commands.scenario_source import read_any_scenario, scenario_text
from gpusim.errors import BadInput
from gpusim.families.registry import family_of
from gpusim.lower.compiled import AnnotatedRow, CompilableKernel, annotated
from gpusim.lower.stream import NO_SCOREBOARD, Stream
from gpusim.machine import load_machine
from gpusim.results.result import RUN_TIME_EXTENTS
from gpusim.results.timeline import Timeline
from gpusim.verbs.simulate import simulate

_SEGMENTS = ("prologue", "mainloop", "tail", "epilogue")


@dataclass(frozen=True, slots=True)
class IssuedRow:
    """
    One instruction with its issue cycle.

    Attributes:
        row: The instruction.
        trip: Trip of its segment that ``issue`` belongs to, from 0: the middle one.
        issue: Cycle at which warp 0 of the observed CTA issued it, from the CTA's start.
    """

    row: AnnotatedRow
    trip: int
    issue: int


def print_sass(options: SassOptions) -> None:
    """
    Print the annotated stream of the CTA that a run observes: the first of those with most work.

    Raises:
        BadInput: The scenario or the segment is wrong.
        CannotRun: There is no shipped stream, and no compiler is installed.
        CheckFailed: The kernel does not execute the schedule.
    """
    text, segment = scenario_text(options.file, options.cutlass), options.segment
    if segment not in {None, *_SEGMENTS}:
        raise BadInput(f"--segment must be one of {', '.join(_SEGMENTS)}, got {segment!r}")
    scenario = read_any_scenario(text, options.overrides)
    kernel = family_of(scenario).timing.timed_kernels(scenario, load_machine(scenario.machine))[0]
    if not isinstance(kernel, CompilableKernel):
        raise BadInput(f"{scenario.kind} has no kernel whose machine code can be aligned with its schedule")
    one = kernel.listed(kernel.behaviour(max(range(len(kernel.launched)), key=kernel.work)))
    _, timeline = simulate(scenario, stream="compiled", progress=progress)
    rows = [
        issued
        for issued in issued_rows(annotated(one), one.stream, issue_cycles(timeline))
        if segment in {None, issued.row.segment}
    ]
    if options.as_json:
        print_json(
            {
                "compiler": one.compiler,
                "registers": one.stream.registers_per_thread,
                "local_bytes": one.local_bytes,
                "code_bytes": one.code_bytes,
                **({"stream_build": RUN_TIME_EXTENTS} if one.stream.run_time_extents else {}),
                "rows": [{**asdict(issued.row), "trip": issued.trip, "issue": issued.issue} for issued in rows],
            }
        )
        return
    build = f", {RUN_TIME_EXTENTS}" if one.stream.run_time_extents else ""
    print_text(
        f"{one.compiler}{build}: {one.stream.registers_per_thread} registers, {one.local_bytes} bytes of stack,"
        f" {one.code_bytes:,} bytes of code, {one.stream.instructions_of(0, kernel.lanes()):,} warp instructions"
    )
    print_text("\n".join(_lines(rows)))


def issue_cycles(timeline: Timeline) -> list[int]:
    """Return the cycles, from the CTA's start, in which warp 0 of the observed CTA issued one instruction each."""
    spans = sorted((span for span in timeline.warps if span.warp == 0), key=lambda span: span.begin)
    return [cycle for span in spans if span.reason == "selected" for cycle in range(span.begin, span.end)]


def issued_rows(rows: list[AnnotatedRow], stream: Stream, cycles: list[int]) -> Iterator[IssuedRow]:
    """Yield each instruction of each segment once, with its issue cycle in the segment's middle trip."""
    at, done = 0, 0
    for segment in stream.segments:
        length, trip = len(segment.instructions), segment.trips // 2
        for offset in range(length):
            yield IssuedRow(rows[at + offset], trip, cycles[done + trip * length + offset])
        at += length
        done += length * segment.trips


def _lines(rows: list[IssuedRow]) -> Iterator[str]:
    heading: tuple[str, int, int] | None = None
    width = max((len(issued.row.text) for issued in rows), default=0)
    for issued in rows:
        row = issued.row
        if heading != (row.segment, row.trips, issued.trip):
            heading = (row.segment, row.trips, issued.trip)
            yield ""
            yield row.segment + (f", {row.trips} trips, trip {issued.trip} shown" if row.trips > 1 else "")
            yield f"{'issue':>8} {'address':>7}  {'instruction':{width}}  stall sets waits   unit"
        sets = "".join(
            f"{letter}{number}" if number != NO_SCOREBOARD else ""
            for letter, number in (("w", row.write), ("r", row.read))
        )
        waits = "".join(map(str, row.waits))
        stage = "" if row.stage is None else f" stage {row.stage}"
        what = f"{row.unit:28} {row.op}{stage}".rstrip()
        yield f"{issued.issue:8} {row.address:7x}  {row.text:{width}}  {row.stall:5} {sets:4} {waits:6}  {what}"
