"""Ranks stall reasons for tables and charts: the largest share first."""

from gpusim.results.result import Result

LEAST_SHOWN = 0.001


def percent(share: float) -> str:
    """Return a share (0 to 1) as text, to a tenth of a percent."""
    return f"{100 * share:.1f} %" if share >= LEAST_SHOWN else "< 0.1 %"


def ranked_stalls(result: Result) -> list[tuple[str, float]]:
    """Return the reasons with any cycle and their shares, the largest first; equal shares are sorted by name."""
    taken = ((reason, share) for reason, share in result.stalls.items() if share > 0)
    return sorted(taken, key=lambda pair: (-pair[1], pair[0]))
