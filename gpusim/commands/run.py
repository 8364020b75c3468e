"""``gpusim run``: simulates each scenario or kernel, writes a run directory, and prints a summary."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from gpusim.commands.options.run import RunOptions
from gpusim.commands.output import answering, complain, print_json, print_text, progress
from gpusim.commands.own.launch import (
    is_kernel_file,
    question_of,
    refuse_launch_options,
    refuse_scheduled_options,
)
from gpusim.commands.scenario_source import read_question, scenario_name, scenario_texts
from gpusim.errors import BadInput, CannotRun, CheckFailed, GpusimError, Interrupted
from gpusim.families.registry import family_of
from gpusim.lower.user_kernel import UserKernel, read_user_kernel
from gpusim.machine.load import load_machine
from gpusim.machine.text_file import STANDARD_INPUT
from gpusim.report.tables import print_summary
from gpusim.results import run_directory
from gpusim.results.result import Result
from gpusim.results.timeline import Timeline
from gpusim.results.whole_file import written_whole
from gpusim.scenario.models import Scenario
from gpusim.scenario.own_kernel import KernelQuestion
from gpusim.scenario.text import write_toml
from gpusim.sim.core.engine import chosen
from gpusim.verbs.simulate import simulate
from gpusim.verbs.verify import verifiable

RUNS = Path("runs")


def run_scenarios(options: RunOptions) -> int:
    """
    Read every file, then simulate each. If one fails, the error goes to stderr and the others are still simulated.

    All files are read before the first is simulated, so that a mistake in the last one is found at once.

    With ``as_json``, one file prints its result.json. Several files print a list of theirs in order, with
    ``{"file", "error", "exit_code"}`` for one that failed.

    Returns:
        The highest exit code of any file.

    Raises:
        BadInput: There is no scenario, options contradict each other, or the cubin is not one.
        CannotRun: The cubin cannot be read, or stdout takes no answer, which is said after all was done.
        BrokenPipeError: The reader of stdout has left. Every scenario is simulated and written before that is said.
        Interrupted: The user interrupted the drawing of pictures; what was simulated is kept.
    """
    files = scenario_texts(options.files, options.cutlass)
    user, done = _user_kernel(options), _Answers(files)
    for number, scenario in _read_all(files, options, done):
        file, alone = files[number], len(files) == 1
        try:
            if isinstance(scenario, KernelQuestion):
                _ask(number, file, scenario, options, done, alone=alone)
                continue
            result = _run_one(file, scenario, options, user, alone=alone)
            done.answers[number] = result.to_dict()
            done.show(partial(_show, result, scenario, options, name=scenario_name(file), alone=alone))
            _check(file, result)
            if _executes(options):
                _execute(file, scenario, options, alone=alone)
        except Interrupted:
            raise
        except GpusimError as error:
            done.refuse(number, error)
        except MemoryError as error:
            done.refuse(number, CannotRun(f"{file}: out of memory ({error})"))
    if done.unprinted is not None:
        raise done.unprinted
    if options.as_json and len(files) > 1:
        print_json(done.answers)
    return done.worst


class _Answers:
    """
    The outcome of each file.

    Attributes:
        worst: The highest exit code of any file.
        answers: Result of each file, or its error, as plain data.
        unprinted: The error of a stdout that takes no answer; the other scenarios are still simulated.
    """

    def __init__(self, files: list[str]) -> None:
        self.worst = 0
        self.answers: list[dict[str, Any]] = [{} for _ in files]
        self.unprinted: BrokenPipeError | CannotRun | None = None
        self._files = files

    def refuse(self, number: int, error: GpusimError) -> None:
        """Record that a file failed, and print the error."""
        complain(str(error))
        self.worst = max(self.worst, error.exit_code)
        if not isinstance(error, CheckFailed):
            self.answers[number] = {"file": self._files[number], "error": str(error), "exit_code": error.exit_code}

    def show(self, answer: Callable[[], None]) -> None:
        """Print an answer, unless stdout takes none."""
        try:
            if self.unprinted is None:
                with answering():
                    answer()
                    sys.stdout.flush()
        except (BrokenPipeError, CannotRun) as error:
            self.unprinted = error


def _ask(number: int, file: str, question: KernelQuestion, options: RunOptions, done: _Answers, *, alone: bool) -> None:
    """Answer the question of a kernel of the user's own, and show the answer."""
    from gpusim.commands.own.run import run_question, show_question  # a scenario does not need it

    found = run_question(file, question, options, _place(question.name, question.resolved(), options, alone=alone))
    done.answers[number] = found.to_dict()
    done.show(partial(show_question, found, question.name, as_json=options.as_json, alone=alone))


def _read_all(files: list[str], options: RunOptions, done: _Answers) -> list[tuple[int, Scenario | KernelQuestion]]:
    """Return number and scenario of each file that can be read."""
    good = []
    for number, file in enumerate(files):
        try:
            good.append((number, _readable(file, options, alone=len(files) == 1)))
        except GpusimError as error:
            done.refuse(number, error)
    return good


def _user_kernel(options: RunOptions) -> UserKernel | None:
    """Read the kernel that ``--cubin`` and ``--entry`` name."""
    if options.cubin is None:
        if options.entry is not None and not any(map(is_kernel_file, options.files)):
            raise BadInput(f"--entry names a kernel of --cubin, which is missing, got {options.entry!r}")
        return None
    if options.stream == "estimated":
        raise BadInput("--stream must be auto or compiled with --cubin, got estimated")
    return read_user_kernel(options.cubin, options.entry or "")


