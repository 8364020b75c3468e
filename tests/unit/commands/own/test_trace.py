"""``gpusim trace`` of a run of a kernel of one's own."""

from pathlib import Path

import pytest
from doubles.perfetto_reader import read_trace

pytestmark = pytest.mark.usefixtures("folder_of_kernels")


def test_a_run_becomes_a_trace_of_the_warps_of_a_cta(gpusim):
    gpusim("run", "transpose_tile.toml", "--out", "run")

    answer = gpusim("trace", "run")

    assert answer.out == "run/trace.pftrace\n"
    trace = read_trace(Path("run/trace.pftrace").read_bytes())
    assert sum(track.HasField("thread") for track in trace.tracks.values()) == 8


def test_another_format_is_refused(gpusim):
    gpusim("run", "transpose_tile.toml", "--out", "run")

    answer = gpusim("trace", "run", "--format", "kanata")

    assert (answer.code, answer.err) == (2, "gpusim: --format must be perfetto for a kernel of your own, got kanata\n")
