"""Kernels with a planted race or unwritten read, and their twins without: each is found, and nothing else."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gpusim.execute import run
from gpusim.execute.checks import memory
from gpusim.schedule.warp_events import Effect

SOURCE = Path(__file__).parents[1] / "data" / "checks.cu"
LINES = SOURCE.read_text().splitlines()

WITHOUT = (
    *("turned", "turned_within_warps", "rounds_safe", "tallied_safe", "handed_over_safe", "copied_safe"),
    *("copied_for_itself", "copied_in_stages", "left_early", "bytes_apart", "transposed_plain", "rows_of_float4"),
)

WITH = {
    "turned_early": {("s[threadIdx.x] = x[threadIdx.x];", "y[threadIdx.x] = s[THREADS - 1 - threadIdx.x];")},
    "overwritten": {("s[threadIdx.x % 32] = threadIdx.x;",) * 2},
    "rounds_unsafe": {("s[threadIdx.x] = x[THREADS * round + threadIdx.x];", "sum += s[THREADS - 1 - threadIdx.x];")},
    "handed_over_unsafe": {("y[64 * round + thread] = s[63 - thread];", "s[thread] = x[64 * round + thread];")},
    "halves_apart": {("s[threadIdx.x] = x[threadIdx.x];", "y[threadIdx.x] = s[(threadIdx.x + 32) % THREADS];")},
}
"""Kernels with a race, and the two lines of each race."""


def launched(kernel, ctas=2, **options):
    """Launch a kernel with arrays that are large enough for each."""
    sizes = [size for _, size in kernel.cubin.parameters]
    arrays = [np.zeros(4096, np.int32) if size == 8 else 1 for size in sizes]
    return kernel[ctas, 128](*arrays, **options)


def line_of(access):
    """The source line of an access that is in no inlined function, or in one of checks.cu."""
    assert access.place.startswith("checks.cu:")
    return LINES[int(access.place.split(",")[0].partition(":")[2]) - 1].strip()


def pairs_of(found):
    return {frozenset((race.first.address, race.second.address)) for race in found.races}


@pytest.mark.parametrize("entry", WITHOUT)
def test_a_kernel_without_a_race_or_an_unwritten_read_has_none(checks, entry):
    found = launched(checks(entry)).findings

    assert (found.races, found.unwritten_reads, found.unchecked) == ((), (), None)
    assert str(found) == ""


@pytest.mark.parametrize("entry", WITH)
def test_a_race_is_found_with_both_source_lines(checks, entry):
    done = launched(checks(entry))

    assert {tuple(map(line_of, (race.first, race.second))) for race in done.races} == WITH[entry]
    assert {race.ctas for race in done.races} == {2}
    assert all(race.first.warp != race.second.warp for race in done.races)
    assert done.unwritten_reads == ()


def test_a_race_is_told_with_kernel_cta_threads_address_instructions_and_lines(checks):
    """Thread 127 reads s[0], which thread 0 writes."""
    done = launched(checks("turned_early"), ctas=1)

    assert str(done.races[0]) == (
        "turned_early: CTA (0, 0, 0): race at shared address 0x0: warp 0, thread 0 writes it in text 0x0080 STS"
        " [R9.X4], R2 (checks.cu:15), warp 3, thread 127 reads it in text 0x00a0 LDS R7, [R0.X4] (checks.cu:17), and no"
        " barrier lies between"
    )
    assert str(done.races[0]) in str(done).splitlines()


def test_a_text_has_one_race_of_each_pair_of_lines_and_says_how_many_more_there_are(checks):
    (race,) = launched(checks("overwritten")).races
    unrolled = [replace(race, first=replace(race.first, address=16 * at)) for at in range(9)]
    apart = [replace(race, first=replace(race.first, place=f"k.cu:{line}")) for line in range(7)]
    nowhere = [replace(race, first=replace(one.first, place="")) for one in unrolled]

    assert len(str(memory.MemoryFindings(tuple(unrolled))).splitlines()) == 1
    assert str(memory.MemoryFindings(tuple(apart))).splitlines()[-1] == "3 more races"
    assert str(memory.MemoryFindings(tuple(nowhere))).splitlines()[-1] == "5 more races"


def test_atomic_operations_race_with_stores_and_not_with_each_other(checks):
    (race,) = launched(checks("tallied_unsafe")).races

    assert (race.first.effect, race.second.effect) == (Effect.WRITE, Effect.ATOMIC)


@pytest.mark.parametrize(
    ("entry", "missing"),
    [
        ("copied_without_wait", "no wait for the copy with a barrier behind it lies between"),
        ("copied_for_itself_without_wait", "no wait for the copy lies between"),
    ],
)
def test_a_copy_that_nobody_waits_for_races_with_its_readers(checks, entry, missing):
    (race,) = launched(checks(entry)).races

    assert race.first.effect is Effect.ASYNC_WRITE
    assert str(race).endswith(missing)


def test_a_read_of_what_nobody_wrote_is_named(checks):
    (read,) = launched(checks("shifted")).unwritten_reads

    assert (read.byte, read.access.thread, read.ctas) == (4 * 128, 127, 2)
    assert str(read) == (
        "shifted: CTA (0, 0, 0): nobody wrote shared address 0x200: warp 3, thread 127 reads it in text 0x0090 LDS R7,"
        " [R9.X4+0x4] (checks.cu:151)"
    )


def test_a_barrier_whose_number_is_in_a_register_leaves_the_order_unknown(checks):
    found = launched(checks("computed_barrier")).findings

    assert found.races == ()
    assert str(found) == (
        "races were not looked for in CTA (0, 0, 0): the number or count of a barrier is in a register"
    )


@pytest.mark.parametrize("entry", [*WITHOUT, *WITH, "shifted", "copied_without_wait", "tallied_unsafe"])
def test_a_trace_in_many_pieces_has_the_same_findings(checks, monkeypatch, entry):
    whole = launched(checks(entry)).findings
    monkeypatch.setattr(run, "STEPS_AT_ONCE", 7)
    monkeypatch.setattr(memory, "ROWS_AT_ONCE", 3)

    pieces = launched(checks(entry)).findings

    assert pairs_of(pieces) == pairs_of(whole)
    assert pieces.unwritten_reads == whole.unwritten_reads
    assert pieces.unchecked is None