def _executes(options: RunOptions) -> bool:
    return options.reference_check or options.save_tensors is not None


def _readable(file: str, options: RunOptions, *, alone: bool) -> Scenario | KernelQuestion:
    if is_kernel_file(file):
        refuse_scheduled_options(options, file)
        return question_of(file, options)
    scenario = read_question(file, options.overrides)
    refuse_launch_options(options)
    if isinstance(scenario, KernelQuestion):
        refuse_scheduled_options(options, file)
    elif options.save:
        raise BadInput(f"--save is for a kernel of your own, which {file} is not")
    elif _executes(options):
        folder = _tensor_folder(scenario_name(file), options, alone=alone)
        reference = options.reference_check
        verifiable(scenario, reference_check=reference, save_to=folder, replace=options.force)
    return scenario


def _tensor_folder(name: str, options: RunOptions, *, alone: bool) -> Path | None:
    folder = options.save_tensors
    return folder if folder is None or alone else folder / name


def _run_one(file: str, scenario: Scenario, options: RunOptions, user: UserKernel | None, *, alone: bool) -> Result:
    """Simulate a scenario, and write its run directory, which lacks the pictures that cannot be drawn."""
    stem = scenario_name(file)
    wanted = _place(stem, scenario.resolved(), options, alone=alone)
    with run_directory.claim(wanted, force=options.force, say=progress) as claimed:
        with chosen(options.engine):
            result, timeline = simulate(
                scenario, exact=options.exact, stream=options.stream, user=user, progress=progress
            )
        text, command = write_toml(scenario.resolved()), _command(file, options, result.stream)
        run_directory.write_run(claimed.folder, result, timeline, text, command)
        try:
            warnings = _draw(claimed.folder, result, timeline, stem) if not options.no_figures else []
        except KeyboardInterrupt as error:
            directory = claimed.publish()
            raise Interrupted(f"interrupted: {file} is simulated, and kept in {directory} without pictures") from error
        directory = claimed.publish()
    for warning in warnings:
        progress(f"{file}: {warning}")
    progress(f"{file}: written to {directory}")
    return result


def _place(stem: str, resolved: dict[str, Any], options: RunOptions, *, alone: bool) -> Path:
    """Return the run directory that is asked for."""
    name = run_directory.default_name(stem, resolved)
    return (options.out or RUNS / name) if alone else (options.out or RUNS) / name


def _show(result: Result, scenario: Scenario, options: RunOptions, *, name: str, alone: bool) -> None:
    if not options.as_json:
        print_summary(result, family_of(scenario).words(scenario), load_machine(scenario.machine), name)
    elif alone:
        print_json(result.to_dict())


def _execute(file: str, scenario: Scenario, options: RunOptions, *, alone: bool) -> None:
    from gpusim.commands.verify import execute, refuse_failure, report_text  # a run without data does not need it

    folder = _tensor_folder(scenario_name(file), options, alone=alone)
    report = execute(
        scenario, options.seed, reference_check=options.reference_check, save_to=folder, replace=options.force
    )
    for line in report_text(report).splitlines():
        (progress if options.as_json else print_text)(line)
    refuse_failure(file, report)


def _check(file: str, result: Result) -> None:
    if result.hazards:
        raise CheckFailed(f"{file}: {len(result.hazards)} hazards, the first: {result.hazards[0]}")


def _command(file: str, options: RunOptions, origin: str) -> list[str]:
    """
    Return the command that simulates this file alone again, with streams of the same origin.

    A scenario that was read from standard input is in the run directory, with the overrides.
    """
    command = ["gpusim", "run", run_directory.SCENARIO if file == STANDARD_INPUT else file]
    for override in options.overrides if file != STANDARD_INPUT else ():
        command += ["--set", override]
    if options.exact is not None:
        command.append("--exact" if options.exact else "--sampled")
    if options.engine != "auto":
        command += ["--engine", options.engine]
    if options.cubin is not None:
        command += ["--cubin", str(options.cubin)]
        command += ["--entry", options.entry] if options.entry else []
    return [*command, "--stream", origin]


def _draw(directory: Path, result: Result, timeline: Timeline, name: str) -> list[str]:
    """Draw the pictures and write the trace; return a warning about each that cannot be made, whatever the reason."""
    # Matplotlib takes longer to import than a small run takes to simulate.
    from gpusim.verbs.pictures import OF_FAMILIES, draw_picture, drawn_by_family, write_trace

    kinds = [kind for kind in run_directory.FIGURES if kind != "roofline" or result.tflops]
    if not drawn_by_family(result.scenario):
        kinds = [kind for kind in kinds if kind not in OF_FAMILIES]
    works: dict[str, Callable[[Path], object]] = {
        run_directory.FIGURES[kind]: partial(draw_picture, kind, result, timeline, name=name) for kind in kinds
    }
    works[run_directory.TRACES["perfetto"]] = partial(write_trace, "perfetto", result, timeline)
    warnings = []
    for file, work in works.items():
        try:
            with written_whole(directory / file) as aside:
                work(aside)
        except Exception as error:  # noqa: BLE001 # what was simulated is not lost for a picture
            warnings.append(f"warning: no {file}, which cannot be made ({_reason(error)})")
    return warnings


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error) if isinstance(error, GpusimError) else f"{type(error).__name__}: {error}"
