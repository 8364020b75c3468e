"""What chains of instructions take on one simulated SM, worked by hand."""

import pytest

from gpusim.lab.published.programs import barrier, cycles_of_a_trip, ldmatrix, lds, mma
from gpusim.machine import load_machine

A100, H200 = load_machine("a100"), load_machine("h200")


def test_a_chain_takes_its_latency_and_many_chains_their_pipe():
    """m16n8k16 on A100: 25 cycles alone; four chains in each of two warps of an SMSP are 8 of 8 cycles each."""
    name = "m16n8k16.f16.f32"

    assert cycles_of_a_trip(A100, mma(A100, name, 1), warps=1) == 25
    assert cycles_of_a_trip(A100, mma(A100, name, 4), warps=8) == pytest.approx(64, rel=0.02)


def test_an_mma_sync_takes_hundredths_of_a_cycle_beyond_its_interval():
    """m16n8k16 on H200: 6 cycles and .11; six chains in each of two warps of an SMSP take 12 of them."""
    name = "m16n8k16.f16.f32"

    assert H200.tensor[name].beyond.percent == 11
    assert cycles_of_a_trip(H200, mma(H200, name, 6), warps=8) == pytest.approx(12 * 6.11, abs=0.2)


def test_at_the_end_of_a_loop_a_lone_warp_waits_for_its_last_mma_sync_and_a_second_one_goes_on():
    """48 mma.sync of 6.11 cycles; the last one's 24 instead of 6: 18 more. Two warps fill each other's wait."""
    body = mma(H200, "m16n8k16.f16.f32", 4, [6] * 47 + [24])

    assert len(body) == 48
    assert cycles_of_a_trip(H200, body, warps=4) == pytest.approx(48 * 6.11 + 18, abs=2)
    assert cycles_of_a_trip(H200, body, warps=8) == pytest.approx(96 * 6.11, rel=0.01)


def test_spaced_loads_wait_for_the_one_before_in_their_chain_besides():
    """Two chains of ldmatrix.x1, 23 cycles: spaced by 4 and 7, a trip takes the latency; by 20 and 20, forty cycles."""
    assert cycles_of_a_trip(A100, ldmatrix(A100, 1, 2, cycles=[4, 7]), warps=1) == 23
    assert cycles_of_a_trip(A100, ldmatrix(A100, 1, 2, cycles=[20, 20]), warps=1) == 40


def test_conflicts_lengthen_a_load_by_two_cycles_each():
    """LDS.32: 23 cycles, and 2 for each of seven more wavefronts. ldmatrix.x4 has 4 wavefronts without a conflict."""
    assert cycles_of_a_trip(A100, lds(A100, 4, 1, 1), warps=1) == 23
    assert cycles_of_a_trip(A100, lds(A100, 4, 8, 1), warps=1) == 37
    assert cycles_of_a_trip(A100, ldmatrix(A100, 4, 1), warps=1) == 29
    assert cycles_of_a_trip(A100, ldmatrix(A100, 4, 1, wavefronts=8), warps=1) == 37


def test_two_ctas_share_the_barrier():
    """A CTA of 8 warps takes 21 + 2 * 8 cycles, and two of 32 warps 2 * 64."""
    assert cycles_of_a_trip(A100, barrier(A100), warps=8) == 37
    assert cycles_of_a_trip(A100, barrier(A100), warps=32, ctas=2) == pytest.approx(128, rel=0.01)
