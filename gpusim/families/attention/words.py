"""Describes attention in words, for tables and pictures."""

from gpusim.families.attention.problem import AttentionScenario
from gpusim.report.captions import Words, types_in_words


def words(scenario: AttentionScenario) -> Words:
    """Return the description of a scenario: heads, lengths and mask; mainloop, block and stages."""
    problem, data = scenario.problem, scenario.resolved()
    heads = f"{problem.batch} x {problem.heads} heads of {problem.head_dim}x{problem.head_dim_v}"
    parts = [f"{scenario.kind} {heads}, {problem.queries} queries, {problem.keys} keys"]
    if problem.mask != "none":
        parts.append(f"{problem.mask.replace('_', ' ')} mask")
    parts += ["ragged"] if problem.query_lengths or problem.key_lengths else []
    kernel = [scenario.kernel.mainloop, f"{scenario.queries_per_block} queries x {scenario.keys_per_block} keys"]
    kernel += ["mma m{}n{}k{}".format(*scenario.instruction), f"{scenario.stages} stages"]
    return Words(", ".join([*parts, types_in_words(data["problem"]["dtype"])]), ", ".join(kernel))
