"""``gpusim verify``: executes a scenario's schedule on real data, and reports whether its checks hold."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from gpusim.commands.options.verify import VerifyOptions
from gpusim.commands.output import print_json, print_text, progress
from gpusim.commands.scenario_source import read_any_scenario, scenario_text
from gpusim.errors import BadInput, CheckFailed
from gpusim.families.registry import family_of
from gpusim.families.verification import VerifyReport
from gpusim.results.result import NOT_IN_CUTLASS
from gpusim.scenario.models import Scenario
from gpusim.verbs.verify import verify

_MOST_PROGRESS_LINES = 20
_MOST_ALIKE = 3


def verify_scenario(options: VerifyOptions) -> None:
    """
    Verify a scenario and print the report.

    A mutation that is not caught is reported, but is no failure, because all checks hold.

    Raises:
        BadInput: The scenario is wrong, there is no such mutation, it finds nothing to break, or the folder already
            holds tensors.
        CannotRun: A tensor cannot be written.
        CheckFailed: An element is beyond its bound, or there is a hazard. A mutation that is caught causes this.
    """
    file, mutation = scenario_text(options.file, options.cutlass), options.mutate
    scenario = read_any_scenario(file, options.overrides)
    mutations = family_of(scenario).verifications.verification(scenario).mutations
    if mutation is not None and mutation not in mutations:
        raise BadInput(f"--mutate must be one of {', '.join(mutations)}, got {mutation!r}")
    report = execute(
        scenario,
        options.seed,
        None if mutation is None else mutations[mutation],
        reference_check=options.reference_check,
        save_to=options.save_tensors,
        replace=options.force,
    )
    lacking = scenario.lacking_in_cutlass
    if options.as_json:
        print_json(report.to_dict() | ({NOT_IN_CUTLASS: lacking} if lacking else {}))
    else:
        remarks = [f"CUTLASS    has no such kernel: {lacking}"] if lacking else []
        print_text("\n".join([*_mutation_lines(mutation, report), *remarks, report_text(report)]))
    refuse_failure(file, report)


def execute(
    scenario: Scenario,
    seed: int,
    mutate: Callable[[Any], Any] | None = None,
    *,
    reference_check: bool,
    save_to: Path | None,
    replace: bool = False,
) -> VerifyReport:
    """
    Execute a scenario on random data with progress on stderr, and write its tensors if ``save_to`` is given.

    Raises:
        BadInput: The mutation finds nothing to break, or the folder already holds tensors.
        CannotRun: A tensor cannot be written.
    """

    def saved(files: tuple[Path, ...]) -> None:
        progress(f"tensors written to {', '.join(map(str, files))}")

    return verify(
        scenario,
        seed,
        mutate,
        _say_progress,
        reference_check=reference_check,
        save_to=save_to,
        replace=replace,
        saved=saved,
    )


def refuse_failure(file: str, report: VerifyReport) -> None:
    """
    Raise an error if an execution failed its checks.

    Raises:
        CheckFailed: An element is beyond its bound, or there is a hazard.
    """
    if not report.ok:
        wrong = f"{report.wrong_elements} wrong elements"
        if report.second is not None:
            wrong += f", {report.second.wrong} wrong {report.second.words}"
        raise CheckFailed(f"{file}: {wrong}, {len(report.hazards)} hazards")


def _say_progress(done: int, ctas: int) -> None:
    step = -(-ctas // _MOST_PROGRESS_LINES)
    if done == ctas or done % step == 0:
        progress(f"executed {done} of {ctas} CTAs")


def report_text(report: VerifyReport) -> str:
    """Return the report of an execution as text."""
    if report.worst_element is None:
        lines = [f"elements   {report.elements:,}, not compared with a reference (seed {report.seed})"]
        hazards = f"hazards    {len(report.hazards) or 'none'}"
        return "\n".join([*lines, hazards, *_hazard_lines(report), _verdict(report)])
    lines = [f"elements   {report.elements:,}, {report.wrong_elements:,} beyond their bound (seed {report.seed})"]
    row, column = report.worst_element
    if report.max_error is None or report.max_error_over_bound is None:
        lines.append(f"error      not finite (a NaN, or beyond the output's type), first at row {row}, column {column}")
    else:
        lines.append(
            f"error      at most {report.max_error:.3g} in absolute value; at most {report.max_error_over_bound:.3g} "
            f"of the bound, at row {row}, column {column}"
        )
    second = report.second
    if second is not None:
        error = (
            "one is not a number"
            if second.max_error is None
            else f"error at most {second.max_error:.3g} in absolute value"
        )
        lines.append(f"{second.key:10} {second.wrong:,} {second.words} beyond their bound, {error}")
    lines.append(f"hazards    {len(report.hazards) or 'none'}")
    return "\n".join([*lines, *_hazard_lines(report), _verdict(report)])


def _verdict(report: VerifyReport) -> str:
    """Return the line that says whether the checks hold."""
    what = "no hazard" if report.worst_element is None else "every element is within its bound, and there is no hazard"
    return f"passed     {what}" if report.ok else "failed"


def _mutation_lines(mutation: str | None, report: VerifyReport) -> list[str]:
    if mutation is None:
        return []
    if report.ok:
        return [f"mutation   {mutation}: not caught; harmless here: it causes no hazard and no wrong element"]
    found = sorted(report.hazard_names()) or ["wrong elements"]
    return [f"mutation   {mutation}: caught by {', '.join(found)}"]


def _hazard_lines(report: VerifyReport) -> list[str]:
    """Return lines with the first few hazards of each name, and the number of further ones."""
    lines = []
    for name in dict.fromkeys(hazard["name"] for hazard in report.hazards):
        alike = [hazard["message"] for hazard in report.hazards if hazard["name"] == name]
        lines += [f"  {name}: {message}" for message in alike[:_MOST_ALIKE]]
        if len(alike) > _MOST_ALIKE:
            lines.append(f"  {name}: and {len(alike) - _MOST_ALIKE} more (--json has all)")
    return lines
