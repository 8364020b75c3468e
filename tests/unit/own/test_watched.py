"""The log of a watched CTA: its states tile the warps' lives, and its issues are the path of each warp."""

import numpy as np
import pytest
from own.build import cubin_of

import gpusim
from gpusim.own import watched
from gpusim.own.paths import Paths
from gpusim.own.timed import TracedExecution
from gpusim.own.watched import executed_by


@pytest.fixture(scope="module")
def logged(tmp_path_factory):
    """A launch of 4 CTAs of 8 warps with a loop and a barrier, CTA 2 watched: its log, and what its warps executed."""
    path = tmp_path_factory.mktemp("logged") / "k.cubin"
    path.write_bytes(cubin_of("transpose_tile", 80))
    bound = gpusim.kernel(path, "transpose_tile", machine="a100")[(2, 2), (32, 8)]
    arrays = (np.zeros((64, 64), dtype=np.float32), np.zeros((64, 64), dtype=np.float32))
    execution = bound.execution((*arrays, 64, 64), sliced=True)
    traced = TracedExecution(execution, bound.machine)
    executed = {}
    for piece in traced.run():
        if piece.cta == 2:
            for warp in range(8):
                executed.setdefault(warp, []).extend(piece.steps[piece.warps == warp].tolist())
    return traced, traced.time(watched=2).log, executed


def test_states_tile_the_life_of_each_warp(logged):
    _, log, _ = logged

    assert (log.cta, len(log.warps)) == (2, 8)
    for warp in log.warps:
        assert warp.begin[0] == 0
        assert warp.begin[1:] == warp.end[:-1]


def test_issues_are_the_instructions_that_the_warp_executed(logged):
    _, log, executed = logged

    for warp in log.warps:
        issued = [row for row, reason in zip(warp.row, warp.reason, strict=True) if log.reasons[reason] == "selected"]
        assert issued == executed[warp.warp]


def test_a_state_names_the_instruction_that_is_issued_next(logged):
    _, log, _ = logged

    for warp in log.warps:
        for at in range(len(warp.row) - 1):
            assert log.reasons[warp.reason[at]] == "selected" or warp.row[at] == warp.row[at + 1]


def test_watching_a_cta_changes_no_cycle(logged):
    traced, *_ = logged

    assert traced.time().cycles == traced.time(watched=0).cycles
    assert traced.time().log is None


def test_of_a_long_cta_the_first_cycles_are_logged(logged, monkeypatch):
    traced, whole, _ = logged
    monkeypatch.setattr(watched, "MOST_STATES", 100)

    cut = traced.time(watched=2).log

    for short, long in zip(cut.warps, whole.warps, strict=True):
        assert short.begin == long.begin[: len(short.begin)]
    assert sum(len(warp.begin) for warp in cut.warps) < sum(len(warp.begin) for warp in whole.warps)


def test_a_path_is_read_back_from_its_segments():
    """Instructions 0 to 2, twice 1 and 2 again, and the exit 3, whose entry as a last instruction is 4."""
    paths = Paths(np.array([-1, -1, -1, 4]))
    path = np.array([0, 1, 2, 1, 2, 1, 2, 3])
    paths.add(np.array([0, 3]))
    number = paths.add(path)

    assert executed_by(paths, paths.begins[number], np.array([0, 1, 2, 3, 3])).tolist() == path.tolist()
