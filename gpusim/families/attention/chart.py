"""The overlap chart of attention: both GEMMs, softmax and copies of each key block, and where the warp waits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from gpusim.errors import CannotRun
from gpusim.families.attention.tile.operands import GEMMS
from gpusim.report import overlap
from gpusim.report.captions import Words, footer, headline
from gpusim.report.pipeline import TensorUse, tensor_use
from gpusim.report.style import FAINT, INK, LANE, MUTED, Canvas, sheet, text_on, tile_colour, tint, title_block
from gpusim.results.result import PipelineRow, Result
from gpusim.results.timeline import KTileSpan, Timeline

MOST_DRAWN = 5
"""Key blocks drawn in one panel; longer walks show the first ``ENDS[0]`` and the last ``ENDS[1]``."""

ENDS = (3, 2)

CHART_LANES = (
    ("copy_k", "Q and K", "copies in flight", 0.42),
    ("copy_v", "V", "copies in flight", 0.42),
    ("qk", "S = Q·Kᵀ", "first GEMM", 0.46),
    ("softmax", "softmax", "of S in registers", 0.46),
    ("pv", "O += P·V", "second GEMM", 0.46),
    ("output", "output", "buffer, epilogue", 0.34),
    ("waits", "waits", "wait_group, barrier", 0.34),
)
"""Kind, name, note and height in inches of each lane."""

MEASURED_LANES = (
    ("blocks", "key blocks", "fragments to last MMA", 0.46),
    ("waits", "waits", "for K, and barrier", 0.34),
)
"""Kind, name, note and height in inches of each lane of measured key blocks, which a timeline build stamps."""

_NAME = ("name", "", "", 0.2)
"""The strip with the words that say whether the lanes below are measured or simulated."""

_KEY = "Colour and number name the key block, in the order walked."
_ASKED = "A line among measured ones is where the next K is asked for."
_FILLED = "Boxes of GEMMs are filled to the share of cycles in which the tensor core multiplies for the CTA."


@dataclass(frozen=True, slots=True)
class KeyBlockSpans:
    """
    The activities and waits of one warp.

    Attributes:
        spans: Activities without waits.
        waits: Waits.
        blocks: Number of key blocks that the warp walked.
        end: The cycle after the warp's last one.
    """

    spans: tuple[KTileSpan, ...]
    waits: tuple[KTileSpan, ...]
    blocks: int
    end: int

    @property
    def begins(self) -> list[int]:
        """Cycle at which each key block's first GEMM issues its first instruction."""
        return [min(span.begin for span in self.of("qk", block)) for block in range(self.blocks)]

    def of(self, activity: str, block: int) -> list[KTileSpan]:
        """Return the intervals of one activity for one key block."""
        return [span for span in self.spans if span.activity == activity and span.k_tile == block]

    def windows(self) -> list[tuple[int, int]]:
        """Return the intervals of cycles to draw: the whole walk, or both ends of a long one."""
        if self.blocks <= MOST_DRAWN:
            return [(0, self.end)]
        begins, (head, tail) = self.begins, ENDS
        return [(0, begins[head]), (begins[self.blocks - tail], self.end)]


