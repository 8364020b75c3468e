"""What a timing run observed, for pictures and traces: spans of warps, copies in flight, MMA bursts."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WarpSpan:
    """
    A stretch of one warp's life in one stall reason ("selected" when it issued).

    The spans of a warp tile its lifetime without a gap.

    Attributes:
        warp: Warp index within the CTA.
        cta: CTA index in launch order.
        smsp: Sub-partition the warp lives on.
        begin: First cycle, from the launch of the SM's first CTA.
        end: One past the last cycle.
        reason: ncu's stall name.
    """

    cta: int
    warp: int
    smsp: int
    begin: int
    end: int
    reason: str


@dataclass(frozen=True, slots=True)
class KTileSpan:
    """
    One activity of one warp for one k tile.

    Attributes:
        activity: "copy" (first copy, or global load, issued to data landed in shared memory), "wait" (wait_group, or
            the stores of a pipelined mainloop, and barrier),
            "ldmatrix" (first fragment load issued to last landed), "mma" (first issued to last done). Of attention,
            whose ``k_tile`` is a key block's place in the walk: "copy_q", "copy_k", "copy_v", "qk", "softmax", "pv",
            "output" (a stretch of each without a wait), and "wait_qk", ... for a wait within one.
        k_group: The k group, or -1 where the activity spans the k tile.
    """

    cta: int
    warp: int
    k_tile: int
    k_group: int
    stage: int
    activity: str
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """Spans of the observed CTA: CTA 0, of attention the first of those with most key blocks."""

    warps: tuple[WarpSpan, ...]
    k_tiles: tuple[KTileSpan, ...]
