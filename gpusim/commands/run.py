"""``gpusim run``: each scenario simulated, kept in a run directory, drawn and summarised."""

from dataclasses import asdict, dataclass
from pathlib import Path

from gpusim import run_directory
from gpusim.commands.output import complain, print_json, progress
from gpusim.errors import CheckFailed, GpusimError
from gpusim.report.tables import print_summary
from gpusim.result import Result, Stream
from gpusim.scenario import load_scenario, write_toml
from gpusim.scenario_catalogue import find_scenario
from gpusim.simulate import simulate
from gpusim.timeline import Timeline

RUNS = Path("runs")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """
    The options of ``gpusim run``.

    Attributes:
        overrides: ``key=value``, in order.
        out: The run directory; with several scenarios, the folder that holds theirs.
        exact: No sampling.
        stream: Origin of the instruction streams.
        figures: Draw the pictures and write the trace.
        force: Replace an earlier run.
        as_json: Print result.json in place of the summary.
    """

    overrides: tuple[str, ...]
    out: Path | None
    exact: bool
    stream: Stream
    figures: bool
    force: bool
    as_json: bool


def run_scenarios(files: list[str], options: RunOptions) -> int:
    """
    Simulate every file; one that fails is named on stderr and the others go on.

    With ``as_json``, one file prints its result.json, several print a list of them in the order of the files, where
    ``{"file", "error", "exit_code"}`` stands for one that failed.

    Returns:
        The exit code: the highest of any file.
    """
    worst, answers = 0, []
    for file in files:
        try:
            result = _run_one(file, options, alone=len(files) == 1)
            answers.append(asdict(result))
            _check(file, result)
        except GpusimError as error:
            complain(str(error))
            worst = max(worst, error.exit_code)
            if not isinstance(error, CheckFailed):
                answers.append({"file": file, "error": str(error), "exit_code": error.exit_code})
    if options.as_json and len(files) > 1:
        print_json(answers)
    return worst


def _run_one(file: str, options: RunOptions, *, alone: bool) -> Result:
    path = find_scenario(file)
    scenario = load_scenario(path, options.overrides)
    name = run_directory.default_name(path.stem, scenario.resolved())
    wanted = (options.out or RUNS / name) if alone else (options.out or RUNS) / name
    directory = run_directory.claim(wanted, force=options.force)
    try:
        result, timeline = simulate(scenario, exact=options.exact, stream=options.stream, progress=progress)
        run_directory.write_run(directory, result, timeline, write_toml(scenario.resolved()), _command(file, options))
    finally:
        run_directory.release(directory)
    if options.as_json:
        if alone:
            print_json(asdict(result))
    else:
        print_summary(result)
    if options.figures:
        _draw(directory, result, timeline)
    progress(f"{file}: written to {directory}")
    return result


def _check(file: str, result: Result) -> None:
    if result.hazards:
        raise CheckFailed(f"{file}: {len(result.hazards)} hazards, the first: {result.hazards[0]}")


def _command(file: str, options: RunOptions) -> list[str]:
    """The command that simulates this file alone again."""
    command = ["gpusim", "run", file]
    for override in options.overrides:
        command += ["--set", override]
    if options.exact:
        command.append("--exact")
    return [*command, "--stream", options.stream]


def _draw(directory: Path, result: Result, timeline: Timeline) -> None:
    # Matplotlib takes longer to import than a small run takes to simulate.
    from gpusim.commands.figures import RUN_FIGURES, draw_figure, write_trace

    for kind in RUN_FIGURES:
        draw_figure(kind, result, timeline, directory / run_directory.FIGURES[kind])
    write_trace("perfetto", result, timeline, directory / run_directory.TRACES["perfetto"])
