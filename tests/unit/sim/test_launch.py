"""Which CTAs of a launch are of the first wave."""

from doubles.published import H200
from problems.small import small_gemm

from gpusim.families.gemm.timed import TimedTileKernel
from gpusim.sim.launch import Launch


def test_the_first_wave_ends_where_every_sm_is_full(monkeypatch):
    kernel, waves = TimedTileKernel(small_gemm(64 * 20, 64 * 20, 64), H200), []
    found = kernel.found
    monkeypatch.setattr(
        kernel, "found", lambda cta, *, first_wave: waves.append(first_wave) or found(cta, first_wave=first_wave)
    )
    launch = Launch(kernel, {0: kernel.stream(0, "estimated")}, 2)
    launch.run((0, 2 * 132 - 1, 2 * 132), sms=1, share=1, walk=None, watched=0)

    assert waves == [True, True, False]
