"""Knows which counts of a GEMM or convolution may differ from the hardware's, and why."""

from gpusim.records.check import GLOBAL_LOADS, GLOBAL_STORE_SECTORS, GLOBAL_STORES, SUMS
from gpusim.scenario.gemm import GemmScenario


def latitude(scenario: GemmScenario, source: str, *, fewer: bool) -> str:
    """
    Return why a count may differ from the measured one; empty if it must not.

    The semaphore of serial split-K polls its flag until the previous slice is done. A warp whose rows or columns are
    all clipped may branch around its last global stores. If nothing is computed between them, the loads of the sums
    that it would store are skipped, too (D26).

    Args:
        scenario: The measured scenario.
        source: Origin of the measured count: an ncu metric, a SASS opcode, or another name.
        fewer: Whether the measured count is lower than the expected one.
    """
    problem = scenario.problem
    polls = GLOBAL_LOADS | GLOBAL_STORES | {GLOBAL_STORE_SECTORS}
    if problem.split_k_slices > 1 and not problem.reduces and source in polls:
        return "the semaphore of serial split-K polls its flag"
    if source in GLOBAL_STORES and fewer:
        return "clipped warps branch around their stores (D26)"
    if source in SUMS and problem.reduces and fewer:
        return "clipped warps branch around the loads of the sums they do not store (D26)"
    return ""
