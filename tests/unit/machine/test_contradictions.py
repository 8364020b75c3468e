"""Figures that contradict each other: all of them are found, in order; what a file says of one is in test_load.py."""

from dataclasses import replace

import pytest

from gpusim.machine import load_machine, machine_names
from gpusim.machine.contradictions import contradictions

H200 = load_machine("h200")


@pytest.mark.parametrize("name", machine_names())
def test_a_machine_that_ships_has_none(name):
    assert list(contradictions(load_machine(name))) == []


def test_every_contradiction_is_found_in_the_order_of_the_tables():
    """
    Two banks of 4 bytes bring 8 of a lane's 16, and a barrier of one warp takes as long as the semaphore.
    """
    shared = replace(H200.shared, banks=2, bank_bytes=4)
    barrier = replace(H200.barrier, base=H200.l2.semaphore - 2, per_warp=2)

    found = list(contradictions(replace(H200, shared=shared, barrier=barrier)))

    assert [(one.found, one.key) for one in found] == [
        ("2 times 4", "shared"),
        (str(H200.l2.semaphore), "l2.semaphore"),
    ]


def test_lists_of_unequal_length_are_a_contradiction_and_no_error():
    clocks = H200.launch.gpc_clocks
    shorter = replace(H200.launch, gpc_clocks=replace(clocks, apart=clocks.apart[:-1]))

    (found,) = contradictions(replace(H200, launch=shorter))

    assert found.key == "launch.gpc_clocks.apart"
    assert found.found == str(len(clocks.sms) - 1)
