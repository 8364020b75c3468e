"""Describes an sm_90 GEMM in words, for tables and pictures."""

from gpusim.families.hopper.collective import collective_of
from gpusim.families.hopper.problem import HopperScenario
from gpusim.report.captions import Words, types_in_words


def words(scenario: HopperScenario) -> Words:
    """Return the description of a scenario: extents, layouts and types; schedule, tile, cluster and stages."""
    problem, kernel = scenario.problem, scenario.kernel
    batches = f", {problem.l} batches" if problem.l > 1 else ""
    layouts = f"A {problem.layout_a}, B {problem.layout_b}"
    types = types_in_words(problem.dtype.model_dump())
    tile = "x".join(map(str, kernel.tile))
    parts = [kernel.schedule, tile, f"cluster {kernel.cluster[0]}x{kernel.cluster[1]}"]
    return Words(
        f"{scenario.kind} {problem.m}x{problem.n}x{problem.k}{batches}, {layouts}, {types}",
        ", ".join([*parts, f"{collective_of(scenario).stages} stages", f"{kernel.walk} tiles"]),
    )
