"""``gpusim verify``: a scenario's schedule executed on real data, and whether its checks held."""

from dataclasses import asdict

from gpusim.commands.output import print_json, print_text, progress
from gpusim.commands.scenario_source import read_scenario
from gpusim.errors import BadInput, CheckFailed
from gpusim.functional.verify import VerifyReport, verify
from gpusim.schedule.mutations import MUTATIONS

_MOST_PROGRESS_LINES = 20
_MOST_ALIKE = 3


def verify_scenario(file: str, overrides: tuple[str, ...], seed: int, mutation: str | None, *, as_json: bool) -> None:
    """
    Print what the functional run showed.

    A mutation that changes nothing in this schedule is told, and is no failed check: all checks did hold.

    Args:
        mutation: Name of a way to break the schedule on purpose.

    Raises:
        BadInput: The scenario is wrong, or there is no such mutation.
        CheckFailed: An element is beyond its bound, or there is a hazard; so every mutation that was caught.
    """
    if mutation is not None and mutation not in MUTATIONS:
        raise BadInput(f"--mutate must be one of {', '.join(MUTATIONS)}, got {mutation!r}")
    scenario = read_scenario(file, overrides).scenario
    report = verify(scenario, seed, MUTATIONS[mutation] if mutation else None, progress=_say_progress)
    if as_json:
        print_json({"scenario": scenario.resolved(), "mutation": mutation, **asdict(report)})
    else:
        print_text("\n".join([*_mutation_lines(mutation, report), _text(report)]))
    if not report.ok:
        raise CheckFailed(f"{file}: {report.wrong_elements} wrong elements, {len(report.hazards)} hazards")


def _say_progress(done: int, ctas: int) -> None:
    step = -(-ctas // _MOST_PROGRESS_LINES)
    if done == ctas or done % step == 0:
        progress(f"executed {done} of {ctas} CTAs")


def _text(report: VerifyReport) -> str:
    lines = [f"elements   {report.elements:,}, {report.wrong_elements:,} beyond their bound (seed {report.seed})"]
    row, column = report.worst_element
    if report.max_error is None or report.max_error_over_bound is None:
        lines.append(f"error      not a number, first at row {row}, column {column}")
    else:
        lines.append(
            f"error      at most {report.max_error:.3g}; at most {report.max_error_over_bound:.3g} of the bound, "
            f"at row {row}, column {column}"
        )
    lines.append(f"hazards    {len(report.hazards) or 'none'}")
    return "\n".join([*lines, *_hazard_lines(report)])


def _mutation_lines(mutation: str | None, report: VerifyReport) -> list[str]:
    if mutation is None:
        return []
    if report.ok:
        return [f"mutation   {mutation}: not caught; harmless here: it causes no hazard and no wrong element"]
    found = sorted(report.hazard_names()) or ["wrong elements"]
    return [f"mutation   {mutation}: caught by {', '.join(found)}"]


def _hazard_lines(report: VerifyReport) -> list[str]:
    """The first few hazards of each name, and how many more there are."""
    lines = []
    for name in dict.fromkeys(hazard["name"] for hazard in report.hazards):
        alike = [hazard["message"] for hazard in report.hazards if hazard["name"] == name]
        lines += [f"  {name}: {message}" for message in alike[:_MOST_ALIKE]]
        if len(alike) > _MOST_ALIKE:
            lines.append(f"  {name}: and {len(alike) - _MOST_ALIKE} more (--json has all)")
    return lines
