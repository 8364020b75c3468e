"""Names the main limit of a run in one sentence, from its result alone; ``gpusim explain`` simulates for more."""

from typing import Final

from gpusim.results.bound import NOTHING
from gpusim.results.result import Result
from gpusim.results.stall_words import STALL_WORDS
from gpusim.results.use import Use

_MOST: Final = 0.5
_UNEVEN: Final = 0.25
_OLDER: Final = "latency"
"""The bound in older results, which do not name the stall reason."""


def verdict(result: Result, use: Use) -> str:
    """
    Return the main limit of a run, in one sentence.

    SMs without work, a nearly empty last wave, and padding come first: they slow a kernel however busy a resource is.

    Args:
        result: The run.
        use: The run's use of its machine.
    """
    parts = []
    if use.idle_sms > use.sms * _MOST:
        parts.append(f"{use.idle_sms} of {use.sms} SMs have no CTA")
    elif use.waves > 1 and (1 - use.last_wave) / use.waves > _UNEVEN:
        parts.append(f"the last of {use.waves} waves of CTAs is filled to {_percent(use.last_wave)}")
    # The efficiency follows from a rounded rate: equal kernels must not fall on different sides of one half.
    if use.tile_efficiency is not None and round(1 - use.tile_efficiency, 2) >= _MOST:
        parts.append(f"{_percent(1 - use.tile_efficiency)} of the multiplications are padding of the tile")
    limit = _limit(result)
    parts.append(f"where there is work, {limit}" if parts else limit)
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def _limit(result: Result) -> str:
    """Return the resource that bounds the run, or else the longest wait of warps."""
    bound = result.bound
    if not bound.get("stall") and bound["resource"] not in {NOTHING, _OLDER}:
        time = "time that SMs are active" if bound.get("of_active") else "time"
        return f"the limit is the {bound['resource']}, busy for {_percent(bound['utilisation'])} of the {time}"
    waits = {reason: share for reason, share in result.stalls.items() if STALL_WORDS[reason].waits_for}
    if not waits:
        return "no resource is busy, and no warp waits"
    longest = max(waits, key=lambda reason: (waits[reason], reason))
    return (
        f"no resource is busy; warps wait longest for {STALL_WORDS[longest].waits_for} "
        f"({longest}, {_percent(waits[longest])} of their cycles)"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
