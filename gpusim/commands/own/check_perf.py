"""``gpusim check-perf``: compares kernels of the user's own with a committed baseline, or writes that."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from gpusim import __version__
from gpusim.commands.options.own.check_perf import CheckPerfOptions
from gpusim.commands.options.run import RunOptions
from gpusim.commands.output import check_folder, complain, print_json, print_text, progress, written
from gpusim.commands.own.launch import (
    LAUNCH_OPTIONS,
    is_kernel_file,
    named_values,
    question_of,
    refuse_launch_options,
)
from gpusim.commands.scenario_source import read_question
from gpusim.cuda.compiler import find_compiler
from gpusim.errors import BadInput, CheckFailed, GpusimError, Interrupted
from gpusim.machine.changes import MachineChoice, read_choice
from gpusim.machine.load import is_path
from gpusim.python.question import answer
from gpusim.results.kernel_result import KernelResult
from gpusim.results.plain import plain
from gpusim.results.whole_file import refuse_foreign, refuse_taken
from gpusim.scenario.own_kernel import KernelQuestion, own_question
from gpusim.scenario.read import OWN_KIND, overridden
from gpusim.verbs.performance.baseline import (
    LAUNCH_KEYS,
    PerfBaseline,
    PerfEntry,
    baseline_text,
    read_baseline,
)
from gpusim.verbs.performance.check import PerfAnswer, compared
from gpusim.verbs.performance.markdown import perf_markdown
from gpusim.verbs.performance.metrics import metrics_of, threshold_of

CHECK_PERF_SCHEMA: Final = "gpusim.check_perf/1"
"""Form of what ``--json`` prints."""

CANNOT_TEST: Final = 125
"""Exit code by which ``git bisect run`` skips a commit."""

END_BISECT: Final = 128
"""Exit code by which ``git bisect run`` ends."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """
    A kernel that is compared or written.

    Attributes:
        name: Its name in the baseline.
        file: The scenario, or the kernel's file.
        question: Reads its launch.
    """

    name: str
    file: Path
    question: Callable[[], KernelQuestion]


def check_perf(options: CheckPerfOptions) -> int:
    """
    Compare kernels with the baseline, and print the table; or write the baseline.

    If a kernel fails, its error goes to stderr and into the table, and the others are still compared.

    Returns:
        3 if a metric is worse than its threshold allows, else the highest exit code of any kernel. For ``--bisect`` 0,
        3, 125 if a kernel failed and no metric of another is beyond, and 128 if there is nothing to compare with.

    Raises:
        BadInput: The options contradict each other, or the baseline cannot be read or has not the kernel.
        CannotRun: The table or the baseline cannot be written.
    """
    if not options.bisect:
        return _write(options) if options.write_baseline else _check(options)
    try:
        if options.write_baseline:
            raise BadInput("--bisect compares with a baseline: it goes without --write-baseline")
        code = _check(options)
    except Interrupted:
        raise
    except GpusimError as error:
        complain(str(error))
        return END_BISECT
    return code if code in (0, CheckFailed.exit_code) else CANNOT_TEST


def _check(options: CheckPerfOptions) -> int:
    given = _thresholds(options)
    if options.markdown is not None:
        check_folder(options.markdown)
        refuse_taken(options.markdown, force=options.force)
    baseline = read_baseline(options.baseline)
    asked = _asked(baseline, options)
    missing = [one.name for one in asked if one.name not in baseline.entries]
    if missing or not asked:
        known = ", ".join(baseline.entries) or "no kernel"
        what = f"has {known}, and not {', '.join(missing)}" if missing else "has no kernel"
        raise BadInput(f"{options.baseline}: {what}; --write-baseline adds it")
    answers = [_compared(one, baseline, given, options) for one in asked]
    page = perf_markdown(answers)
    if options.as_json:
        print_json({"schema": CHECK_PERF_SCHEMA, "gpusim": __version__, "kernels": [one.to_dict() for one in answers]})
    else:
        print_text(page)
    if options.markdown is not None:
        with written(options.markdown, force=options.force) as aside:
            aside.write_text(page, encoding="utf-8")
    if any(one.is_beyond for one in answers):
        return CheckFailed.exit_code
    return _failure(answers, bisect=options.bisect)


def _failure(answers: Sequence[PerfAnswer], *, bisect: bool) -> int:
    """Return the highest exit code of the kernels' errors. In a bisection, a kernel that fails judges no commit."""
    worst = max(one.exit_code for one in answers)
    return CANNOT_TEST if bisect and worst else worst


def _compared(
    asked: _Asked, baseline: PerfBaseline, given: Mapping[str, float], options: CheckPerfOptions
) -> PerfAnswer:
    try:
        today, result = _today(asked, options.baseline)
        return compared(baseline.entries[asked.name], today, result, baseline, given)
    except Interrupted:
        raise
    except GpusimError as error:
        complain(f"{asked.name}: {error}")
        return PerfAnswer(asked.name, error=str(error), exit_code=error.exit_code)


