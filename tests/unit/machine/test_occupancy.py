"""The occupancy that follows from a machine's limits."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.machine import ctas_per_sm, load_machine, machine_names


@pytest.mark.parametrize(
    ("threads", "registers", "shared_bytes", "ctas", "limiter"),
    [
        (128, 96, 81920, 2, "shared_memory"),
        (128, 120, 18944, 4, "registers"),
        (128, 120, 65536, 3, "shared_memory"),
        (128, 124, 42496, 4, "registers"),
        (128, 228, 49152, 2, "registers"),
        (128, 228, 65536, 2, "registers"),
        (128, 234, 49152, 2, "registers"),
        (128, 242, 98304, 2, "registers"),
        (128, 250, 32768, 2, "registers"),
        (128, 254, 98304, 2, "registers"),
        (128, 255, 98304, 2, "registers"),
        (256, 224, 73728, 1, "registers"),
    ],
)
def test_occupancy_is_what_the_driver_reports_on_h200(threads, registers, shared_bytes, ctas, limiter):
    occupancy = ctas_per_sm(load_machine("h200"), threads, registers, shared_bytes)

    assert (occupancy.ctas, occupancy.limiter) == (ctas, limiter)


@pytest.mark.parametrize(
    ("threads", "registers", "shared_bytes", "limiter"),
    [
        (2048, 32, 0, "warps"),
        (128, 256, 0, "registers"),
        (1024, 96, 0, "registers"),
        (128, 32, 232449, "shared_memory"),
    ],
)
def test_a_kernel_beyond_a_limit_does_not_fit(threads, registers, shared_bytes, limiter):
    occupancy = ctas_per_sm(load_machine("h200"), threads, registers, shared_bytes)

    assert (occupancy.ctas, occupancy.limiter) == (0, limiter)


def test_small_ctas_are_limited_by_their_number_and_large_ones_by_warps():
    machine = load_machine("h200")

    assert dataclasses.astuple(ctas_per_sm(machine, 32, 16, 0)) == (32, "ctas")
    assert dataclasses.astuple(ctas_per_sm(machine, 1024, 32, 0)) == (2, "warps")
    assert dataclasses.astuple(ctas_per_sm(load_machine("t4"), 64, 16, 0)) == (16, "warps")


@given(
    name=st.sampled_from(machine_names()),
    threads=st.integers(1, 1024),
    registers=st.integers(1, 255),
    shared_bytes=st.integers(0, 232448),
)
def test_resident_ctas_fit_and_more_use_never_lets_more_in(name, threads, registers, shared_bytes):
    machine = load_machine(name)
    ctas = ctas_per_sm(machine, threads, registers, shared_bytes).ctas

    assert ctas * -(-threads // 32) <= machine.limits.max_warps
    assert ctas * -(-threads // 32) * 32 * registers <= machine.limits.registers
    assert ctas * (shared_bytes + machine.limits.shared_reserved_per_cta) <= machine.limits.shared_bytes
    assert ctas_per_sm(machine, threads, registers + 1, shared_bytes).ctas <= ctas
    assert ctas_per_sm(machine, threads, registers, shared_bytes + 1).ctas <= ctas


@pytest.mark.parametrize(("barriers", "ctas"), [(0, 16), (2, 16), (3, 16), (5, 12), (8, 8), (12, 5), (16, 4)])
def test_named_barriers_limit_the_ctas_of_an_sm(barriers, ctas):
    """An H200 has 64: it holds 16 CTAs of four warps, and fewer if each has more than four barriers (residents.csv)."""
    found = ctas_per_sm(load_machine("h200"), 128, 16, 0, barriers)

    assert found.ctas == ctas
    assert (found.limiter == "barriers") == (ctas < 16)
