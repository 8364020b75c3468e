"""``gpusim explain``: prints a kernel's bound, the division of the machine's time, and helpful changes."""

from pathlib import Path

from gpusim.commands.options.explain import ExplainOptions
from gpusim.commands.output import print_json, print_text, progress
from gpusim.commands.own.explain import print_kernel_explanation
from gpusim.commands.scenario_source import read_question, scenario_text
from gpusim.errors import BadInput
from gpusim.report.captions import not_compiled
from gpusim.report.tables import print_tables
from gpusim.results.kernel_result import load_kernel_result
from gpusim.results.run_directory import RESULT, is_own_run, read_run
from gpusim.scenario.own_kernel import KernelQuestion
from gpusim.verbs.explain import Explanation, explain
from gpusim.verbs.explanation.conflicts import Collision
from gpusim.verbs.explanation.schedules import WhatIf

LEAST_LOSS = 0.05
"""Least loss that is printed."""


def print_explanation(options: ExplainOptions) -> None:
    """
    Explain a run directory, a scenario's file or name, or a kernel's name, and print it.

    Raises:
        BadInput: It is none of these, or ``--set`` or ``--stream`` is given with a run.
        CannotRun: Streams are to be compiled, but one is not shipped and no compiler is installed.
    """
    what, overrides, exact = options.what, options.overrides, options.exact
    is_folder = what is not None and options.cutlass is None and Path(what).is_dir()
    text = what if what is not None and is_folder else scenario_text(what, options.cutlass)
    if (Path(text) / RESULT).is_file():
        if overrides:
            raise BadInput("--set changes a scenario; a run directory is explained as it was simulated")
        if is_own_run(text):
            print_kernel_explanation(load_kernel_result(Path(text) / RESULT), as_json=options.as_json)
            return
        found = explain(read_run(Path(text))[0], exact=exact, progress=progress)
    else:
        scenario = read_question(text, overrides)
        if isinstance(scenario, KernelQuestion):
            from gpusim.python.question import answer  # a scenario that gpusim schedules does not need it

            print_kernel_explanation(answer(scenario, progress=progress).result, as_json=options.as_json)
            return
        found = explain(scenario, exact=exact, stream=options.stream, progress=progress)
    if options.as_json:
        print_json(found.to_dict())
    else:
        _print(found)


def _print(found: Explanation) -> None:
    print_text(found.verdict)
    print_text("\n" + "\n".join(found.sentences))
    why = not_compiled(found.result)
    if why:
        print_text(f"\nThe streams are estimated, since {why}")
    losses = [(one.what, f"{one.percent:.1f}") for one in found.budget.losses if one.percent >= LEAST_LOSS]
    used = [(one.name, f"{one.percent:.1f}", f"{one.percent_active:.1f}") for one in found.resources]
    print_text("")
    print_tables(
        ("where the time of all SMs goes", ["%"], [*losses, ("useful multiplications", f"{found.budget.useful:.1f}")]),
        ("resource", ["% of peak", "% while active"], used),
        ("what if", ["cycles", "gain %"], [_what_if_row(one) for one in found.what_if]),
    )
    for collision in found.conflicts:
        print_text("\n".join(_collision_lines(collision)) + "\n")
    if found.conflicts:
        print_text("ncu's counters:")
    for counter in found.counters if found.conflicts else ():
        value = "-" if counter.value is None else f"{counter.value:,}"
        print_text(f"  {counter.metric} {value} ({counter.kind}): {counter.meaning}")


def _what_if_row(one: WhatIf) -> tuple[str, str, str]:
    if one.cycles is None:
        return f"{one.change} (not simulated: {one.refused})", "-", "-"
    if one.because and round(one.gain_percent or 0, 1) < 0:
        return f"{one.change} ({one.because})", f"{one.cycles:,}", f"{one.gain_percent:.1f}"
    return one.change, f"{one.cycles:,}", f"{abs(one.gain_percent or 0):.1f}"


def _collision_lines(one: Collision) -> list[str]:
    who = ", ".join(f"{lane} at {address}" for lane, address in zip(one.lanes, one.addresses, strict=True))
    lines = [
        f"{one.op} {one.operand}: {one.conflicts:,} conflicts over the grid. The worst: {one.ways} wavefronts for one",
        f"  phase {one.phase} of warp {one.warp}, banks {', '.join(map(str, one.banks))}: lane {who}",
    ]
    lines += [
        f"  --set {fix.setting}: {fix.conflicts:,} conflicts, {fix.shared_bytes:+,} bytes, "
        f"{fix.instructions} integer instructions an address"
        for fix in one.fixes
    ]
    return lines
