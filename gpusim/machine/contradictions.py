"""Says which figures of a machine contradict each other, table by table; knows no file that they come from."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from gpusim.machine.keys import NOT_SIMULATED
from gpusim.machine.masks import tell_anew
from gpusim.machine.spec import (
    DramLateSpec,
    DramSpec,
    GpcClocksSpec,
    LaunchUnitsSpec,
    Machine,
    PipeSpec,
    SharedMemorySpec,
)
from gpusim.units import VECTOR_BITS

QUANTILES: Final = ("latency", "latency_late", "latency_later", "latency_most")
"""Quantiles of a miss's latency. They are required without ``dram.late``, and refused beside it."""

_NOTHING = "nothing"


class Contradiction(NamedTuple):
    """
    A rule that figures break.

    Attributes:
        rule: The broken rule, such as "l2.semaphore must exceed a barrier of one warp, 40 cycles".
        found: The figures; "nothing" if one is missing.
        key: Key of the figure or of the table that is wrong.
    """

    rule: str
    found: str
    key: str


def contradictions(machine: Machine) -> Iterator[Contradiction]:
    """Yield the rules that a machine's figures break, the one to be told first."""
    yield from _of_async_copy(machine)
    yield from _of_banks(machine.shared)
    yield from _of_pipes(machine.pipes)
    yield from _of_quantiles(machine.dram)
    yield from _of_write_queue(machine.dram)
    yield from _of_latencies(machine.dram)
    if machine.dram.late is not None:
        yield from _of_refresh(machine.dram.late, machine)
    if machine.launch.units is not None:
        yield from _of_units(machine.launch.units, machine.sms)
    if machine.launch.gpc_clocks is not None:
        yield from _of_clocks(machine.launch.gpc_clocks)
    yield from _of_semaphore(machine)


def _of_async_copy(machine: Machine) -> Iterator[Contradiction]:
    """Yield cp.async figures of a machine without cp.async, and their absence on a machine with it."""
    if machine.features.cp_async != (machine.async_copy is not None):
        found = _NOTHING if machine.async_copy is None else "a table"
        yield Contradiction("async_copy must be given exactly where features.cp_async is true", found, "async_copy")


def _of_banks(shared: SharedMemorySpec) -> Iterator[Contradiction]:
    """Yield banks that are too few for the widest access of one lane."""
    least = VECTOR_BITS // 8
    if shared.banks * shared.bank_bytes < least:
        rule = f"shared.banks times shared.bank_bytes must be at least {least}, the widest access of a lane"
        yield Contradiction(rule, f"{shared.banks} times {shared.bank_bytes}", "shared")


def _of_pipes(pipes: dict[str, PipeSpec]) -> Iterator[Contradiction]:
    """Yield pipes without a latency."""
    for name, pipe in pipes.items():
        key = f"pipes.{name}.latency"
        if pipe.latency is None and key not in NOT_SIMULATED:
            yield Contradiction(f"{key} must be given", _NOTHING, key)


def _of_quantiles(dram: DramSpec) -> Iterator[Contradiction]:
    """Yield quantiles of a miss's latency beside ``dram.late``, and their absence without it."""
    for name in QUANTILES:
        found, key = getattr(dram, name), f"dram.{name}"
        if dram.late is not None and found is not None:
            yield Contradiction(
                f"{key} must be left out beside dram.late, which says when misses come", str(found), key
            )
        if dram.late is None and found is None:
            yield Contradiction(f"{key} must be given where there is no dram.late", _NOTHING, key)


def _of_write_queue(dram: DramSpec) -> Iterator[Contradiction]:
    """Yield a second size of DRAM's write queue, and its absence."""
    key = "dram.write_queue"
    if dram.turns is not None and dram.write_queue is not None:
        rule = f"{key} must be left out beside dram.turns, whose gathered says what a channel holds"
        yield Contradiction(rule, str(dram.write_queue), key)
    if dram.turns is None and dram.write_queue is None:
        yield Contradiction(f"{key} must be given where there is no dram.turns", _NOTHING, key)


