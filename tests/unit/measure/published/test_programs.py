"""What chains of instructions take on one simulated SM, worked by hand."""

import pytest

from gpusim.machine import load_machine
from gpusim.measure.published.programs import barrier, cycles_of_a_trip, ldmatrix, lds, mma

A100 = load_machine("a100")


def test_a_chain_takes_its_latency_and_many_chains_their_pipe():
    """m16n8k16 on A100: 25 cycles alone; four chains in each of two warps of an SMSP are 8 of 8 cycles each."""
    name = "m16n8k16.f16.f32"

    assert cycles_of_a_trip(A100, mma(A100, name, 1), warps=1) == 25
    assert cycles_of_a_trip(A100, mma(A100, name, 4), warps=8) == pytest.approx(64, rel=0.02)


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
