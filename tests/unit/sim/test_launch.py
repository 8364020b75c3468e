"""Which CTAs of a launch are of the first wave, and what is counted of a sampled one."""

from types import SimpleNamespace

import pytest
from doubles.published import H200
from problems.small import small_gemm

from gpusim.families.gemm.timed import TimedTileKernel
from gpusim.sim.launch import Launch, watched_cta, written_bytes


def test_the_first_wave_ends_where_every_sm_is_full(monkeypatch):
    kernel, waves = TimedTileKernel(small_gemm(64 * 20, 64 * 20, 64), H200), []
    found = kernel.found
    monkeypatch.setattr(
        kernel, "found", lambda cta, *, first_wave: waves.append(first_wave) or found(cta, first_wave=first_wave)
    )
    launch = Launch(kernel, {0: kernel.stream(0, "estimated")}, 2)
    launch.run((0, 2 * 132 - 1, 2 * 132), sms=1, share=1, walk=None, watched=0)

    assert waves == [True, True, False]


def test_the_cta_to_watch_has_most_work_and_is_the_first_of_several():
    work = {0: 3, 1: 5, 2: 5, 3: 4}
    launch = SimpleNamespace(kernel=SimpleNamespace(work=work.__getitem__))

    assert watched_cta(launch, [3, 2, 1, 0]) == 1
    assert watched_cta(launch, [0, 3]) == 3


HELD = 31_457_280
"""Bytes that one partition of the L2 holds."""


@pytest.mark.parametrize(
    ("read", "stored", "written"),
    [
        (0, 0, 0),
        (HELD, 0, 0),
        (HELD // 4, HELD // 2, 0),
        (0, 3 * HELD, 2 * HELD),
        (HELD, HELD, HELD // 2),
        (3 * HELD, HELD, 3 * HELD // 4),
    ],
)
def test_what_the_l2_cannot_hold_of_what_was_stored_is_written(read, stored, written):
    """It ends with as much of what was read and of what was stored as their proportion says."""
    assert written_bytes(H200, read, stored) == written
