"""An explanation in plain sentences with figures. It computes only shares of its arguments."""

from collections.abc import Sequence
from typing import Final

from gpusim.results.bound import Bound
from gpusim.results.resources import Resource
from gpusim.results.result import Result
from gpusim.verbs.explanation.losses import IDLE_SMS, PADDING, TAIL, Budget
from gpusim.verbs.explanation.residency import Residency
from gpusim.verbs.explanation.schedules import WhatIf

MOST: Final = 50.0
"""Share, per cent, from which a sentence says "most"."""

_LIMITERS: Final = {
    "warps": "the warps it can hold allow",
    "ctas": "the CTAs it can hold allow",
    "registers": "its registers allow",
    "barriers": "its barriers allow",
    "shared_memory": "its shared memory allows",
}

_NAMED: Final = 4
"""Resources that a sentence names."""


def verdict(result: Result, shares: Budget, bound: Bound, *, working: int, sms: int) -> str:
    """
    Return in one sentence what limits a kernel.

    Idle SMs and padding come before the losses of busy SMs: they slow a kernel however well the rest runs.

    Args:
        result: The result.
        shares: Division of the time.
        bound: The kernel's bound.
        working, sms: SMs that have a CTA, and all.
    """
    parts = []
    if shares.of(IDLE_SMS) >= MOST:
        leave = f"leave{_s(result.ctas)} {sms - working} without work"
        parts.append(f"most SMs idle: {_number(result.ctas, 'CTA')} on {sms} SMs {leave}")
    if 100 * (1 - shares.tile_efficiency) >= MOST:
        parts.append(f"{100 * (1 - shares.tile_efficiency):.0f} % of the multiplications are padding of the tile")
    if not parts and not bound.reason:
        where = " where and while there is work" if bound.of_active else ""
        return _sentence([f"{bound.resource} is the limit, at {bound.percent:.0f} % of its peak{where}"])
    what, percent = _largest_on_busy_sms(shares)
    if bound.reason and not parts:
        parts.append(
            f"no resource is busy for 60 % of its peak; warps wait longest for the {bound.resource} "
            f"({bound.reason}, {bound.percent:.0f} % of their cycles)"
        )
    parts.append(f"where there is work, {percent:.0f} % of the time goes to {what}")
    return _sentence(parts)


def _largest_on_busy_sms(shares: Budget) -> tuple[str, float]:
    """Return the largest loss of the SMs that have work, and its share of their time, per cent."""
    own = [one for one in shares.losses if one.what not in (IDLE_SMS, PADDING)]
    largest = max(own, key=lambda one: one.percent)
    return largest.what, 100 * largest.percent / (100 - shares.of(IDLE_SMS))


def sentences(
    result: Result,
    shares: Budget,
    used: Sequence[Resource],
    holds: Residency,
    changes: Sequence[WhatIf],
    *,
    working: int,
    sms: int,
    axes: str,
) -> tuple[str, ...]:
    """
    Return the explanation, one sentence for each topic.

    Args:
        result: The result.
        shares: Division of the time.
        used: Use of the resources, the most used first.
        holds: CTAs that an SM holds.
        changes: What-if changes, the largest gain first.
        working, sms: SMs that have a CTA, and all.
        axes: Extents and tiles, in words; empty if the kernel has no such tile.
    """
    named = ", ".join(f"{one.name} {one.percent:.0f} %" for one in used[:_NAMED])
    told = [
        (
            f"{working} of {sms} SMs {'has' if working == 1 else 'have'} a CTA; {shares.of(IDLE_SMS):.1f} % of the "
            f"machine's time goes to SMs without one"
        ),
        (
            f"the grid of {_number(result.ctas, 'CTA')} is {result.waves:,.2f} waves; SMs that end before the last "
            f"cost {shares.of(TAIL):.1f} %"
        ),
        f"{100 * shares.tile_efficiency:.1f} % of what the tensor cores multiply lies inside the problem"
        + (f" ({axes})" if axes else ""),
        (
            f"an SM holds {_number(holds.ctas_per_sm, 'CTA')}, {holds.warps} of {holds.most_warps} warps; "
            f"{_LIMITERS[holds.limiter]} no more ({result.registers_per_thread} registers a thread, "
            f"{result.shared_bytes:,} bytes of shared memory a CTA)"
        ),
        f"per cent of peak, of all SMs and all the time: {named}",
    ]
    best = next((one for one in changes if one.gain_percent is not None and one.gain_percent > 0), None)
    if best is not None:
        told.append(f"the largest gain of one change, {best.gain_percent:.1f} % of the cycles: {best.change}")
    return tuple(_sentence([one]) for one in told)


def _s(count: int) -> str:
    """Return the ending of a verb whose subject is ``count`` things."""
    return "s" if count == 1 else ""


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _sentence(parts: Sequence[str]) -> str:
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."
