"""The overlap chart of attention: both GEMMs, softmax and copies of each key block, and where the warp waits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from gpusim.families.attention.tile.operands import GEMMS
from gpusim.report import overlap
from gpusim.report.captions import Words, footer, headline
from gpusim.report.pipeline import TensorUse, tensor_use
from gpusim.report.style import FAINT, INK, LANE, MUTED, Canvas, sheet, text_on, tile_colour, tint, title_block
from gpusim.results.result import Result
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


_KEY = "Colour and number name the key block, in the order walked."
_FILLED = "Boxes of GEMMs are filled to the share of cycles in which the tensor core multiplies for the CTA."


@dataclass(frozen=True, slots=True)
class KeyBlockSpans:
    """
    Everything that one warp did between its first cycle and its last.

    Attributes:
        spans: Its activities, the waits apart.
        waits: Its waits.
        blocks: Key blocks it walked.
        end: One past its last cycle.
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
        """Return the stretches that one activity took for one key block."""
        return [span for span in self.spans if span.activity == activity and span.k_tile == block]

    def windows(self) -> list[tuple[int, int]]:
        """Return the cycles to draw: everything, or both ends of a long walk."""
        if self.blocks <= MOST_DRAWN:
            return [(0, self.end)]
        begins, (head, tail) = self.begins, ENDS
        return [(0, begins[head]), (begins[self.blocks - tail], self.end)]


def warp_spans(timeline: Timeline, blocks: int) -> KeyBlockSpans:
    """Return what warp 0 of the watched CTA did; the CTA walked ``blocks`` key blocks."""
    own = [span for span in timeline.k_tiles if span.warp == 0]
    waits = tuple(span for span in own if span.activity.startswith("wait"))
    end = max(span.end for span in timeline.warps if span.warp == 0)
    return KeyBlockSpans(tuple(span for span in own if span not in waits), waits, blocks, end)


def attention_overlap_chart(
    result: Result, words: Words, timeline: Timeline, canvas: Canvas, cycles: Mapping[str, int] | None = None
) -> Canvas:
    """
    Draw the key blocks of warp 0 of the watched CTA, the first of those with most, as PNG.

    Copies are hatched from the first one's issue to the last one's data in shared memory; GEMMs and softmax are solid
    from the first instruction to the last result, cut where the warp waits. A key block keeps its colour and its
    number, counted in the order walked, in every row. A CTA that sees no key has its output, or nothing, alone.

    Args:
        result: The run.
        words: Description of its scenario.
        timeline: Spans of the run.
        canvas: The file to write, or the figure to draw into.
        cycles: For "qk" and "pv", cycles that the MMAs of one warp's key block occupy the tensor core, to which their
            boxes are filled; None fills them.
    """
    blocks = len(result.pipeline)
    warp = warp_spans(timeline, blocks)
    present = {span.activity for span in warp.spans} | {"waits"}
    use = tensor_use(timeline, cycles) if cycles else None
    lanes = overlap.stacked(lane for lane in CHART_LANES if lane[0] in present)
    body = lanes[-1].bottom
    with sheet(canvas, overlap.WIDTH, overlap.TOP + body + overlap.BOTTOM) as figure:
        panels = overlap.panels_of(figure, warp.windows(), body)
        for panel in panels:
            _draw(panel, warp, lanes, use)
        overlap.name_lanes(panels[0], [lanes[0], *lanes], "")
        for before, after in pairwise(panels):
            overlap.break_note(figure, before, after, f"key blocks {ENDS[0]} to {blocks - ENDS[1] - 1} left out")
        overlap.legend(figure, "copies in flight", "issued to done")
        shown = f"{result.scenario['kernel']['mainloop']}: {blocks} key blocks, warp 0 of CTA {timeline.warps[0].cta}"
        lines = [
            f"{words.problem}; {words.kernel}",
            _pace(warp),
            f"Shown is {shown}. {_KEY}{f' {_FILLED}' * bool(use)}",
        ]
        title_block(figure, headline(words, words.verdict or shown), lines, footer(result))
    return canvas


def _draw(panel: overlap.Panel, warp: KeyBlockSpans, lanes: Sequence[overlap.ChartLane], use: TensorUse | None) -> None:
    rows = {lane.kind: lane for lane in lanes}
    for lane in lanes:
        panel.box(panel.begin, panel.end, lane.top, lane.height, LANE, zorder=0)
    for begin in warp.begins[1:]:
        if panel.begin <= begin <= panel.end:
            panel.axes.plot([begin, begin], [0, lanes[-1].bottom], color=FAINT, linewidth=0.9, zorder=0.8)
    for wait in warp.waits:
        words = (f"{wait.end - wait.begin:,}",)
        overlap.draw_wait(panel, (wait.begin, wait.end), words, rows["waits"], (0, lanes[-1].bottom))
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
    """The chart in words: cycles of a steady key block, and of its parts."""
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