def _write(options: CheckPerfOptions) -> int:
    if options.overrides:
        raise BadInput("--write-baseline keeps kernels as their files state them: it goes without --set")
    if options.markdown is not None:
        raise BadInput("--write-baseline compares nothing: it goes without --markdown")
    check_folder(options.baseline)
    refuse_foreign(options.baseline)
    exists = options.baseline.exists()
    if not exists and not options.files:
        raise BadInput(f"--write-baseline needs a FILE, since there is no {options.baseline} that names kernels")
    baseline = read_baseline(options.baseline) if exists else PerfBaseline()
    entries = list[PerfEntry]()
    for one in _asked(baseline, options):
        entry, _ = _today(one, options.baseline)
        kept = baseline.entries.get(one.name)
        entries.append(entry if kept is None else replace(entry, thresholds=kept.thresholds))
    with written(options.baseline, force=True) as aside:
        aside.write_text(baseline_text(baseline.updated(entries, _thresholds(options))), encoding="utf-8")
    if options.as_json:
        print_json({"baseline": str(options.baseline), "kernels": {one.name: dict(one.metrics) for one in entries}})
    else:
        lines = [
            f"{one.name}: {', '.join(f'{name} {value:,}' for name, value in one.metrics.items())}" for one in entries
        ]
        print_text("\n".join([*lines, f"written to {options.baseline}"]))
    return 0


def _thresholds(options: CheckPerfOptions) -> dict[str, float]:
    """
    Return the thresholds that are given, in percent.

    Raises:
        BadInput: A metric is unknown, or a number is none.
    """
    return {
        name: threshold_of(name, _percent(text), f"--threshold {name}={text}")
        for name, text in named_values("--threshold", options.thresholds, "cycles=5").items()
    }


# --- which kernels ---


def _asked(baseline: PerfBaseline, options: CheckPerfOptions) -> list[_Asked]:
    """
    Return the kernels that are asked for: those of the files, else all of the baseline.

    A kernel's file without the options of a launch has the launches that the baseline keeps.

    Raises:
        BadInput: A file is no kernel or scenario of one, two have one name, or options of a launch have no kernel.
    """
    launch = RunOptions(
        entry=options.entry,
        overrides=options.overrides,
        **{name: getattr(options, name) for name in LAUNCH_OPTIONS},
    )
    states_launch = any(getattr(launch, name) not in (None, ()) for name in ("entry", *LAUNCH_OPTIONS))
    if not any(map(is_kernel_file, options.files)):
        refuse_launch_options(launch)
    elif states_launch and len(options.files) > 1:
        raise BadInput(f"the options of a launch are of one kernel, got {len(options.files)} files; use scenarios")
    kept = list(_of_baseline(baseline, options))
    found = list[_Asked]()
    for text in options.files:
        path = Path(text)
        known = [one for one in kept if one.file.resolve() == path.resolve()] if not states_launch else []
        found += known or [_given(path, launch)]
    found = found if options.files else kept
    names = [one.name for one in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise BadInput(f"two kernels have the name {twice}, by which a baseline knows them")
    return found


def _given(path: Path, launch: RunOptions) -> _Asked:
    """Return the kernel of a file. One with the options of its launch is named by its stem and the entry, if given."""
    if is_kernel_file(path.name):
        name = f"{path.stem}:{launch.entry}" if launch.entry else path.stem
        return _Asked(name, path, partial(question_of, str(path), launch))
    return _Asked(path.stem, path, partial(_scenario, path, launch.overrides))


def _of_baseline(baseline: PerfBaseline, options: CheckPerfOptions) -> Iterator[_Asked]:
    folder = options.baseline.parent
    for name, entry in baseline.entries.items():
        path = folder / entry.file
        if is_kernel_file(entry.file):
            yield _Asked(name, path, partial(_kept, entry, folder, options.overrides))
        else:
            yield _Asked(name, path, partial(_scenario, path, options.overrides))


def _scenario(path: Path, overrides: tuple[str, ...]) -> KernelQuestion:
    question = read_question(str(path), overrides)
    if not isinstance(question, KernelQuestion):
        raise BadInput(f'{path} is no scenario of a kernel of your own, which has kind = "{OWN_KIND}"')
    return question


def _kept(entry: PerfEntry, folder: Path, overrides: tuple[str, ...]) -> KernelQuestion:
    """Return the launch that a baseline keeps."""
    data = {"kind": OWN_KIND, "machine": entry.machine, "file": entry.file, **entry.launch}
    return own_question(overridden(data, f"the baseline's {entry.name}", overrides, folder, entry.name))


# --- what they do today ---


def _today(asked: _Asked, baseline: Path) -> tuple[PerfEntry, KernelResult]:
    """Execute a kernel, and return its entry and the answer; thresholds are left out."""
    question = asked.question()
    progress(f"executing {asked.name}")
    result = answer(question, progress=progress).result
    return (
        PerfEntry(
            name=asked.name,
            file=_relative(asked.file, baseline),
            machine=_machine(question.machine, baseline),
            figures=str(result.machine["digest"]),
            version=__version__,
            launch=_launch(question),
            metrics=metrics_of(result),
            compiler=_compiler(question),
        ),
        result,
    )


def _compiler(question: KernelQuestion) -> str:
    if question.file.suffix != ".cu":
        return ""
    found = find_compiler()
    return f"{found.name} {found.version}"


def _launch(question: KernelQuestion) -> dict[str, Any]:
    launch: dict[str, Any] = plain({key: getattr(question, key) for key in LAUNCH_KEYS})
    return launch


def _machine(text: str, baseline: Path) -> str:
    """Return a machine as a baseline names it: the path of a machine file is relative to the baseline's folder."""
    choice = read_choice(text)
    base = _relative(Path(choice.base), baseline) if is_path(choice.base) else choice.base
    return str(MachineChoice(base, choice.figures))


def _relative(path: Path, baseline: Path) -> str:
    """Return a path relative to the baseline's folder, with slashes."""
    return Path(os.path.relpath(path.absolute(), baseline.parent.absolute())).as_posix()


def _percent(text: str) -> float | str:
    """Return a number of percent, or the text that is none."""
    try:
        return float(text)
    except ValueError:
        return text
