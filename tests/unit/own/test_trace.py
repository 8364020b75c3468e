"""The trace of a launch: what CTAs share, what each warp accesses, and barriers whose number is in a register."""

import numpy as np
import pytest
from own.traced import execution, traced

from gpusim.own.trace import joined
from gpusim.sim.core.constants import ARRAY_AT, REQUEST_AT, TENSOR_STRIDE, TRACED_ARRAY, TRACED_WAVEFRONTS

FEW = ("saxpy", "transpose_tile", "histogram_shared", "named_barriers", "constant_table")
EXECUTED = ("programs", "program", "first", "array_line", "access", "line", "instructions", "streams")
"""Fields of a trace that say what was executed."""


def test_ctas_that_execute_the_same_share_their_entries():
    """Of saxpy, only the last CTA has lanes beyond the end; all others differ in the lines of their arrays alone."""
    found = traced("saxpy")
    trace, ctas = found.trace, found.execution.launch.ctas

    assert len(trace.program) == ctas
    assert len(trace.first) == ctas * trace.warps
    assert (len(trace.programs), trace.streams) <= (2, 2)
    assert len(trace.access) < trace.instructions // 10


def test_each_cta_has_the_lines_from_which_its_arrays_count():
    """Neighbouring CTAs of saxpy are a block's words apart. Arrays are in parts of the address space of their own."""
    found = traced("saxpy")
    trace = found.trace
    lines = np.array(trace.array_line).reshape(-1, trace.arrays)
    apart = found.execution.launch.threads * 4 // 128

    assert trace.arrays == 2
    assert np.diff(lines, axis=0).tolist() == [[apart, apart]] * (len(lines) - 1)
    assert (lines // TENSOR_STRIDE == [0, 1]).all()


@pytest.mark.parametrize("name", FEW)
def test_every_warp_has_an_entry_for_each_traced_instruction_that_it_executes(name):
    """The entries of a CTA's warps follow each other; one CTA's are the last."""
    trace = traced(name).trace
    ends = set()
    for cta, program in enumerate(trace.program):
        firsts = trace.first[cta * trace.warps : (cta + 1) * trace.warps]
        counts = [path_entries(trace, begin) for begin in trace.programs[program]]
        assert [first - firsts[0] for first in firsts] == [sum(counts[:warp]) for warp in range(trace.warps)]
        ends.add(firsts[0] + sum(counts))

    assert max(ends) == len(trace.access)


def path_entries(trace, begin):
    """Traced instructions of the path whose first segment this is."""
    last, count = set(trace.paths.last[trace.paths.last >= 0].tolist()), 0
    for at in range(begin, len(trace.paths.first)):
        if trace.paths.first[at] in last:
            break
        count += trace.paths.trips[at] * int(trace.traced[trace.paths.first[at] : trace.paths.end[at]].sum())
    return count


def test_an_entry_has_the_request_array_and_wavefronts_of_its_access():
    """
    A transpose through 32 x 32 floats: a warp stores a row to shared memory in one wavefront, and loads a column in as
    many as it has lanes within the matrix. Its rows
    of 128 bytes begin within sectors of two arrays, and so touch five.
    """
    trace = traced("transpose_tile").trace
    access = np.array(trace.access)
    request, wavefronts = access >> REQUEST_AT, access & TRACED_WAVEFRONTS
    in_shared, in_global = request == 0, request > 0

    assert {0, 1, 32} < set(wavefronts[in_shared].tolist())
    assert set(wavefronts[in_global].tolist()) == {0}
    assert set((access[in_global] >> ARRAY_AT & TRACED_ARRAY).tolist()) == {0, 1}
    assert max(trace.requests.asked[one] for one in request[in_global].tolist()) == 5


def test_a_barrier_whose_number_is_in_a_register_has_an_entry_of_its_own():
    """Two groups of warps meet at two barriers with one instruction."""
    trace = traced("named_barriers").trace

    assert len({(one.at, one.barrier) for one in trace.barriers}) > 1
    assert sorted(trace.barriers.values()) == list(range(trace.entries, trace.entries + len(trace.barriers)))
    assert all(one.warps > 0 for one in trace.barriers)
    executed = {at for begin, end in zip(trace.paths.first, trace.paths.end, strict=True) for at in range(begin, end)}
    assert set(trace.barriers.values()) <= executed


@pytest.mark.parametrize("name", FEW)
def test_a_slice_has_the_trace_of_the_whole_kernel(name):
    whole, part = traced(name, sliced=False).trace, traced(name).trace

    assert [getattr(whole, field) for field in EXECUTED] == [getattr(part, field) for field in EXECUTED]
    assert (whole.paths.first, whole.paths.end, whole.paths.trips) == (
        part.paths.first,
        part.paths.end,
        part.paths.trips,
    )
    assert (whole.requests.line, whole.requests.mask) == (part.requests.line, part.requests.mask)


def test_joined_pieces_are_one_execution():
    """Steps of accesses count on from those of the pieces before."""
    pieces = list(execution("saxpy").run())
    both = joined(pieces[:2])

    assert both.steps.tolist() == [*pieces[0].steps, *pieces[1].steps]
    assert both.accesses.tolist() == [*pieces[0].accesses, *(pieces[1].accesses + len(pieces[0].steps))]
    assert np.array_equal(both.steps[both.accesses[-1:]], pieces[1].steps[pieces[1].accesses[-1:]])
    assert joined(pieces[:1]) is pieces[0]
