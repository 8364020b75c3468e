"""``gpusim compare``: compares runs, scenarios and profiles: their differences, and the effects on all figures."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import asdict, replace
from pathlib import Path

from gpusim.commands.machine import figure_row
from gpusim.commands.options.compare import CompareOptions
from gpusim.commands.output import check_picture, print_json, print_text, progress, written
from gpusim.commands.own.sides import own_sides
from gpusim.commands.scenario_source import read_any_scenario, scenario_name
from gpusim.errors import BadInput
from gpusim.families.registry import parse_scenario
from gpusim.gpu.ncu import read_report
from gpusim.machine import load_machine
from gpusim.measure.compare import choose_launch, compare_rows, profiled_side
from gpusim.records.check import CheckRow
from gpusim.records.check_table import check_table
from gpusim.report.captions import not_compiled
from gpusim.report.tables import print_tables
from gpusim.results.run_directory import RESULT, read_run
from gpusim.scenario.read import overridden
from gpusim.verbs.compare import ComparedSide, Comparison, Metric, changed_side, compare, side_of
from gpusim.verbs.compare_kernels import KernelComparison, compare_kernels

PROFILES = (".ncu-rep", ".csv")
"""Endings of ncu's reports and of its CSV."""

LEAST_STALL = 0.01
"""Least share of a stall reason that is printed."""

MOST_FIGURES = 16
"""Largest number of machine figures that are printed. Figures that a user has set come first."""


def compare_sides(options: CompareOptions) -> None:
    """
    Print the differences between sides, and their effects.

    Raises:
        BadInput: There are too few sides, ``--set`` is given with several, or a side is nothing that can be compared.
        CannotRun: A report cannot be read, or the picture cannot be written. The answer is printed before it.
    """
    if options.png is not None:
        check_picture("--png", options.png)
    texts = options.sides
    own = own_sides(texts, options.overrides)
    if own:
        if options.png is not None:
            raise BadInput("--png draws runs of scenarios that gpusim schedules, not of a kernel of your own")
        _show_kernels(compare_kernels([name for name, _ in own], [result for _, result in own]), options)
        return
    sides = _sides(texts, options)
    found = compare(*sides)
    rows = _rows(texts, options) if _is_run_and_report(texts) else None
    if options.as_json:
        print_json((rows or {}) | found.to_dict())
    elif rows is not None:
        _print_rows(texts, options)
    else:
        _print(found)
    if options.png is not None:
        from gpusim.report.comparison import comparison_chart

        with written(options.png, force=options.force) as aside:
            comparison_chart([(side.name, side.result) for side in sides if side.result is not None], aside)


def _sides(texts: Sequence[str], options: CompareOptions) -> list[ComparedSide]:
    if len(texts) < 2 and not options.overrides:
        raise BadInput("a comparison needs two sides, or one and --set KEY=VALUE, which makes the second")
    if len(texts) != 1 and options.overrides:
        raise BadInput(f"--set makes the second side of one, got {len(texts)} sides")
    simulated = [None if _is_report(text) else _side(text, options) for text in texts]
    like = next((side.result for side in simulated if side is not None), None)
    sides = [
        profiled_side(Path(text), like, options.kernel, options.launch) if side is None else side
        for text, side in zip(texts, simulated, strict=True)
    ]
    if options.overrides:
        changed = _changed(texts[0], sides[0], options)
        sides = [_alike(texts[0], sides[0], changed, options), changed]
    return sides


def _alike(text: str, side: ComparedSide, changed: ComparedSide, options: CompareOptions) -> ComparedSide:
    """Return a side with estimated streams if the streams of the other side could not be compiled."""
    if side.kind != "scenario" or not side.result or not changed.result or side.result.stream == changed.result.stream:
        return side
    progress(f"simulating {side.name} again, with estimated streams as well")
    return _side(text, replace(options, stream="estimated"))


def _side(text: str, options: CompareOptions) -> ComparedSide:
    if (Path(text) / RESULT).is_file():
        return side_of(text)
    scenario = read_any_scenario(text, ())
    return side_of(scenario, scenario_name(text), exact=options.exact, stream=options.stream, progress=progress)


def _changed(text: str, side: ComparedSide, options: CompareOptions) -> ComparedSide:
    """Return the second side that ``--set`` makes of a first one."""
    if side.result is None:
        raise BadInput(f"{text}: --set changes a scenario, and a profile has none")
    progress(f"simulating {', '.join(options.overrides)}")
    if side.kind == "scenario":
        scenario = read_any_scenario(text, options.overrides)
    else:
        data = overridden(deepcopy(side.result.scenario), text, options.overrides, Path()).data
        scenario = parse_scenario(data, text)
    return changed_side(side, options.overrides, scenario, exact=options.exact, stream=options.stream)


def _is_report(text: str) -> bool:
    return text.endswith(PROFILES)