def _of_latencies(dram: DramSpec) -> Iterator[Contradiction]:
    """Yield quantiles of a miss's latency of which one is below the one before."""
    if not _ascend(dram.latencies, strictly=False):
        rule = "dram.latency_least, latency, latency_late, latency_later and latency_most must not fall"
        yield Contradiction(rule, _listed(dram.latencies), "dram")


def _of_refresh(late: DramLateSpec, machine: Machine) -> Iterator[Contradiction]:
    """Yield figures of DRAM's refresh that are out of bounds, and masks that depend on one another."""
    lines = late.region_bytes // machine.l2.line_bytes
    for name, least, found, most in (
        ("on_time", machine.dram.latency_least, late.on_time, None),
        ("cycles", 1, late.cycles, late.period - 1),
        ("region_bytes", 2 * machine.l2.line_bytes, late.region_bytes, None),
        ("part_masks", 1, max(late.part_masks), lines - 1),
    ):
        if found < least or (most is not None and found > most):
            bounds = f"at least {least}" if most is None else f"{least} to {most}"
            yield Contradiction(f"dram.late.{name} must be {bounds}", str(found), f"dram.late.{name}")
    for mask, anew in zip(late.part_masks, tell_anew(late.part_masks), strict=True):
        if not anew:
            key = "dram.late.part_masks"
            yield Contradiction(
                f"{key} must each tell what the others do not", f"{mask} beside {_listed(late.part_masks)}", key
            )


def _of_units(units: LaunchUnitsSpec, sms: int) -> Iterator[Contradiction]:
    """Yield groups that do not add up to the chip's SMs, or that lack a GPC or a side of the chip."""
    if sum(units.sizes) != sms:
        rule = f"launch.units.ahead and others must have {sms} SMs together"
        yield Contradiction(rule, str(sum(units.sizes)), "launch.units")
    groups = len(units.sizes)
    for name, found, most in (("gpcs", units.gpcs, groups - 1), ("sides", units.sides, 1)):
        if len(found) != groups or max(found) > most:
            key = f"launch.units.{name}"
            rule = f"{key} must have {groups} numbers of 0 to {most}, one for each group"
            yield Contradiction(rule, _listed(found), key)


def _of_clocks(clocks: GpcClocksSpec) -> Iterator[Contradiction]:
    """Yield lists of unequal length, or out of order, in what is known of the GPCs' clocks."""
    table = "launch.gpc_clocks"
    for name in ("besides", "apart", "far_apart"):
        found = getattr(clocks, name)
        if len(found) != len(clocks.sms):
            rule = f"{table}.{name} must have an entry for each of sms, {len(clocks.sms)}"
            yield Contradiction(rule, str(len(found)), f"{table}.{name}")
    if len(clocks.cycles) != 2 or not _ascend(clocks.cycles):
        rule = f"{table}.cycles must be two numbers that ascend"
        yield Contradiction(rule, str(list(clocks.cycles)), f"{table}.cycles")
    if not _ascend(clocks.sms):
        yield Contradiction(f"{table}.sms must ascend", str(list(clocks.sms)), f"{table}.sms")
    for near, far in zip(clocks.apart, clocks.far_apart, strict=False):
        if far < near:
            yield Contradiction(f"{table}.far_apart must not be below apart", str(far), f"{table}.far_apart")


def _of_semaphore(machine: Machine) -> Iterator[Contradiction]:
    """Yield a semaphore that resumes a waiting warp before a warp that waits at a barrier could resume."""
    barrier, semaphore = machine.barrier.base + machine.barrier.per_warp, machine.l2.semaphore
    if semaphore <= barrier:
        rule = f"l2.semaphore must exceed a barrier of one warp, {barrier} cycles"
        yield Contradiction(rule, str(semaphore), "l2.semaphore")


def _ascend(column: Sequence[int], *, strictly: bool = True) -> bool:
    return all(one < other or (one == other and not strictly) for one, other in pairwise(column))


def _listed(values: Sequence[int]) -> str:
    return ", ".join(map(str, values))
