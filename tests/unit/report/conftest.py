"""A hand-built run for the report tests: a ring pipeline of any length, whose every span follows from five numbers."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from gpusim.results.result import BankConflicts, Cycles, PipelineRow, Result, Simulated
from gpusim.results.timeline import KTileSpan, Timeline, WarpSpan

LATENCY, ISSUE, LOAD, MMA, SYNC, SKEW = 900, 60, 40, 130, 12, 7


class SyntheticWarp:
    """One warp of CTA 0, SKEW cycles behind the one before it, walked through the pipeline once."""

    def __init__(self, warp: int, k_tiles: int, stages: int, k_groups: int) -> None:
        self.warp, self.k_tiles, self.stages, self.k_groups = warp, k_tiles, stages, k_groups
        self.now = warp * SKEW
        self.spans: list[KTileSpan] = []
        self.changes = [(self.now, "dispatch_stall")]
        self.landed: dict[int, int] = {}
        self._prologue()
        for k_tile in range(k_tiles):
            self._k_tile(k_tile)
        self.changes.append((self.now, "wait"))

    def life(self) -> list[WarpSpan]:
        edges = [*self.changes, (self.now + 400, "end")]
        return [
            WarpSpan(0, self.warp, self.warp % 4, begin, end, reason)
            for (begin, reason), (end, _) in pairwise(edges)
            if end > begin
        ]

    def _prologue(self) -> None:
        self.now += 200
        for k_tile in range(self.stages - 1):
            self.changes.append((self.now, "selected"))
            self._copy(k_tile, self.now, self.now + ISSUE)
            self.now += ISSUE
        self._wait(0)
        self.changes.append((self.now, "short_scoreboard"))
        self._add(0, 0, "ldmatrix", (self.now, self.now + LOAD))
        self.now += LOAD

    def _k_tile(self, k_tile: int) -> None:
        """Each k group loads the next group's fragments and multiplies; the last but one ends with the wait."""
        begin = self.now
        for k_group in range(self.k_groups):
            following = k_tile + (k_group == self.k_groups - 1)
            self._add(following, (k_group + 1) % self.k_groups, "ldmatrix", (self.now, self.now + LOAD))
            self.changes.append((self.now, "math_pipe_throttle"))
            self._add(k_tile, k_group, "mma", (self.now + 4, self.now + MMA))
            self.now += MMA
            if k_group == self.k_groups - 2:
                self._copy(k_tile + self.stages - 1, begin + 10, self.now)
                self._wait(k_tile + 1)

    def _copy(self, k_tile: int, begin: int, issued: int) -> None:
        self.landed[k_tile] = issued + LATENCY if k_tile < self.k_tiles else 0
        self._add(k_tile, -1, "copy", (begin, self.landed[k_tile]))

    def _wait(self, k_tile: int) -> None:
        begin, self.now = self.now, max(self.now, self.landed.get(k_tile, 0)) + SYNC
        self._add(k_tile, -1, "wait", (begin, self.now))
        self.changes += [(begin, "long_scoreboard"), (self.now - SYNC // 2, "barrier")]

    def _add(self, k_tile: int, k_group: int, activity: str, cycles: tuple[int, int]) -> None:
        """Nothing is noted past the last k tile."""
        if k_tile < self.k_tiles:
            self.spans.append(KTileSpan(0, self.warp, k_tile, k_group, k_tile % self.stages, activity, *cycles))


def synthetic_timeline(k_tiles: int = 9, stages: int = 3, warps: int = 4, k_groups: int = 4) -> Timeline:
    """A copy lands LATENCY after its last issue; a k group loads for LOAD and multiplies for MMA cycles."""
    walked = [SyntheticWarp(warp, k_tiles, stages, k_groups) for warp in range(warps)]
    return Timeline(
        warps=tuple(span for warp in walked for span in warp.life()),
        k_tiles=tuple(span for warp in walked for span in warp.spans),
    )


def pipeline_rows(timeline: Timeline) -> tuple[PipelineRow, ...]:
    """The rows of warp 0, as result.json has them."""
    rows = []
    own = [span for span in timeline.k_tiles if span.warp == 0]
    for k_tile in sorted({span.k_tile for span in own}):
        copy, waited, *mma = (
            span for what in ("copy", "wait", "mma") for span in own if (span.k_tile, span.activity) == (k_tile, what)
        )
        rows.append(
            PipelineRow(k_tile, copy.stage, copy.begin, copy.end, waited.begin, waited.end, mma[0].begin, mma[-1].end)
        )
    return tuple(rows)


def synthetic_result(timeline: Timeline, a: str = "crosswise") -> Result:
    """A result with the rows of ``timeline`` and round figures elsewhere."""
    conflicting = 32 if a == "row_major" else 4
    return Result(
        scenario={
            "machine": "h200",
            "problem": {
                "kind": "conv2d_fprop",
                "n": 1,
                "h": 64,
                "w": 64,
                "c": 64,
                "k": 64,
                "r": 3,
                "s": 3,
                "padding": [1, 1],
                "stride": [1, 1],
                "dilation": [1, 1],
                "mode": "cross_correlation",
                "split_k_slices": 1,
                "dtype": {"ab": "f16", "accumulator": "f32", "output": "f32"},
            },
            "kernel": {
                "mainloop": "multistage",
                "iterator": "analytic",
                "threadblock": [128, 128, 64],
                "warp": [64, 64, 64],
                "instruction": [16, 8, 16],
                "stages": 3,
                "threadblock_swizzle": "identity<1>",
                "shared": {"a": a, "b": "crosswise"},
            },
        },
        machine={
            "name": "h200",
            "hash": "0123456789ab",
            "figures": {"documented": 21, "measured": 9, "fitted": 0, "assumed": 14},
        },
        stream="estimated",
        grid=(32, 1, 1),
        ctas=32,
        ctas_per_sm=2,
        registers_per_thread=186,
        shared_bytes=98304,
        waves=0.12,
        cycles=Cycles(elapsed=14210, active=9876),
        clock_mhz=1980,
        time_us=7.177,
        tflops=42.08,
        simulated=Simulated(ctas=1, k_tiles=9, instructions=23456, seconds=0.41, sampled=True),
        counters={
            "sm__cycles_elapsed.max": 14210,
            "dram__bytes_read.sum": 700_000,
            "lts__t_sectors_op_read.sum": 80_000,
            "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 110_592,
            "sm__inst_executed_pipe_tensor_op_hmma.sum": 36_864,
        },
        bank_conflicts=(
            BankConflicts("ldmatrix", "a", 18432, 18432 * conflicting, 73728, 18432 * (conflicting - 4)),
            BankConflicts("ldmatrix", "b", 18432, 73728, 73728, 0),
            BankConflicts("ldgsts", "a", 9216, 36864, 36864, 0),
            BankConflicts("sts", "epilogue", 2048, 4096, 4096, 0),
            BankConflicts("lds", "epilogue", 1024, 4096, 4096, 0),
        ),
        stalls={
            "long_scoreboard": 0.412,
            "math_pipe_throttle": 0.205,
            "short_scoreboard": 0.118,
            "selected": 0.098,
            "barrier": 0.071,
            "wait": 0.055,
            "not_selected": 0.021,
            "mio_throttle": 0.012,
            "dispatch_stall": 0.008,
            "drain": 0.0,
        },
        pipeline=pipeline_rows(timeline),
        hazards=(),
        bound={
            "resource": "latency of global memory",
            "percent": 41.2,
            "stall": "long_scoreboard",
            "busiest": "tensor core",
            "utilisation": 0.31,
            "reason": "long_scoreboard is 41.2 % of warp cycles; tensor pipes are 31 % busy",
            "resources": [
                {"name": name, "percent": percent, "percent_active": percent, "bounds": True}
                for name, percent in (
                    ("tensor core", 31.0),
                    ("shared-memory data stage", 20.0),
                    ("L2 bandwidth", 8.0),
                    ("DRAM bandwidth", 2.0),
                )
            ],
        },
        provenance={
            "version": "0.1.0",
            "commit": "0f1e2d3c4b5a69788796a5b4c3d2e1f001234567",
            "time": "2026-01-01T00:00:00Z",
        },
    )


@dataclass(frozen=True)
class Run:
    """A result and the timeline it came from."""

    result: Result
    timeline: Timeline


@pytest.fixture(scope="session")
def make_run() -> Callable[..., Run]:
    """A run of so many k tiles, by default 9 over 3 stages; ``a`` names operand A's shared layout."""

    @cache
    def make(k_tiles: int = 9, a: str = "crosswise") -> Run:
        timeline = synthetic_timeline(k_tiles)
        return Run(synthetic_result(timeline, a), timeline)

    return make


@pytest.fixture
def run(make_run: Callable[..., Run]) -> Run:
    """The 3-stage, 9-k-tile run."""
    return make_run()


@pytest.fixture
def png_size() -> Callable[[Path], tuple[int, int]]:
    """The path of a PNG to its width and height, from its header."""

    def call(path: Path) -> tuple[int, int]:
        data = path.read_bytes()
        assert data[:8] == b"\x89PNG\r\n\x1a\n"
        return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")

    return call
