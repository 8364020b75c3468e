"""What the overlap chart shows, as numbers: slot fills and reads, waits, loads and MMA of one warp, and the phases."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from gpusim.results.result import PipelineRow
from gpusim.results.timeline import KTileSpan, Timeline

EDGE_TILES = (6, 5)
"""k tiles drawn at each end of a mainloop too long to draw whole."""


@dataclass(frozen=True, slots=True)
class Block:
    """Cycles [begin, end) that belong to one k tile (and k group, or -1)."""

    k_tile: int
    k_group: int
    stage: int
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class SlotFill:
    """
    One filling of one stage slot, in cycles from the CTA's start.

    Attributes:
        landed: When the data was there, or None where it could not be observed (then by ``wait_end`` at the latest).
        read_begin: First fragment load of the k tile (first MMA where loads were not observed).
        read_end: One past the last cycle that reads the slot.
    """

    k_tile: int
    stage: int
    issue: int
    landed: int | None
    wait_end: int
    read_begin: int
    read_end: int


@dataclass(frozen=True, slots=True)
class Phases:
    """Cycles at which the prologue ends, the drain (k tiles that issue no copy) begins, and the last MMA is done."""

    mainloop: int
    drain: int
    end: int


@dataclass(frozen=True, slots=True)
class WarpPipeline:
    """
    One warp's k tiles, in k tile order, in cycles from the CTA's start.

    Attributes:
        loads: Fragment loads by k group; empty where only pipeline rows are known.
        mma: MMA bursts, by k group where known.
    """

    fills: tuple[SlotFill, ...]
    waits: tuple[Block, ...]
    loads: tuple[Block, ...]
    mma: tuple[Block, ...]

    @property
    def k_tiles(self) -> int:
        """k tiles consumed."""
        return len(self.fills)

    def phases(self, stages: int) -> Phases:
        """Prologue to the first wait's end; the drain is the last ``stages - 1`` k tiles."""
        first_drained = self.fills[max(0, self.k_tiles - (stages - 1))].k_tile
        return Phases(
            mainloop=self.waits[0].end,
            drain=min(block.begin for block in self.mma if block.k_tile == first_drained),
            end=max(block.end for block in self.mma),
        )

    def steady_interval(self) -> int:
        """Median cycles from the first MMA of a k tile to the next one's; 0 for a single k tile."""
        begins = sorted(self.tile_extents().values())
        steps = [after[0] - before[0] for before, after in pairwise(begins)]
        return int(median(steps)) if steps else 0

    def tile_extents(self) -> dict[int, tuple[int, int]]:
        """k tile -> (first MMA cycle, one past the last)."""
        extents: dict[int, tuple[int, int]] = {}
        for block in self.mma:
            begin, end = extents.get(block.k_tile, (block.begin, block.end))
            extents[block.k_tile] = (min(begin, block.begin), max(end, block.end))
        return extents

    def mma_runs(self, gap: int) -> dict[int, list[tuple[int, int]]]:
        """k tile -> its stretches of MMA, bursts at most ``gap`` cycles apart joined."""
        runs: dict[int, list[tuple[int, int]]] = {}
        for block in self.mma:
            own = runs.setdefault(block.k_tile, [])
            if own and block.begin - own[-1][1] <= gap:
                own[-1] = (own[-1][0], max(own[-1][1], block.end))
            else:
                own.append((block.begin, block.end))
        return runs

    def windows(self, limit: int) -> tuple[tuple[int, int], ...]:
        """
        The stretches of cycles to draw: everything when there are at most ``limit`` k tiles, else both ends.
        """
        extents = self.tile_extents()
        tiles = sorted(extents)
        end = extents[tiles[-1]][1]
        if len(tiles) <= limit:
            return ((0, end),)
        head, tail = EDGE_TILES
        return ((0, extents[tiles[head - 1]][1]), (extents[tiles[-tail]][0], end))


def from_rows(rows: Sequence[PipelineRow]) -> WarpPipeline:
    """The pipeline of result.json's rows: no fragment loads, one MMA block a k tile."""
    rows = sorted(rows, key=lambda row: row.k_tile)
    return WarpPipeline(
        fills=tuple(
            SlotFill(row.k_tile, row.stage, row.copy_issue, row.copy_done, row.wait_end, row.mma_begin, row.mma_end)
            for row in rows
        ),
        waits=tuple(Block(row.k_tile, -1, row.stage, row.wait_begin, row.wait_end) for row in rows),
        loads=(),
        mma=tuple(Block(row.k_tile, -1, row.stage, row.mma_begin, row.mma_end) for row in rows),
    )


def from_timeline(timeline: Timeline, rows: Sequence[PipelineRow]) -> WarpPipeline:
    """
    The pipeline of warp 0 of the observed CTA: the rows, refined by the spans the timeline has.

    Copies past the last k tile bring nothing and loads past it are never consumed: neither is drawn.
    """
    coarse = from_rows(rows)
    cta = min((span.cta for span in timeline.k_tiles), default=0)
    consumed = {row.k_tile for row in rows}
    own = [span for span in timeline.k_tiles if span.cta == cta and span.warp == 0 and span.k_tile in consumed]
    loads = _blocks(own, "ldmatrix")
    return WarpPipeline(
        fills=tuple(_read_by(fill, loads) for fill in coarse.fills),
        waits=_blocks(own, "wait") or coarse.waits,
        loads=loads,
        mma=_blocks(own, "mma") or coarse.mma,
    )


def _blocks(spans: Iterable[KTileSpan], activity: str) -> tuple[Block, ...]:
    blocks = (
        Block(span.k_tile, span.k_group, span.stage, span.begin, span.end)
        for span in spans
        if span.activity == activity
    )
    return tuple(sorted(blocks, key=lambda block: (block.begin, block.k_tile, block.k_group)))


def _read_by(fill: SlotFill, loads: Sequence[Block]) -> SlotFill:
    reads = [block for block in loads if block.k_tile == fill.k_tile]
    if not reads:
        return fill
    begin, end = min(block.begin for block in reads), max(block.end for block in reads)
    return SlotFill(fill.k_tile, fill.stage, fill.issue, fill.landed, fill.wait_end, begin, end)
