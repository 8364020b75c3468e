"""``gpusim verify``: a scenario's schedule executed on real data, and whether its checks held."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar, cast

from gpusim.commands.output import print_json, print_text, progress
from gpusim.commands.scenario_source import read_any_scenario
from gpusim.errors import BadInput, CheckFailed
from gpusim.families.attention.mutations import ATTENTION_MUTATIONS
from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.attention.verify import AttentionReport, verify_attention
from gpusim.numerics.elements import Values
from gpusim.numerics.reference import Reference
from gpusim.numerics.tensor_csv import check_tensor_folder, save_tensors
from gpusim.numerics.tensors import Tensors
from gpusim.scenario.gemm import GemmScenario
from gpusim.schedule.mutations import MUTATIONS, Mutation
from gpusim.verbs.verify import VerifyReport, verify

_MOST_PROGRESS_LINES = 20
_MOST_ALIKE = 3

M = TypeVar("M")


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyOptions:
    """
    The options of ``gpusim verify``.

    Attributes:
        overrides: ``key=value``, in order.
        seed: Of the random inputs.
        mutation: Name of a way to break the schedule on purpose.
        reference_check: Compare the output with the reference.
        save_tensors: Write the tensors to this folder.
        as_json: Print the report as JSON.
    """

    overrides: tuple[str, ...]
    seed: int
    mutation: str | None
    reference_check: bool
    save_tensors: Path | None
    as_json: bool


def verify_scenario(file: str, options: VerifyOptions) -> None:
    """
    Print what the functional run showed.

    A mutation that changes nothing in this schedule is told, and is no failed check: all checks did hold.

    Raises:
        BadInput: The scenario is wrong, there is no such mutation, or the folder holds tensors already.
        CannotRun: A tensor cannot be written.
        CheckFailed: An element is beyond its bound, or there is a hazard; so every mutation that was caught.
    """
    mutation = options.mutation
    scenario = read_any_scenario(file, options.overrides)
    if isinstance(scenario, AttentionScenario):
        report = _execute_attention(scenario, options)
    else:
        report = execute(
            cast("GemmScenario", scenario),
            options.seed,
            _chosen(mutation, MUTATIONS),
            reference_check=options.reference_check,
            save_to=options.save_tensors,
        )
    if options.as_json:
        print_json({"scenario": scenario.resolved(), "mutation": mutation, **asdict(report)})
    else:
        print_text("\n".join([*_mutation_lines(mutation, report), report_text(report)]))
    refuse_failure(file, report)


def _chosen(name: str | None, mutations: Mapping[str, M]) -> M | None:
    if name is not None and name not in mutations:
        raise BadInput(f"--mutate must be one of {', '.join(mutations)}, got {name!r}")
    return None if name is None else mutations[name]


def _execute_attention(scenario: AttentionScenario, options: VerifyOptions) -> VerifyReport:
    if options.save_tensors is not None:
        raise BadInput(
            "--save-tensors must be left out for attention: the tensors of GEMMs and convolutions are written"
        )
    return verify_attention(
        scenario,
        options.seed,
        _chosen(options.mutation, ATTENTION_MUTATIONS),
        _say_progress,
        reference_check=options.reference_check,
    )


def execute(
    scenario: GemmScenario, seed: int, mutate: Mutation | None = None, *, reference_check: bool, save_to: Path | None
) -> VerifyReport:
    """
    Execute a scenario on random data, and write its tensors where ``save_to`` is given.

    Raises:
        BadInput: The mutation finds nothing to break, or the folder holds tensors already.
        CannotRun: A tensor cannot be written.
    """
    if save_to is not None:
        check_tensor_folder(scenario, save_to, reference=reference_check)

    def keep(tensors: Tensors, output: Values, expected: Reference | None) -> None:
        if save_to is not None:
            files = save_tensors(scenario, tensors, output, None if expected is None else expected.value, save_to)
            progress(f"tensors written to {', '.join(map(str, files))}")

    return verify(scenario, seed, mutate, _say_progress, reference_check=reference_check, keep=keep)


def refuse_failure(file: str, report: VerifyReport) -> None:
    """
    End a command whose execution was wrong.

    Raises:
        CheckFailed: An element is beyond its bound, or there is a hazard.
    """
    if not report.ok:
        wrong = f"{report.wrong_elements} wrong elements"
        if isinstance(report, AttentionReport):
            wrong += f", {report.wrong_lse} wrong log-sum-exps"
        raise CheckFailed(f"{file}: {wrong}, {len(report.hazards)} hazards")


def _say_progress(done: int, ctas: int) -> None:
    step = -(-ctas // _MOST_PROGRESS_LINES)
    if done == ctas or done % step == 0:
        progress(f"executed {done} of {ctas} CTAs")


def report_text(report: VerifyReport) -> str:
    """What an execution showed, for a reader."""
    if report.worst_element is None:
        lines = [f"elements   {report.elements:,}, not compared with a reference (seed {report.seed})"]
        return "\n".join([*lines, f"hazards    {len(report.hazards) or 'none'}", *_hazard_lines(report)])
    lines = [f"elements   {report.elements:,}, {report.wrong_elements:,} beyond their bound (seed {report.seed})"]
    row, column = report.worst_element
    if report.max_error is None or report.max_error_over_bound is None:
        lines.append(f"error      not finite (a NaN, or beyond the output's type), first at row {row}, column {column}")
    else:
        lines.append(
            f"error      at most {report.max_error:.3g}; at most {report.max_error_over_bound:.3g} of the bound, "
            f"at row {row}, column {column}"
        )
    if isinstance(report, AttentionReport):
        error = "one is not a number" if report.max_lse_error is None else f"error at most {report.max_lse_error:.3g}"
        lines.append(f"lse        {report.wrong_lse:,} log-sum-exps beyond their bound, {error}")
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
