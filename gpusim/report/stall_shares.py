"""The order in which stalls are shown: largest share first, for tables and charts alike."""

from gpusim.results.result import Result

LEAST_SHOWN = 0.001


def percent(share: float) -> str:
    """A share in words, to a tenth of a percent."""
    return f"{100 * share:.1f} %" if share >= LEAST_SHOWN else "< 0.1 %"


def ranked_stalls(result: Result) -> list[tuple[str, float]]:
    """Reasons that took any cycle, largest share first; equal shares by name."""
    taken = ((reason, share) for reason, share in result.stalls.items() if share > 0)
    return sorted(taken, key=lambda pair: (-pair[1], pair[0]))
