"""Numbers Nsight Compute's warp stall reasons."""

from collections.abc import Mapping

REASONS = (
    "selected",
    "wait",
    "short_scoreboard",
    "long_scoreboard",
    "barrier",
    "math_pipe_throttle",
    "mio_throttle",
    "lg_throttle",
    "not_selected",
    "branch_resolving",
    "no_instruction",
    "imc_miss",
    "drain",
    "dispatch_stall",
    "membar",
    "sleeping",
    "gmma",
)
"""Names of the stall reasons in ncu. The position of a name is its index in ``Warp.stalls``."""

(
    SELECTED,
    WAIT,
    SHORT_SCOREBOARD,
    LONG_SCOREBOARD,
    BARRIER,
    MATH_PIPE_THROTTLE,
    MIO_THROTTLE,
    LG_THROTTLE,
    NOT_SELECTED,
    BRANCH_RESOLVING,
    NO_INSTRUCTION,
    IMC_MISS,
    DRAIN,
    DISPATCH_STALL,
    MEMBAR,
    SLEEPING,
    GMMA,
) = range(17)

REASON_COUNT = len(REASONS)
"""Number of stall reasons."""


def shares(cycles: Mapping[str, int]) -> dict[str, float]:
    """Return the share of each reason in all warp cycles, 0 to 1, largest first; equal shares are sorted by name."""
    total = sum(cycles.values())
    return {
        reason: round(of_reason / total, 5)
        for reason, of_reason in sorted(cycles.items(), key=lambda item: (-item[1], item[0]))
    }
