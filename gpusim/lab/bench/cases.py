"""The cases of the bench: scenarios by name, settings, modes and executions, with their tables."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gpusim.errors import CannotRun
from gpusim.lab.bench.rows import Mode
from gpusim.machine.changes import in_proportion
from gpusim.machine.load import load_machine
from gpusim.machine.spec import Machine

SCENARIOS = "Scenarios"
BY_K = "Growth with K: 4096 x 4096 x K"
BY_CTAS = "Growth with the CTAs: M = N, K = 1024"
BY_SMS = "Growth with the SMs: 2048 x 2048 x 2048 on an H200 of so many SMs"

CUBE = "gemm_128x128x32_s3_1024"
"""The scenario of 1024 x 1024 x 1024."""

LARGEST_K = 65_536

_MOST_EXACT_K = 4096
_MOST_EXACT_EXTENT = 8192
_LONG = ("gemm_4096", "attention_64x64", "flash_128x64")
"""Scenarios that take the interpreted core a minute or more: it runs them once, and not at all in a quick bench."""


@dataclass(frozen=True, slots=True)
class BenchCase:
    """
    One case, which runs on each of its executions in turn.

    Attributes:
        table: The table of its rows.
        name: Name of its rows.
        scenario: Name of the scenario.
        mode: How the launch is simulated.
        overrides: Settings ``key=value``.
        engines: Executions of the core.
        figures: Whether the pictures are drawn.
    """

    table: str
    name: str
    scenario: str
    mode: Mode
    overrides: tuple[str, ...] = ()
    engines: tuple[str, ...] = ("compiled",)
    figures: bool = False

    def runs(self, engine: str, repeats: int) -> int:
        """Return the number of processes on one execution: ``repeats``, but one or none for a long run."""
        if engine == "interpreted" and self.mode == "exact" and self.scenario in _LONG:
            return int(repeats > 1)
        return repeats


BOTH = ("compiled", "interpreted")


def scenario_cases(name: str) -> tuple[BenchCase, ...]:
    """Return the cases of one scenario: exact and sampled, compiled and interpreted."""
    return (
        BenchCase(SCENARIOS, name, name, "exact", engines=BOTH),
        BenchCase(SCENARIOS, name, name, "sampled", engines=BOTH),
    )


SCENARIO_NAMES = ("gemm_4096", CUBE, "conv_s6_crosswise", "attention_64x64", "flash_128x64")


def all_scenario_cases() -> Iterator[BenchCase]:
    """Yield the cases of the scenarios that are reported, and two with pictures."""
    for name in SCENARIO_NAMES:
        yield from scenario_cases(name)
    for name in ("gemm_4096", "conv_s6_crosswise"):
        yield BenchCase(SCENARIOS, f"{name} with figures", name, "sampled", figures=True)


def k_name(k: int) -> str:
    """Return the name of the row of 4096 x 4096 x K."""
    return f"K = {k:,}"


def growth_cases(folder: Path) -> Iterator[BenchCase]:
    """
    Yield the cases that grow in K, in CTAs and in SMs.

    Args:
        folder: Folder for machine files.
    """
    for k in (1024, 4096, 16_384, LARGEST_K):
        for mode in _modes(exact=k <= _MOST_EXACT_K):
            yield BenchCase(BY_K, k_name(k), "gemm_4096", mode, (f"problem.k={k}",))
    for extent in (1024, 2048, 4096, 8192, 16_384):
        for mode in _modes(exact=extent <= _MOST_EXACT_EXTENT):
            overrides = (f"problem.m={extent}", f"problem.n={extent}", "problem.k=1024")
            yield BenchCase(BY_CTAS, f"{(extent // 128) ** 2:,} CTAs", "gemm_4096", mode, overrides)
    cube = tuple(f"problem.{extent}=2048" for extent in "mnk")
    for sms in (33, 66, 132, 264):
        machine = f"machine={machine_with(sms, folder)}"
        yield BenchCase(BY_SMS, f"{sms} SMs", "gemm_4096", "exact", (*cube, machine))


def _modes(*, exact: bool) -> tuple[Mode, ...]:
    return ("exact", "sampled") if exact else ("sampled",)


def machine_with(sms: int, folder: Path) -> Path:
    """
    Write the machine file of an H200 with another number of SMs, and groups of SMs in proportion; return its path.

    Raises:
        CannotRun: The shipped file has its SMs, or their groups, in another form.
    """
    source = Path(__file__).parents[2] / "machine" / "h200.toml"
    text = source.read_text(encoding="utf-8")
    ahead, *others = _in_proportion(load_machine("h200"), sms)
    for what, new in (
        (r"\[sms\]\nvalue = (?=\d)", sms),
        (r"\[launch\.units\]\nahead = \{ value = (?=\d)", ahead),
        (r"others = \{ value = (?=\[)", others),
    ):
        text, found = re.subn(rf"(?m)^({what})(?:\d+|\[[^\]]*\])", rf"\g<1>{new}", text)
        if found != 1:
            raise CannotRun(f"{source}: not one line like {what}")
    path = folder / f"h200_{sms}_sms.toml"
    path.write_text(text, encoding="utf-8")
    return path


def _in_proportion(machine: Machine, sms: int) -> list[int]:
    """Return the sizes of a machine's groups of SMs, the first group first, scaled to ``sms``."""
    units = machine.launch.units
    if units is None:
        raise CannotRun(f"{machine.name} has no launch.units")
    return in_proportion(units.sizes, sms)
