"""Own kernels in time: what a launch takes, of which instructions, and which launches have no time."""

import re
from dataclasses import replace

import numpy as np
import pytest
from own.build import TARGETS
from own.traced import execution, traced

from gpusim.errors import BadInput, Unsupported
from gpusim.lab.own.table import OWN_KERNELS
from gpusim.machine import load_machine
from gpusim.own import timed
from gpusim.own.timed import TracedExecution
from gpusim.sim.stall_reasons import REASONS, SELECTED

FEW = ("saxpy", "transpose_tile", "named_barriers", "atomic_kinds", "reduce_shuffle_float", "mma_fp16")
EVERY = [
    pytest.param(kernel.name, target, marks=() if kernel.name in FEW and target == 90 else pytest.mark.slow)
    for kernel in OWN_KERNELS
    for target in TARGETS
    if kernel.needs <= target
]


@pytest.mark.compiled
@pytest.mark.parametrize(("name", "target"), EVERY)
def test_every_issue_and_every_stall_has_its_instruction(name, target):
    """The rows of instructions sum up to the launch; each instruction issues as often as it was executed."""
    found = traced(name, target)
    issued = np.zeros(len(found.execution.code), dtype=np.int64)
    for piece in execution(name, target).run():
        np.add.at(issued, piece.steps, 1)

    time = found.time()

    assert time.instructions == found.trace.instructions == issued.sum()
    assert time.by_instruction[:, SELECTED].tolist() == issued.tolist()
    assert {
        reason: int(own) for reason, own in zip(REASONS, time.by_instruction.sum(axis=0), strict=True) if own
    } == dict(time.stalls)
    assert 0 < time.active <= time.cycles


def test_a_launch_has_one_time():
    first, second = (traced("transpose_tile").time() for _ in range(2))

    assert np.array_equal(first.by_instruction, second.by_instruction)
    assert (first.cycles, first.active, first.dram_read) == (second.cycles, second.active, second.dram_read)


def test_evaluating_accesses_of_fewer_ctas_together_changes_nothing(monkeypatch):
    whole = traced("histogram_shared")
    monkeypatch.setattr(timed, "STEPS_TOGETHER", 1)
    single = traced("histogram_shared")

    assert whole.trace.streams == single.trace.streams
    assert np.array_equal(whole.time().by_instruction, single.time().by_instruction)


def test_a_copy_reads_each_byte_once_from_dram():
    """saxpy reads x and y. The L2 keeps what is stored."""
    found = traced("saxpy")
    arrays = sum(one.size for one in found.execution.image.allocations)

    assert found.time().dram_read == pytest.approx(arrays, rel=0.05)
    assert found.time().dram_written == 0


def test_bank_conflicts_cost_time():
    """The same transposition, with and without a column of padding."""
    assert traced("transpose_tile").time().cycles > traced("transpose_padded").time().cycles


def test_the_shared_memory_of_a_cta_is_without_what_the_system_reserves():
    """sm_90's cubins have the 1,024 reserved bytes; 32 x 32 floats are 4,096."""
    assert [traced("transpose_tile", target).shared_bytes for target in (80, 90)] == [4096, 4096]


def test_a_cta_that_fits_on_no_sm_is_refused():
    found = traced("transpose_tile")
    limits = replace(found.machine.limits, threads_per_cta=32)
    found.machine = replace(found.machine, limits=limits)

    with pytest.raises(BadInput, match="threads"):
        found.occupancy()


def test_a_kernel_whose_instruction_has_no_pipe_is_refused_by_name():
    """Its counts are there: it was executed."""
    found = traced("saxpy")
    at = int(next(place for place, one in enumerate(found.execution.code) if one and one.name == "FFMA"))
    code = list(found.execution.code)
    code[at] = replace(code[at], mnemonic="DMMA.884")
    found.execution.code = tuple(code)

    with pytest.raises(Unsupported, match=re.escape("saxpy: the time of an instruction is not simulated: DMMA has no")):
        found.time()


def test_a_watched_cta_changes_no_cycle():
    plain, watched = traced("named_barriers").time(), traced("named_barriers").time(watched=0)

    assert watched.log is not None
    assert (plain.log, plain.cycles) == (None, watched.cycles)


@pytest.mark.parametrize("machine", ["a100", "t4", "rtx4090", "h100_sxm"])
def test_other_machines_have_times_of_their_own(machine):
    target = min(90, load_machine(machine).compute_capability)
    found = TracedExecution(execution("saxpy", target, sliced=True), load_machine(machine))
    for _ in found.run():
        pass

    assert found.time().cycles > 0