def _is_run_and_report(texts: Sequence[str]) -> bool:
    return len(texts) == 2 and not _is_report(texts[0]) and _is_report(texts[1]) and (Path(texts[0]) / RESULT).is_file()


def _show_kernels(found: KernelComparison, options: CompareOptions) -> None:
    if options.as_json:
        print_json(found.to_dict())
        return
    if not found.differences:
        print_text("The scenarios are equal.")
    several, names = len(found.names) > 2, list(found.names)
    rows = [_row(metric, several=several) for metric in found.metrics if _is_shown(metric)]
    print_tables(
        ("differs", names, [(one.key, *map(str, one.values)) for one in found.differences]),
        ("figure", [*names, *([] if several else ["ratio"])], rows),
    )
    print_text("\n".join(found.causes))


# --- a run beside a report, figure by figure ---


def _rows(texts: Sequence[str], options: CompareOptions) -> dict[str, object]:
    directory, report = texts
    result, _ = read_run(Path(directory))
    launches = read_report(Path(report))
    chosen = launches[choose_launch(launches, result, options.kernel, options.launch)]
    rows = compare_rows(result, chosen, load_machine(result.scenario["machine"]).sms)
    if not rows:
        raise BadInput(f"{report}: {chosen.name} has no metric that a simulated run has; profile it with `--set full`")
    measured = {"kernel": chosen.name, "grid": chosen.grid, "block": chosen.block}
    return {"run": directory, "report": report, "measured": measured, "rows": _data(rows)}


def _print_rows(texts: Sequence[str], options: CompareOptions) -> None:
    result, _ = read_run(Path(texts[0]))
    launches = read_report(Path(texts[1]))
    chosen = launches[choose_launch(launches, result, options.kernel, options.launch)]
    print_text(f"{chosen.name}, grid {' x '.join(map(str, chosen.grid))}, {texts[1]}")
    print_text(check_table(compare_rows(result, chosen, load_machine(result.scenario["machine"]).sms)))


def _data(rows: tuple[CheckRow, ...]) -> list[dict[str, object]]:
    return [{**asdict(row), "error": row.error} for row in rows]


# --- sides beside each other ---


def _print(found: Comparison) -> None:
    names = [f"{side.name} ({side.kind})" if side.kind == "ncu" else side.name for side in found.sides]
    if not found.differences:
        print_text("The scenarios are equal.")
    several = len(names) > 2
    rows = [_row(metric, several=several) for metric in found.metrics if _is_shown(metric)]
    figures = sorted(found.machine_figures, key=lambda one: "user" not in one.kinds)
    print_tables(
        ("differs", names, [(one.key, *map(str, one.values)) for one in found.differences]),
        ("figure of the machine", names, list(map(figure_row, figures[:MOST_FIGURES]))),
        ("figure", [*names, *([] if several else ["ratio"])], rows),
    )
    if len(figures) > MOST_FIGURES:
        text = " ".join(repr(name) if " " in name else name for name in _machine_names(found))
        print_text(f"{len(figures) - MOST_FIGURES} more figures of the machines differ: gpusim machine {text}")
    for side, machine in zip(found.sides, found.machines, strict=True):
        if side.result is not None and machine is None:
            digest = str(side.result.machine.get("digest", ""))[:12]
            print_text(f"{side.name}: the figures of its machine ({digest}) are no longer at hand")
    for name, bound in zip(names, found.bounds, strict=True):
        if bound:
            print_text(f"{name}: {bound}")
    for name, side in zip(names, found.sides, strict=True):
        why = "" if side.result is None else not_compiled(side.result)
        if why:
            print_text(f"{name}: the streams are estimated, since {why}")


def _machine_names(found: Comparison) -> list[str]:
    """Return the machines of the sides, as ``gpusim machine`` takes them."""
    return list(dict.fromkeys(str(side.result.scenario["machine"]) for side in found.sides if side.result is not None))


def _row(metric: Metric, *, several: bool) -> tuple[str, ...]:
    """Return a figure's name, its values, and the ratio to the first: in a column, or beside each of several."""
    unit = f", {metric.unit}" if metric.unit and metric.unit != "share" else ""
    first, *others = (_value(metric, value) for value in metric.values)
    ratios = [_ratio(ratio) for ratio in metric.ratios[1:]]
    if several:
        return (
            metric.name + unit,
            first,
            *(own if own == first else f"{own} ({x}x)" for own, x in zip(others, ratios, strict=True)),
        )
    return metric.name + unit, first, *others, *ratios


def _is_shown(metric: Metric) -> bool:
    """Return whether a figure is printed: it is not zero in all sides, and no small stall reason."""
    least = LEAST_STALL if metric.unit == "share" else 0
    return any(value is not None and abs(value) > least for value in metric.values)


def _value(metric: Metric, value: float | None) -> str:
    if value is None:
        return "-"
    if metric.unit == "share":
        return f"{100 * value:.1f} %"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"


def _ratio(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.3f}"
