"""A deadlock is explained in one line, and found at once."""

from time import perf_counter

import pytest
from problems.hopper import hopper

from gpusim.families.hopper.execute.cluster import INTERLEAVINGS
from gpusim.families.hopper.execute.grid import run_grid
from gpusim.families.hopper.execute.mutations import HOPPER_MUTATIONS
from gpusim.families.hopper.execute.program import cluster_programs
from gpusim.families.hopper.execute.tensors import draw_tensors
from gpusim.families.hopper.program.ops import SyncNamed, TmaLoad

SCENARIO = hopper({"m": 128, "n": 128, "k": 512}, {"stages": 3})
CLUSTER = hopper({"m": 256, "n": 128, "k": 128}, {"cluster": [2, 1], "stages": 3})


def deadlocks(scenario, change):
    broken = tuple(map(change, cluster_programs(scenario)))
    done = run_grid(scenario, draw_tensors(scenario.problem, 0), broken, None, INTERLEAVINGS[:1])
    return [hazard.message for hazard in done.hazards if hazard.name == "deadlock"]


def without(left_out):
    def change(cta, role):
        return tuple(op for op in role.ops if not left_out(cta, role, op))

    return lambda program: program.with_ops(change)


def test_an_arrival_too_few():
    """Each consumer's threads arrive but for one, so the fourth k tile waits for its slot for ever."""
    expected = (
        "producer of CTA (0, 0, 0) waits for phase 0 (parity 0) of mainloop.empty[0] to load k tile 3 into stage 0: "
        "254 of 256 arrivals came; all who arrive there have arrived, so the arrivals are miscounted; "
        "2 other roles wait behind it"
    )

    assert deadlocks(SCENARIO, HOPPER_MUTATIONS["one_arrival_too_few"]) == [expected]


def test_roles_that_wait_for_one_another():
    expected = (
        "producer of CTA (0, 0, 0) waits for phase 0 (parity 0) of mainloop.empty[0] to load k tile 0 into stage 0: "
        "0 of 256 arrivals came; consumer 0 of CTA (0, 0, 0) would have to arrive and waits for phase 0 (parity 0) of "
        "mainloop.full[0], of which 0 of 1 arrivals came; consumer 1 of CTA (0, 0, 0) would have to arrive and waits "
        "for phase 0 (parity 0) of mainloop.full[0], of which 0 of 1 arrivals came; 2 other roles wait behind it"
    )

    assert deadlocks(SCENARIO, HOPPER_MUTATIONS["empty_phase_turned"]) == [expected]


def test_bytes_that_nobody_brings():
    expected = (
        "consumer 0 of CTA (0, 0, 0) waits for phase 0 (parity 0) of mainloop.full[0] to multiply k tile 0 in stage 0: "
        "1 of 1 arrivals and 32768 of 32784 bytes came; no load brings the rest: the bytes are miscounted, or a load "
        "goes to another CTA; 2 other roles wait behind it"
    )

    assert deadlocks(SCENARIO, HOPPER_MUTATIONS["too_many_bytes"]) == [expected]


def test_a_role_that_ended():
    """The producer of one CTA loads its first k tile only; its slice of B never reaches the other CTA, either."""
    change = without(lambda cta, _, op: cta.place.rank == 1 and isinstance(op, TmaLoad) and op.k_tile == 1)

    (message,) = deadlocks(CLUSTER, change)

    assert message.startswith(
        "consumer 0 of CTA (0, 0, 0) waits for phase 0 (parity 0) of mainloop.full[1] to multiply k tile 1 in stage 1: "
        "1 of 1 arrivals and 24576 of 32768 bytes came"
    )


def test_a_named_barrier_that_a_role_leaves_out():
    change = without(lambda _, role, op: role.name == "consumer 0" and isinstance(op, SyncNamed))

    expected = (
        "consumer 1 of CTA (0, 0, 0) waits for named barrier 1 before it ends: 128 of 256 threads came; all who arrive "
        "there have arrived, so the arrivals are miscounted"
    )

    assert deadlocks(SCENARIO, change) == [expected]


@pytest.mark.parametrize("mutation", ["empty_phase_turned", "one_arrival_too_few", "too_many_bytes"])
def test_it_is_found_in_less_than_a_second(mutation):
    begin = perf_counter()
    deadlocks(replace_stages(6), HOPPER_MUTATIONS[mutation])

    assert perf_counter() - begin < 1


def replace_stages(stages):
    return SCENARIO.replace(kernel={"stages": stages})
