"""The MIO and its one data stage, with the arithmetic on paper."""

import pytest
from doubles.published import H200
from gpusim.sim.shared_memory import SharedMemory
from hypothesis import given
from hypothesis import strategies as st

from gpusim.machine import load_machine


def test_the_data_stage_serves_one_wavefront_a_cycle():
    """Four SMSPs, 8 wavefronts each, at 0: they leave at 1, 9, 17, 25. What needs no stage leaves 2 cycles later."""
    memory = SharedMemory(H200)
    log = [memory.dispatch(smsp, 0, 8) for smsp in range(4)]

    assert log == [1, 9, 17, 25]
    assert memory.dispatch(0, 0, 0) == 25 + H200.mio.sm_interval
    assert memory.wavefronts == 32


def test_instructions_of_one_smsp_leave_in_order_and_at_its_interval():
    memory = SharedMemory(H200)

    assert [memory.dispatch(0, at, wavefronts) for at, wavefronts in ((0, 1), (1, 0), (2, 1))] == [1, 5, 9]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 6), st.integers(0, 32)), min_size=1, max_size=60))
def test_the_data_stage_is_never_in_two_places(requests):
    """Whatever the order: each access has its wavefronts to itself, and each SMSP keeps its order."""
    memory = SharedMemory(H200)
    now, taken, last = 0, 0, [0] * 4
    for smsp, gap, wavefronts in requests:
        now += gap
        leaves = memory.dispatch(smsp, now, wavefronts)
        assert leaves > now
        assert leaves > last[smsp]
        last[smsp] = leaves
        if wavefronts:
            assert leaves >= taken
            taken = leaves + wavefronts


def test_a_load_returns_64_bytes_a_cycle_to_its_smsp():
    """ldmatrix.x4, 512 bytes: 8 cycles each. Dispatched at 0, 1, 2 they leave at 1, 5, 9 and land at 29, 37, 45."""
    memory = SharedMemory(H200)
    log = []
    for at in range(3):
        leaves = memory.dispatch(0, at, 4)
        log.append((leaves, memory.returned(0, leaves, 4, 512, 23)))

    assert log == [(1, 29), (5, 37), (9, 45)]


def test_each_further_wavefront_adds_its_latency():
    """23, 25, 29, 37 for 1, 2, 4, 8 ways. Source: Sun et al. 2022, table 10, A100."""
    log = []
    for ways in (1, 2, 4, 8):
        memory = SharedMemory(load_machine("a100"))
        log.append(memory.returned(0, memory.dispatch(0, 0, ways), ways, 128, 23))

    assert log == [23, 25, 29, 37]


@pytest.mark.parametrize(("name", "cycles"), [("a100", 32), ("rtx3090", 63), ("rtx4090", 63)])
def test_an_sm_of_ga100_takes_a_memory_instruction_each_cycle_one_of_ga10x_every_other(name, cycles):
    """
    8 warps with 4 ldmatrix.x1 each, of one wavefront: 32.1 cycles on A100 (Sun et al. 2022, table 9).

    On GA10x four busy sub-cores send one each every 8 cycles (Huerta et al. 2025, table 1): 1 + 2 * 31.
    """
    memory = SharedMemory(load_machine(name))

    assert max(memory.dispatch(smsp, 0, 1) for _ in range(8) for smsp in range(4)) == cycles
