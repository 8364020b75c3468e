"""The scenarios that are measured on hardware, by name: loaded once for all tests that look at them."""

from functools import cache

from gpusim.families.registry import load_scenario
from gpusim.scenario.catalogue import recordable_scenarios
from gpusim.scenario.models import Scenario


@cache
def recordable() -> dict[str, Scenario]:
    """Every recordable scenario by the name of its file; to be read only."""
    return {path.stem: load_scenario(path) for path in recordable_scenarios()}
