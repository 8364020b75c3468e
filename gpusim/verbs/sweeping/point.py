"""One point of a sweep: the scenario with its settings, simulated, as one row of the table."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from gpusim.arguments import overrides_of, plain_table, refusal
from gpusim.errors import GpusimError
from gpusim.families.registry import family_of, scenario_of
from gpusim.machine.changes import MachineChoice, read_choice
from gpusim.machine.load import is_path, load_machine
from gpusim.results.result import NOT_COMPILED, Result
from gpusim.scenario import read
from gpusim.scenario.catalogue import find_scenario
from gpusim.scenario.cutlass_name import parse_name
from gpusim.scenario.models import Scenario, is_scenario
from gpusim.scenario.read import Text
from gpusim.scenario.text import toml_value
from gpusim.sim.stall_reasons import REASONS
from gpusim.verbs.load import ScenarioSource, is_kernel_name
from gpusim.verbs.simulate import simulate

PointRow: TypeAlias = dict[str, Any]
"""The figures of a point, by column; a refused point has only ``error``."""

STALL_COLUMNS: Final = {reason: f"stall_{reason}" for reason in REASONS}

POINT_FIGURES: Final = (
    *("cycles", "active_cycles", "time_us", "tflops", "waves", "ctas_per_sm", "occupancy", "registers"),
    *("shared_bytes", "bank_conflicts", "bound", "bound_utilisation"),
    *STALL_COLUMNS.values(),
    *("stream", "sampled", "error"),
)
"""Columns of the table after the keys of the axes."""


@dataclass(frozen=True, slots=True)
class Base:
    """
    The common part of all points of a sweep: a scenario as written, which may be illegal without a point's settings.

    Attributes:
        data: Data as ``tomllib`` reads it. A machine's path is absolute.
        name: Name of the scenario; empty if it has none.
        exact: True simulates every CTA, False samples; None chooses by the number of warp instructions.
        stream: Origin of the instruction streams.
    """

    data: dict[str, Any]
    name: str
    exact: bool | None = None
    stream: str = "auto"

    def scenario(self, settings: Mapping[str, Any]) -> Scenario:
        """
        Return the scenario of a point.

        Raises:
            BadInput: It breaks a rule.
        """
        texts = [f"{key}={toml_value(value)}" for key, value in {**self._figures(settings), **settings}.items()]
        return scenario_of(self.data, texts, self.name)

    def _figures(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the changed figures of the common machine, if a point sets the machine itself."""
        if not isinstance(settings.get("machine"), str) or not isinstance(self.data.get("machine"), str):
            return {}
        own = read_choice(settings["machine"]).figures
        shared = read_choice(self.data["machine"]).figures
        return {f"machine.{key}": value for key, value in shared.items() if key not in own}


def base_of(
    source: ScenarioSource, overrides: Iterable[str] = (), *, exact: bool | None = None, stream: str = "auto"
) -> Base:
    """
    Return the common part of the points of a sweep.

    Args:
        source: The scenario, as ``load`` takes it.
        overrides: Settings ``key=value`` for all points.
        exact: As in ``simulate``.
        stream: As in ``simulate``.

    Raises:
        BadInput: There is no such file or name, or an override puts a value where a table is needed.
    """
    settings = overrides_of(overrides)
    if isinstance(source, str | Path):
        text = _text(str(source), settings)
    elif isinstance(source, Mapping):
        text = read.overridden(plain_table("scenario", source), "scenario", settings, Path())
    elif is_scenario(source):
        text = read.overridden(source.written(), source.name or "scenario", settings, Path(), source.name)
    else:
        raise refusal("scenario", "a file, the name of a shipped one, data, or a scenario", source)
    data = dict(text.data)
    machine = data.get("machine")
    choice = read_choice(machine) if isinstance(machine, str) else None
    if choice is not None and is_path(choice.base):
        data["machine"] = str(MachineChoice(str((text.folder / choice.base).absolute()), choice.figures))
    return Base(data, text.name, exact, stream)


def _text(source: str, overrides: Iterable[str]) -> Text:
    if not is_kernel_name(source):
        return read.read_text(find_scenario(source), overrides)
    data = parse_name(source)
    data["kernel"]["code"] = "cutlass"
    return read.overridden(data, source, overrides, Path(), source)


def point_row(base: Base, settings: Mapping[str, Any]) -> PointRow:
    """Simulate one point, and return its row. The row of a refused point has an ``error``."""
    try:
        scenario = base.scenario(settings)
        result, _ = simulate(scenario, exact=base.exact, stream=base.stream)
    except (GpusimError, MemoryError) as error:
        return {"error": " ".join(str(error).split()) or "out of memory"}
    return figures_of(scenario, result)


def figures_of(scenario: Scenario, result: Result) -> PointRow:
    """Return the figures of a simulated point by column."""
    family = family_of(scenario)
    if family.has("simulated"):
        warps = family.simulations.warps(scenario)
    else:
        warps = family.schedules.kernels(scenario)[0].lanes().warps
    most = load_machine(scenario.machine).limits.max_warps
    return {
        "cycles": result.cycles.elapsed,
        "active_cycles": result.cycles.active,
        "time_us": result.time_us,
        "tflops": result.tflops,
        "waves": result.waves,
        "ctas_per_sm": result.ctas_per_sm,
        "occupancy": round(result.ctas_per_sm * warps / most, 4),
        "registers": result.registers_per_thread,
        "shared_bytes": result.shared_bytes,
        "bank_conflicts": sum(row.conflicts for row in result.bank_conflicts),
        "bound": result.bound["resource"],
        "bound_utilisation": result.bound["utilisation"],
        **{column: round(result.stalls.get(reason, 0.0), 6) for reason, column in STALL_COLUMNS.items()},
        "stream": result.stream,
        "sampled": result.simulated.sampled,
        **({NOT_COMPILED: result.provenance[NOT_COMPILED]} if NOT_COMPILED in result.provenance else {}),
    }


def about_streams(rows: Iterable[PointRow]) -> str:
    """Return a sentence about rows with estimated streams although a compiler is installed; empty without such rows."""
    found = [row for row in rows if "error" not in row]
    refused = [row[NOT_COMPILED] for row in found if NOT_COMPILED in row]
    return f"{len(refused)} of {len(found)} have estimated streams, the first since {refused[0]}" if refused else ""
