"""The barrier unit: its arrivals, one after the other."""

from doubles.published import H200
from gpusim.sim.barrier import BarrierUnit
from gpusim.sim.cta import Cta


def test_the_barrier_unit_takes_one_arrival_each_2_cycles():
    """Arrivals at 0, 0, 10: the unit is free at 2, 4, 12, and 22 cycles later all go. Then it begins afresh."""
    unit = BarrierUnit(H200.barrier)
    cta = Cta(0, None, warps=3, remaining=3, launched=0)

    assert [unit.arrive(cta, at) for at in (0, 0, 10)] == [None, None, 34]
    assert [unit.arrive(cta, at) for at in (50, 50, 50)] == [None, None, 78]
