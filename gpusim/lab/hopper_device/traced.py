"""Runs the trace build of a kernel, and compares what its threads executed with the family's roles, row by row."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from gpusim.arrays import IntArray
from gpusim.cuda.specialise import RECORDED_BLOCKS
from gpusim.families.hopper.collective import Collective, collective_of
from gpusim.families.hopper.device import HopperOnDevice
from gpusim.families.hopper.on_gpu.trace_rows import (
    RECORDED_THREADS,
    TRACE_EVENTS,
    TRACE_ROW_WORDS,
    row_words,
    trace_rows,
)
from gpusim.families.hopper.problem import WARPGROUP, HopperScenario
from gpusim.families.hopper.program.roles import WarpRole, roles_of
from gpusim.families.hopper.work import place_of, work_of
from gpusim.gpu.module import LoadedKernel
from gpusim.gpu.run import Recording
from gpusim.machine import load_machine

_SLACK: Final = 16
"""Rows of a thread beyond the longest expected."""

_Expected = dict[tuple[int, int], tuple[str, IntArray]]
"""Rows by (linear block index, thread), with the name of the role."""


def recorded_blocks(scenario: HopperScenario) -> tuple[int, ...]:
    """Return the CTAs to record: the first two, the last two, and some between."""
    x, y, z = work_of(scenario, load_machine(scenario.machine).sms).grid
    count = x * y * z
    wanted = {0, 1, count // 3, count // 2, count // 2 + 1, count - 2, count - 1}
    return tuple(sorted(one for one in wanted if 0 <= one < count))[:RECORDED_BLOCKS]


def expected_rows(scenario: HopperScenario, blocks: tuple[int, ...]) -> _Expected:
    """Return the rows of every recorded thread of some CTAs, as the family's roles say."""
    collective, work = collective_of(scenario), work_of(scenario, load_machine(scenario.machine).sms)
    x, y, _ = work.grid
    found: _Expected = {}
    for block in blocks:
        ctaid = block % x, block // x % y, block // (x * y)
        for role in roles_of(collective, place_of(scenario, *ctaid[:2]), work.of(*ctaid)):
            for thread in _threads(role):
                found[block, thread] = role.name, trace_rows(collective, role.events(thread))
    return found


def _threads(role: WarpRole) -> Iterator[int]:
    """Yield the threads of a role that are recorded and compared: of consumers one of eight, else the first."""
    everyone = role.threads == WARPGROUP and role.name != "all"
    yield from range(role.first, role.first + (role.threads if everyone else 1), RECORDED_THREADS)


def compare_trace(cupy: Any, kernel: LoadedKernel, problem: HopperOnDevice) -> dict[str, Any]:
    """Launch a trace build, and return how many rows were compared, and the first differences in words."""
    scenario = problem.scenario
    collective = collective_of(scenario)
    blocks = recorded_blocks(scenario)
    expected = expected_rows(scenario, blocks)
    capacity = max(len(rows) for _, rows in expected.values()) + _SLACK
    places = collective.threads // RECORDED_THREADS
    records = cupy.zeros((len(blocks), places, capacity, TRACE_ROW_WORDS), np.int64)
    counts = cupy.zeros((len(blocks), places), np.int32)
    problem.poison()
    kernel.launch(problem.params(0, Recording(records, counts, capacity, blocks)))
    cupy.cuda.runtime.deviceSynchronize()
    rows, lengths = cupy.asnumpy(records), cupy.asnumpy(counts)
    differences = []
    compared = 0
    for (block, thread), (role, wanted) in expected.items():
        slot, place = blocks.index(block), thread // RECORDED_THREADS
        length = int(lengths[slot, place])
        found = rows[slot, place, : min(length, capacity)]
        compared += len(wanted)
        words = difference(wanted, found, length)
        if words:
            differences.append(f"CTA {block}, {role}, thread {thread}: {words}")
    stuck = int((rows[..., 0] == TRACE_EVENTS.index("stuck")).sum())
    return {
        "ctas": list(blocks),
        "threads": len(expected),
        "rows": compared,
        "stuck": stuck,
        "different_threads": len(differences),
        "differences": differences[:6],
    }


def difference(wanted: IntArray, found: IntArray, length: int) -> str:
    """Return the first difference of two lists of rows in words; empty if they are equal."""
    for number, (one, other) in enumerate(zip(wanted, found, strict=False)):
        if (one != other).any():
            return f"row {number}: expected {row_words(one)}, found {row_words(other)}"
    return "" if length == len(wanted) else f"{length} rows, expected {len(wanted)}"


def decoded(collective: Collective, rows: IntArray) -> list[str]:
    """Return rows in words, with the names of barriers left as numbers; ``collective`` says what the barriers are."""
    names = [str(barrier) for barrier in collective.barriers]
    return [f"barriers: {' '.join(names)}", *(row_words(row) for row in rows)]
