"""What a launch's CTAs execute, beside what its schedule says."""

import pytest

from gpusim.families.registry import family_of, load_scenario
from gpusim.machine import load_machine
from gpusim.scenario.catalogue import find_scenario
from gpusim.schedule.counts import count_all
from gpusim.sim.executed import executed
from gpusim.verbs.simulate import launch_of


def counted(name):
    """What the first launch of a scenario executes, with what its schedule counts."""
    scenario = load_scenario(find_scenario(name))
    kernels = family_of(scenario).timing.timed_kernels(scenario, load_machine(scenario.machine))
    launch = launch_of(kernels[0], "estimated")
    return executed(launch), count_all(kernels[:1]), launch


@pytest.mark.parametrize("name", ["conv_9_k_tiles", "gemm_ragged", "gemm_split_k_parallel", "attention_d32_512"])
def test_matrix_instructions_are_those_of_the_schedule(name):
    found, counts, _ = counted(name)

    assert found.mmas == sum(
        number for metric, number in counts.counters().items() if "inst_executed_pipe_tensor" in metric
    )


def test_pipes_and_matrix_instructions_are_some_of_the_instructions():
    found, _, launch = counted("gemm_ragged")

    assert 0 < sum(found.pipes.values()) + found.mmas < launch.instructions


def test_a_convolution_may_write_zeros_in_every_copy():
    found, counts, _ = counted("conv_9_k_tiles")

    assert found.zero_filling == sum(row.wavefronts for row in counts.bank_conflicts if row.op == "ldgsts") > 0


def test_a_gemm_may_write_zeros_in_its_prologue_alone():
    """Of 3 stages two are filled by the prologue, one copy each of as many k tiles as there are, and of the overrun."""
    found, counts, _ = counted("gemm_ragged")

    assert 0 < found.zero_filling < sum(row.wavefronts for row in counts.bank_conflicts if row.op == "ldgsts")


def test_a_kernel_that_copies_through_registers_writes_no_zeros():
    assert counted("gemm_pipelined_ragged")[0].zero_filling == 0