@dataclass(frozen=True, slots=True)
class StampedBlocks:
    """
    The measured key blocks of one warp, as a timeline build stamps them on a GPU.

    Attributes:
        rows: A row for each key block, in the order of the walk.
    """

    rows: Sequence[PipelineRow]

    def windows(self) -> list[tuple[int, int]]:
        """Return the intervals of cycles to draw, as ``KeyBlockSpans.windows``, up to the last MMA."""
        end = self.rows[-1].mma_end
        if len(self.rows) <= MOST_DRAWN:
            return [(0, end)]
        head, tail = ENDS
        return [(0, self.rows[head].mma_begin), (self.rows[-tail].mma_begin, end)]

    def pace(self) -> str:
        """Return the measured pace in words: cycles of a steady key block, and of the wait for K."""
        steps = [after.mma_begin - before.mma_begin for before, after in pairwise(self.rows)]
        steady = f"{int(median(steps)):,} cycles per key block (median); " if steps else ""
        waited = sum(row.wait_end - row.wait_begin for row in self.rows)
        return f"{steady}{waited:,} of {self.rows[-1].mma_end:,} cycles to the last MMA are waits for K."

    def draw(self, panel: overlap.Panel, lanes: Sequence[overlap.ChartLane]) -> None:
        """Draw each key block from its first fragments to its last MMA, the waits, and the requests for K."""
        blocks, waits = lanes
        for lane in lanes:
            panel.box(panel.begin, panel.end, lane.top, lane.height, LANE, zorder=0)
        for row in self.rows:
            span = row.mma_begin, row.mma_end
            overlap.draw_used(panel, span, blocks, tile_colour(row.k_tile), None)
            overlap.name_used(panel, span, blocks, row.k_tile, None)
            words = (f"{row.wait_end - row.wait_begin:,}",)
            overlap.draw_wait(panel, (row.wait_begin, row.wait_end), words, waits, (blocks.top, waits.bottom))
            if panel.begin <= row.copy_issue <= panel.end:
                panel.axes.vlines(row.copy_issue, blocks.top, blocks.bottom, color=INK, linewidth=1.2, zorder=3)


def warp_spans(timeline: Timeline, blocks: int) -> KeyBlockSpans:
    """Return the activities and waits of warp 0 of the watched CTA, which walked ``blocks`` key blocks."""
    own = [span for span in timeline.k_tiles if span.warp == 0]
    waits = tuple(span for span in own if span.activity.startswith("wait"))
    end = max(span.end for span in timeline.warps if span.warp == 0)
    return KeyBlockSpans(tuple(span for span in own if span not in waits), waits, blocks, end)


def attention_overlap_chart(
    result: Result,
    words: Words,
    timeline: Timeline,
    canvas: Canvas,
    cycles: Mapping[str, int] | None = None,
    *,
    measured: Sequence[PipelineRow] | None = None,
) -> Canvas:
    """
    Draw the key blocks of warp 0 of the watched CTA as PNG.

    Copies are hatched from the issue of the first to the arrival of the last in shared memory. GEMMs and softmax are
    solid from the first instruction to the last result, and interrupted by waits. A key block has one colour and one
    number in all rows; blocks are numbered in the order of the walk. A CTA without visible keys shows at most its
    output.

    Args:
        result: The run.
        words: Description of the run's scenario.
        timeline: Spans of the run.
        canvas: The file to write, or the figure to draw into.
        cycles: For "qk" and "pv", cycles that the MMAs of one warp's key block occupy the tensor core, to which their
            boxes are filled; None fills them.
        measured: Key blocks as hardware stamped them, to be drawn above the simulated ones on the same axis.

    Raises:
        CannotRun: Another number of key blocks was measured than is simulated.
    """
    blocks = len(result.pipeline)
    if measured is not None and len(measured) != blocks:
        raise CannotRun(f"{len(measured)} key blocks were measured, but the simulated CTA walks {blocks}")
    warp = warp_spans(timeline, blocks)
    present = {span.activity for span in warp.spans} | {"waits"}
    use = tensor_use(timeline, cycles) if cycles else None
    stamped = StampedBlocks(measured) if measured else None
    above = overlap.stacked((_NAME, *MEASURED_LANES)) if stamped else []
    kinds = [lane for lane in CHART_LANES if lane[0] in present]
    if stamped:
        names, *lanes = overlap.stacked((_NAME, *kinds), above[-1].bottom + overlap.GROUP_GAP)
    else:
        names, *_ = lanes = overlap.stacked(kinds)
    body, head = lanes[-1].bottom, overlap.TOP + overlap.LINE * bool(stamped)
    with sheet(canvas, overlap.WIDTH, head + body + overlap.BOTTOM) as figure:
        windows = overlap.common_windows([warp.windows(), *([stamped.windows()] if stamped else [])])
        panels = overlap.panels_of(figure, windows, body, head)
        for panel in panels:
            _draw(panel, warp, lanes, use)
            if stamped:
                stamped.draw(panel, above[1:])
        if stamped:
            overlap.name_lanes(panels[0], above, "measured")
        overlap.name_lanes(panels[0], [names, *lanes], "simulated" if stamped else "")
        for before, after in pairwise(panels):
            overlap.break_note(figure, before, after, f"key blocks {ENDS[0]} to {blocks - ENDS[1] - 1} left out")
        overlap.legend(figure, "copies in flight", "issued to done")
        shown = f"{result.scenario['kernel']['mainloop']}: {blocks} key blocks, warp 0 of CTA {timeline.warps[0].cta}"
        paces = [f"measured: {stamped.pace()}", f"simulated: {_pace(warp)}"] if stamped else [_pace(warp)]
        lines = [
            f"{words.problem}; {words.kernel}",
            *paces,
            f"Shown is {shown}. {_KEY}{f' {_FILLED}' * bool(use)}{f' {_ASKED}' * bool(stamped)}",
        ]
        title_block(figure, headline(words, words.verdict or shown), lines, footer(result))
    return canvas


