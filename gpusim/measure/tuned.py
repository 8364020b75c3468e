"""Measures the best configurations of a tuning on the GPU at hand: one cold launch each, in Nsight Compute."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gpusim.errors import CannotRun
from gpusim.families.registry import scenario_of
from gpusim.gpu import counters, device
from gpusim.measure.measure import Say
from gpusim.results.result import ELAPSED
from gpusim.scenario.text import toml_value, write_toml
from gpusim.verbs.tune import Ranked, Tuning


def measured(tuning: Tuning, best: int, say: Say = lambda _: None) -> Tuning:
    """
    Return a tuning with the measured cycles of its first configurations.

    Args:
        tuning: The tuning.
        best: Number of configurations to measure.
        say: Called with a line before they are measured.

    Raises:
        CannotRun: CuPy, a GPU or ncu is missing, ncu may not profile here, or nothing could be launched.
    """
    device.import_cupy()
    first = tuning.ranking[:best]
    say(f"measuring {len(first)} configurations")
    with TemporaryDirectory() as folder:
        files = [_written(one, tuning.scenario, Path(folder)) for one in first]
        profiles = counters.profile_scenarios(files, Path(folder) / "ncu", ["--metrics", ELAPSED])
    cycles = {
        one.name: profiles[file.stem].counters[ELAPSED]
        for one, file in zip(first, files, strict=True)
        if file.stem in profiles
    }
    if not cycles:
        raise CannotRun("none of the best configurations could be launched on this GPU")
    return tuning.with_measured(cycles)


def _written(one: Ranked, scenario: dict[str, Any], folder: Path) -> Path:
    """Write a configuration as a scenario file, and return its path."""
    problem = {key: value for key, value in scenario["problem"].items() if key not in {"split_k_slices", "split_k"}}
    settings: Sequence[str] = [f"{key}={toml_value(value)}" for key, value in one.settings.items()]
    resolved = scenario_of({"machine": scenario["machine"], "problem": problem}, settings).resolved()
    path = folder / f"rank_{one.rank}.toml"
    path.write_text(write_toml(resolved), encoding="utf-8")
    return path
