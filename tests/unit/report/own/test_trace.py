"""The Perfetto trace of a kernel of one's own, read back by a strict reader."""

from doubles.perfetto_reader import read_trace
from problems.own_answers import own_answer, own_log

from gpusim.report.own.trace import kernel_trace
from gpusim.results.kernel_warps import WarpLog


def test_a_warp_is_a_thread_whose_slices_are_its_states():
    trace = read_trace(kernel_trace(own_answer(), own_log()))

    (warp,) = [number for number, track in trace.tracks.items() if track.HasField("thread")]
    assert trace.tracks[warp].thread.thread_name == "warp 0 (SMSP 2)"
    own = [(one.begin, one.end, one.name) for one in trace.slices if one.track == warp]
    assert own == [(0, 1, "selected"), (1, 5, "long_scoreboard"), (5, 6, "selected")]


def test_a_slice_names_the_instruction_and_its_source_line():
    trace = read_trace(kernel_trace(own_answer(), own_log()))

    notes = [one.notes for one in trace.slices if one.name == "long_scoreboard"]
    assert notes == [{"instruction": "0x0020 FADD R2, R2, R2", "source": "k.cu:4"}]


def test_equal_inputs_give_equal_bytes_and_an_empty_log_a_trace():
    assert kernel_trace(own_answer(), own_log()) == kernel_trace(own_answer(), own_log())
    assert kernel_trace(own_answer(), WarpLog(0, ("selected",), (), ()))
