"""Knows the counts of attention that may differ from the hardware's, and the reasons."""

from gpusim.families.attention.problem import AttentionScenario
from gpusim.records.check import GLOBAL_LOADS, GLOBAL_STORES, SUMS


def latitude(scenario: AttentionScenario, source: str, *, fewer: bool) -> str:
    """Return the reason why a count may differ from the measured one; empty if it must not."""
    if source in GLOBAL_STORES and fewer:
        return "clipped warps branch around their stores (D26)"
    if not scenario.problem.ragged:
        return ""
    if source in GLOBAL_LOADS and not fewer:
        return "every warp reads the lengths of its batch"
    return "warps past a batch's length branch around their loads (D26)" if source in SUMS and fewer else ""
