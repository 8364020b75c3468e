"""Simulated stamps: which instruction reads which clock, and that their times are in the order of the program."""

from dataclasses import replace

import numpy as np
import pytest

from gpusim.cuda.timeline_format import HEADER_WORDS, NOT_STAMPED, row_words
from gpusim.errors import CheckFailed
from gpusim.lab.stamps.phases import TIMES, times_of
from gpusim.lab.stamps.simulated import simulated_stamps, stamp_places
from gpusim.results.program import issue_cycles
from gpusim.results.timeline import Timeline
from gpusim.verbs.simulate import launch_of, simulated

pytestmark = pytest.mark.compiler("nvcc")


def test_every_place_of_a_k_tile_has_a_clock_read_in_the_program_s_order(kernel):
    """Fragments of a k group are loaded while the one before is multiplied; what is multiplied was loaded before."""
    places = stamp_places(kernel)
    words = row_words(kernel.stamped.k_groups)

    for row in range(7):
        _, waited, passed, *groups = (places[HEADER_WORDS + row * words + word] for word in range(words))
        loaded, began, ended = np.array(groups).reshape(-1, 3).T
        assert waited < passed
        assert (loaded < began).all()
        assert (began < ended).all()
        assert (ended[:-1] < began[1:]).all()
        assert len({waited, passed, *groups}) == words - 1
    assert [places[word] for word in (0, 6, 8, 10)] == sorted({places[word] for word in (0, 6, 8, 10)})


def test_times_ascend_and_all_warps_begin_at_or_behind_the_first(kernel):
    warps = simulated_stamps(kernel, simulated(launch_of(kernel, "compiled")))
    times = times_of(warps[0], kernel.stamped)

    assert [times[name] for name in TIMES] == sorted(times.values())
    assert min(warp.begin for warp in warps) == 0
    assert [warp.k_tiles for warp in warps] == [7] * 4
    assert (warps[0].mma_end[:7] != NOT_STAMPED).all()
    assert (np.diff(warps[0].wait_end[:7]) > 0).all()


def test_what_is_waited_for_parameters_lies_behind_the_first_stamp(kernel):
    launch = simulated(launch_of(kernel, "compiled"))
    spans = [span for span in launch.outcome.timeline.warps if span.warp == 0]
    issued, places = issue_cycles(spans), stamp_places(kernel)
    waited = sum(span.end - span.begin for span in spans if span.reason == "imc_miss")
    warp = simulated_stamps(kernel, launch)[0]

    assert waited > 0
    assert warp.copy_issue[0] - warp.begin == issued[places[HEADER_WORDS]] - issued[places[0]] + waited


def test_a_launch_of_which_nothing_was_watched_is_refused(kernel):
    launch = simulated(launch_of(kernel, "compiled"))
    unseen = replace(launch, outcome=replace(launch.outcome, timeline=Timeline((), ())))

    with pytest.raises(CheckFailed, match="block 0 is recorded, but is not the CTA that is watched"):
        simulated_stamps(kernel, unseen)
