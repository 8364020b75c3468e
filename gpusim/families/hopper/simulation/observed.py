"""The timeline of a watched CTA: stall reasons of its warps, waits at mbarriers and wgmma of its k tiles."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from gpusim.families.hopper.simulation.instructions import LOGGED, RING_NAMES
from gpusim.results.timeline import KTileSpan, Timeline, WarpSpan
from gpusim.sim.code import Decoded
from gpusim.sim.columns import rows_of
from gpusim.sim.core.chip import Chip
from gpusim.sim.core.constants import MBARRIER, NOTE_WIDTH, RELEASED, RETIRED, SPAN_WIDTH
from gpusim.sim.cta_scheduler import CtaLife
from gpusim.sim.stall_reasons import REASONS

_FULL = RING_NAMES.index("mainloop.full")
_WAIT, _MMA = LOGGED


def timeline_of(code: Sequence[Decoded], chip: Chip, lives: Sequence[CtaLife], watched: int, stages: int) -> Timeline:
    """
    Return the timeline of a watched CTA.

    A consumer's k tile is waited for at its full barrier ("wait"), then multiplied ("mma"): from the issue of its first
    wgmma to the end of its last.

    Args:
        code: All instructions.
        chip: The SMs after the run.
        lives: The CTAs.
        watched: The CTA that was watched.
        stages: Slots of the ring.
    """
    begin = next(life.launched for life in lives if life.cta == watched)
    notes = rows_of(chip.notes.column, NOTE_WIDTH)
    notes = notes[np.lexsort((notes[:, 3], notes[:, 0]))]
    smsp = {warp: at for warp, place, at, *_ in notes.tolist() if place == RETIRED}
    rows = rows_of(chip.spans.column, SPAN_WIDTH)
    rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
    warps = tuple(
        WarpSpan(watched, warp, smsp.get(warp, 0), first - begin, end - begin, REASONS[reason])
        for warp, first, end, reason in rows.tolist()
    )
    return Timeline(warps, tuple(_k_tiles(code, notes.tolist(), begin, watched, stages)))


def _k_tiles(
    code: Sequence[Decoded], notes: Sequence[Sequence[int]], begin: int, watched: int, stages: int
) -> list[KTileSpan]:
    found: list[KTileSpan] = []
    count = Counter[int]()
    waiting: dict[int, int] = {}
    multiplied: dict[int, tuple[int, int]] = {}

    def close(warp: int) -> None:
        if warp in multiplied:
            first, last = multiplied.pop(warp)
            k_tile = count[warp] - 1
            found.append(KTileSpan(watched, warp, k_tile, -1, k_tile % stages, _MMA, first - begin, last - begin))

    for warp, place, _, at, landed, _ in notes:
        if place == RETIRED:
            close(warp)
        elif place == RELEASED:
            if warp in waiting:
                k_tile, first = count[warp] - 1, waiting.pop(warp)
                span = KTileSpan(watched, warp, k_tile, -1, k_tile % stages, _WAIT, first - begin, at - begin)
                found.append(span)
        elif code[place].kind == MBARRIER:
            waiting.pop(warp, None)
            if code[place].k_group == _FULL:
                close(warp)
                count[warp] += 1
                waiting[warp] = at
        else:
            first, last = multiplied.get(warp, (at, landed))
            multiplied[warp] = first, max(last, landed)
    return found
