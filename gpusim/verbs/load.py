"""Loads a scenario from a file, a shipped name, the name of a CUTLASS kernel, or plain data."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from gpusim.arguments import overrides_of, refusal
from gpusim.families.registry import any_named_scenario, load_scenario, scenario_of
from gpusim.scenario.catalogue import find_scenario
from gpusim.scenario.cutlass_name import PREFIX
from gpusim.scenario.models import Scenario, is_scenario

ScenarioSource: TypeAlias = Scenario | str | Path | Mapping[str, Any]
"""Source of a scenario; ``load`` says how each type is read."""


def load(source: ScenarioSource, overrides: Iterable[str] = ()) -> Scenario:
    """
    Load and validate a scenario.

    Args:
        source: The path of a TOML file; the name of a shipped scenario; the name of a kernel, as CUTLASS's profiler
            prints it; data as ``tomllib`` returns it, in which numbers may be NumPy's; or a scenario.
        overrides: Settings ``key=value``, as the command line's ``--set`` takes them. The last one for a key counts.

    Raises:
        BadInput: There is no such file, name or key, or a check does not hold. The message is one line.

    >>> load("gemm_ragged", ["kernel.stages=4"]).kind
    'gemm'
    """
    settings = overrides_of(overrides)
    if isinstance(source, str | Path):
        text = str(source)
        if is_kernel_name(text):
            return any_named_scenario(text, settings)
        return load_scenario(find_scenario(text), settings)
    if isinstance(source, Mapping):
        return scenario_of(source, settings)
    if not is_scenario(source):
        raise refusal("scenario", "a file, the name of a shipped one, data, or a scenario", source)
    return scenario_of(source.written(), settings, source.name) if settings else source


def is_kernel_name(text: str) -> bool:
    """Return whether a text is a kernel's name: it begins like one and is not a file."""
    return text.startswith(PREFIX) and not text.endswith(".toml") and not Path(text).exists()
