"""``gpusim tune``: finds the fastest kernel for a problem, and prints the best with reasons."""

from gpusim.commands.options.tune import TuneOptions
from gpusim.commands.output import print_json, print_text, progress
from gpusim.commands.scenario_source import read_any_scenario, scenario_text
from gpusim.errors import Interrupted
from gpusim.scenario.text import toml_value
from gpusim.verbs.tune import Ranked, Tuning, tune


def tune_scenario(options: TuneOptions) -> None:
    """
    Rank the kernels for a scenario's problem, measure the best ones if that was asked for, and print them.

    Raises:
        BadInput: The scenario is wrong, or no configuration is legal for its problem.
        CannotRun: None could be simulated; or some are to be measured, and there is no GPU.
        Interrupted: The user interrupted the search.
    """
    scenario = read_any_scenario(scenario_text(options.file, options.cutlass), options.overrides)
    if options.measure:
        from gpusim.gpu.device import import_cupy

        import_cupy()
    try:
        found = tune(
            scenario,
            options.jobs,
            budget=options.budget,
            scheduler=options.scheduler,
            exact=options.exact,
            stream=options.stream,
            progress=progress,
        )
    except KeyboardInterrupt as error:
        raise Interrupted("interrupted: nothing is kept of a search") from error
    if options.measure:
        from gpusim.measure.tuned import measured

        found = measured(found, options.measure, progress)
    if options.as_json:
        print_json({**found.to_dict(), "ranking": found.to_dict()["ranking"][: options.top]})
    else:
        print_text(tuning_text(found, options.top))


def tuning_text(found: Tuning, top: int) -> str:
    """Return a tuning as text: counts of tried configurations, the best ones with reasons, and the own kernel."""
    lines = [_tried(found), *found.notes, ""]
    columns = ["", "configuration", "cycles", "time us", "TFLOP/s", "bound"]
    measured = any(one.measured_cycles is not None for one in found.ranking)
    columns += ["measured"] if measured else []
    rows = [_row(one, measured=measured) for one in found.ranking[:top]]
    widths = [max(len(row[at]) for row in [columns, *rows]) for at in range(len(columns))]
    lines.append(_line(columns, widths))
    for one, row in zip(found.ranking[:top], rows, strict=True):
        lines.append(_line(row, widths))
        if one.reason:
            lines.append(f"{'':{widths[0]}}  {one.reason}")
    lines += ["", _own(found)]
    lines += ["", "the best as settings: " + " ".join(_settings(found.best))]
    return "\n".join(lines)


def _tried(found: Tuning) -> str:
    parts = [f"{found.tried} configurations, {found.illegal} of them not legal"]
    parts.append(f"{len(found.ranking)} simulated" + (", chosen by optuna" if found.chosen_by == "optuna" else ""))
    parts += [f"{number} cannot win by the {what}" for what, number in found.bounded.items()]
    if found.unsimulated:
        parts.append(f"{found.unsimulated} left when the budget was spent")
    if found.failed:
        first = next(iter(found.failed))
        parts.append(f"{sum(found.failed.values())} could not be simulated (the first: {first})")
    return "; ".join(parts)


def _row(one: Ranked, *, measured: bool) -> list[str]:
    row = [str(one.rank), one.name, f"{one.cycles:,}", f"{one.time_us:,.2f}", f"{one.tflops:,.1f}", one.bound]
    shown = "" if one.measured_cycles is None else f"{one.measured_cycles:,.0f}"
    return [*row, shown] if measured else row


def _line(row: list[str], widths: list[int]) -> str:
    number, name, *figures = (
        text.ljust(width) if at in {1, 5} else text.rjust(width)
        for at, (text, width) in enumerate(zip(row, widths, strict=True))
    )
    return "  ".join([number, name, *figures]).rstrip()


def _own(found: Tuning) -> str:
    if found.speedup is None:
        return f"the scenario's own kernel is not simulated: {found.own['error']}"
    if found.speedup <= 1:
        return f"the scenario's own kernel takes {found.own['cycles']:,} cycles: none is faster"
    return (
        f"the scenario's own kernel takes {found.own['cycles']:,} cycles: {found.best.name} is"
        f" {100 * (found.speedup - 1):.1f} % faster"
    )


def _settings(best: Ranked) -> list[str]:
    return [f"--set '{key}={toml_value(value)}'" for key, value in best.settings.items()]