def _draw(panel: overlap.Panel, warp: KeyBlockSpans, lanes: Sequence[overlap.ChartLane], use: TensorUse | None) -> None:
    rows = {lane.kind: lane for lane in lanes}
    for lane in lanes:
        panel.box(panel.begin, panel.end, lane.top, lane.height, LANE, zorder=0)
    for begin in warp.begins[1:]:
        if panel.begin <= begin <= panel.end:
            panel.axes.plot([begin, begin], [lanes[0].top, lanes[-1].bottom], color=FAINT, linewidth=0.9, zorder=0.8)
    for wait in warp.waits:
        words = (f"{wait.end - wait.begin:,}",)
        overlap.draw_wait(panel, (wait.begin, wait.end), words, rows["waits"], (lanes[0].top, lanes[-1].bottom))
    for span in warp.spans:
        copies = span.activity.startswith("copy")
        lane = rows["copy_k" if span.activity == "copy_q" else span.activity]
        colour = tile_colour(span.k_tile) if span.k_tile < warp.blocks else MUTED
        if copies:
            style = {"edgecolor": colour, "hatch": "////", "linewidth": 0.8}
            panel.box(span.begin, span.end, lane.top, lane.height, tint(colour, 0.28), zorder=1.5, **style)
        else:
            overlap.draw_used(panel, (span.begin, span.end), lane, colour, use if span.activity in GEMMS else None)
        longest = max(warp.of(span.activity, span.k_tile), key=lambda one: one.end - one.begin)
        if span.k_tile < warp.blocks and span.activity != "copy_q" and span is longest:
            if span.activity in GEMMS:
                overlap.name_used(panel, (span.begin, span.end), lane, span.k_tile, use)
                continue
            ink = INK if copies else text_on(colour)
            panel.label((span.begin, span.end), lane.middle, (str(span.k_tile),), ink, size=10, fontweight="bold")


def _pace(warp: KeyBlockSpans) -> str:
    """Return the pace of the run in words: cycles of a steady key block, and of its parts."""
    if not warp.blocks:
        return f"The CTA sees no key; {warp.end:,} cycles."
    steps = [after - before for before, after in pairwise(warp.begins)]
    pace = f"{int(median(steps)):,} cycles per key block (median); " if steps else ""
    parts = []
    for activity, name in (("qk", "S"), ("softmax", "softmax"), ("pv", "O")):
        each = [sum(span.end - span.begin for span in warp.of(activity, block)) for block in range(warp.blocks)]
        parts.append(f"{name} {int(median(each)):,}")
    waited = sum(span.end - span.begin for span in warp.waits)
    return f"{pace}{', '.join(parts)}; {overlap.waiting(waited, warp.end)}"
