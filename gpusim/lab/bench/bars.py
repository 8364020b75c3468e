"""The bars for gpusim's speed, with the figure of a report for each."""

from collections.abc import Iterator
from dataclasses import dataclass

from gpusim.lab.bench.cases import CUBE, LARGEST_K, k_name
from gpusim.lab.bench.commands import VERIFY
from gpusim.lab.bench.rows import BenchReport, Mode

LEAST_RATE = 10e6
LEAST_RATIO = 20
RATED = ("gemm_4096", "conv_s6_crosswise")

USER_SECONDS: tuple[tuple[str, str, Mode, float], ...] = (
    ("gemm_4096", "gemm_4096", "sampled", 0.8),
    ("gemm_4096", "gemm_4096", "exact", 9),
    ("1024 x 1024 x 1024", CUBE, "exact", 0.6),
    ("conv_s6_crosswise", "conv_s6_crosswise", "exact", 0.6),
    ("attention_64x64", "attention_64x64", "exact", 3),
    ("flash_128x64", "flash_128x64", "exact", 2.5),
    ("4096 x 4096 x 65,536", k_name(LARGEST_K), "sampled", 4),
)
"""Words, name of the row, mode, and most user seconds."""

PEAK_MB: tuple[tuple[str, str, Mode, float], ...] = (
    ("gemm_4096", "gemm_4096", "sampled", 200),
    ("gemm_4096", "gemm_4096", "exact", 200),
    ("4096 x 4096 x 65,536", k_name(LARGEST_K), "sampled", 250),
)
"""Words, name of the row, mode, and most peak memory."""

VERIFY_SECONDS, VERIFY_MB = 15, 600

POINTS_A_SECOND = {1024: 40, 2048: 20, 4096: 4}


@dataclass(frozen=True, slots=True)
class Bar:
    """
    One bar, and the figure that must meet it.

    Attributes:
        what: The figure, in words.
        wanted: The bar, in words.
        measured: The figure; None if the report lacks it.
        limit: The bar.
        at_least: Whether the bar is a minimum; else it is a maximum.
    """

    what: str
    wanted: str
    measured: float | None
    limit: float
    at_least: bool

    @property
    def met(self) -> bool | None:
        """Whether the bar is met; None if nothing was measured."""
        if self.measured is None:
            return None
        return self.measured >= self.limit if self.at_least else self.measured <= self.limit


def ratio_of(report: BenchReport, name: str) -> float | None:
    """Return the rate of the compiled core over that of the interpreted one, both exact, in the same run."""
    compiled, interpreted = (report.run_of(name, "exact", engine) for engine in ("compiled", "interpreted"))
    return compiled.rate / interpreted.rate if compiled and interpreted else None


def bars(report: BenchReport) -> Iterator[Bar]:
    """Yield every bar with its figure from a report."""
    for name in RATED:
        row = report.run_of(name, "exact")
        rate = row.rate if row else None
        yield Bar(f"{name}, exact, warp instructions a second", "at least 10 million", rate, LEAST_RATE, at_least=True)
    for name in RATED:
        ratio = ratio_of(report, name)
        yield Bar(f"{name}, exact, compiled over interpreted", "at least 20", ratio, LEAST_RATIO, at_least=True)
    for words, name, mode, most in USER_SECONDS:
        row = report.run_of(name, mode)
        yield Bar(f"{words}, {mode}, user s", f"at most {most:g}", row.user_s if row else None, most, at_least=False)
    for words, name, mode, most in PEAK_MB:
        row = report.run_of(name, mode)
        yield Bar(f"{words}, {mode}, MB", f"at most {most:g}", row.peak_mb if row else None, most, at_least=False)
    verify = report.other_of(VERIFY)
    figures = (verify.user_s, verify.peak_mb) if verify else (None, None)
    for unit, measured, most in zip(("user s", "MB"), figures, (VERIFY_SECONDS, VERIFY_MB), strict=True):
        yield Bar(f"`{VERIFY}`, all CTAs, {unit}", f"at most {most}", measured, most, at_least=False)
    for size, least in POINTS_A_SECOND.items():
        loop = report.loop_of(size)
        points = loop.points_per_s if loop else None
        what = f"{size} x {size} x {size} in a loop, sampled, points a second and core"
        yield Bar(what, f"at least {least}", points, least, at_least=True)
