"""Computes the data of the overlap chart: slot fills and reads, waits, fragment loads, MMAs and phases of one warp."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from gpusim.results.result import PipelineRow
from gpusim.results.timeline import KTileSpan, Timeline

EDGE_TILES = (6, 5)
"""Number of k tiles drawn at the beginning and at the end of a long mainloop."""


@dataclass(frozen=True, slots=True)
class Block:
    """The cycles [begin, end) of one activity for a k tile and k group; k group -1 means all of them."""

    k_tile: int
    k_group: int
    stage: int
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class SlotFill:
    """
    The filling and reading of one ring slot by one k tile, in cycles from the CTA's start.

    Attributes:
        issue: Cycle of the first copy.
        landed: Cycle at which the data was in the slot; None if not observed (it is then at most ``wait_end``).
        wait_end: Cycle at which the wait for the k tile ended.
        read_begin: Cycle of the k tile's first fragment load, or of its first MMA if loads were not observed.
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
    """
    The boundaries of a warp's phases, in cycles from the CTA's start.

    Attributes:
        mainloop: End of the prologue.
        drain: Begin of the drain, the k tiles during which no copy is issued.
        end: End of the last MMA.
    """

    mainloop: int
    drain: int
    end: int


@dataclass(frozen=True, slots=True)
class WarpPipeline:
    """
    The k tiles of one warp, in cycles from the CTA's start.

    Attributes:
        fills: Filling and reading of ring slots, in k tile order.
        waits: Waits for k tiles.
        loads: Fragment loads by k group; empty if only pipeline rows are known.
        mma: MMA bursts, by k group if known.
    """

    fills: tuple[SlotFill, ...]
    waits: tuple[Block, ...]
    loads: tuple[Block, ...]
    mma: tuple[Block, ...]

    @property
    def k_tiles(self) -> int:
        """Number of k tiles consumed."""
        return len(self.fills)

    def phases(self, stages: int) -> Phases:
        """Return the phases. The prologue ends with the first wait; the drain has the last ``stages - 1`` k tiles."""
        first_drained = self.fills[max(0, self.k_tiles - (stages - 1))].k_tile
        return Phases(
            mainloop=self.waits[0].end,
            drain=min(block.begin for block in self.mma if block.k_tile == first_drained),
            end=max(block.end for block in self.mma),
        )

    def steady_interval(self) -> int:
        """Return the median cycles from the first MMA of a k tile to that of the next; 0 for a single k tile."""
        begins = sorted(self.tile_extents().values())
        steps = [after[0] - before[0] for before, after in pairwise(begins)]
        return int(median(steps)) if steps else 0

    def tile_extents(self) -> dict[int, tuple[int, int]]:
        """Return the first MMA cycle and one past the last, by k tile."""
        extents: dict[int, tuple[int, int]] = {}
        for block in self.mma:
            begin, end = extents.get(block.k_tile, (block.begin, block.end))
            extents[block.k_tile] = (min(begin, block.begin), max(end, block.end))
        return extents

    def mma_runs(self, gap: int) -> dict[int, list[tuple[int, int]]]:
        """Return the MMA bursts by k tile. Bursts at most ``gap`` cycles apart are joined."""
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
        Return the windows of cycles to draw: all if there are at most ``limit`` k tiles, otherwise both ends.
        """
        extents = self.tile_extents()
        tiles = sorted(extents)
        end = extents[tiles[-1]][1]
        if len(tiles) <= limit:
            return ((0, end),)
        head, tail = EDGE_TILES
        return ((0, extents[tiles[head - 1]][1]), (extents[tiles[-tail]][0], end))


@dataclass(frozen=True, slots=True)
class TensorUse:
    """
    The use of one SMSP's tensor core by the watched CTA's warps on that SMSP.

    Attributes:
        bursts: Begin and end of each MMA burst of these warps, with the cycles that it occupies the tensor core.
    """

    bursts: tuple[tuple[int, int, float], ...]

    def share(self, begin: int, end: int) -> float:
        """Return the share of the cycles [begin, end) in which the tensor core multiplies for the CTA, 0 to 1."""
        used = sum(
            cycles * (min(end, last) - max(begin, first)) / (last - first)
            for first, last, cycles in self.bursts
            if first < end and last > begin and last > first
        )
        return min(1.0, used / (end - begin))


def tensor_use(timeline: Timeline, cycles: Mapping[str, int]) -> TensorUse:
    """
    Return the use of the tensor core of warp 0's SMSP.

    Args:
        timeline: Timeline of the run.
        cycles: By activity, cycles that the MMAs of one warp for one k tile and k group (or key block) occupy the
            tensor core. If an activity is interrupted, they are divided in proportion to the lengths of its parts.
    """
    smsps = {span.warp: span.smsp for span in timeline.warps}
    beside = {warp for warp, smsp in smsps.items() if smsp == smsps.get(0)}
    own = [span for span in timeline.k_tiles if span.activity in cycles and span.warp in beside]
    lengths: Counter[tuple[int, str, int, int]] = Counter()
    for span in own:
        lengths[span.warp, span.activity, span.k_tile, span.k_group] += span.end - span.begin
    return TensorUse(
        tuple(
            (
                span.begin,
                span.end,
                cycles[span.activity]
                * (span.end - span.begin)
                / max(1, lengths[span.warp, span.activity, span.k_tile, span.k_group]),
            )
            for span in own
        )
    )


def from_rows(rows: Sequence[PipelineRow]) -> WarpPipeline:
    """Return the pipeline of the rows in result.json: no fragment loads, one MMA block per k tile."""
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
    Return the pipeline of warp 0 of the observed CTA: the rows, refined by the spans of the timeline.

    Copies and fragment loads past the last k tile are left out: no MMA uses them.
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
