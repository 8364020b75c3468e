"""Makes the ops of a GEMM's or convolution's tile kernel; this is the one place that chooses a mainloop."""

from functools import lru_cache

from gpusim.numerics.output_op import slice_output_op
from gpusim.scenario.gemm import GemmScenario
from gpusim.schedule import multistage
from gpusim.schedule.epilogue import epilogue_ops
from gpusim.schedule.mainloop import MainloopPolicy, MainloopShape, shape_of
from gpusim.schedule.ops import Program
from gpusim.schedule.pipelined import PIPELINED
from gpusim.tile.operand import Side


def mainloop_policy(scenario: GemmScenario) -> MainloopPolicy:
    """Return the mainloop policy of the scenario's kernel."""
    if scenario.kernel.mainloop == "pipelined":
        return PIPELINED
    return multistage.CONVOLUTION_POLICY if scenario.problem.implicit else multistage.GEMM_POLICY


@lru_cache(maxsize=8)
def mainloop_shape(scenario: GemmScenario) -> MainloopShape:
    """Return the shape of the scenario's mainloop."""
    return shape_of(scenario.operands, mainloop_policy(scenario))


def writes_per_fill(scenario: GemmScenario) -> dict[Side, int]:
    """Return the number of ops with which a thread fills its part of a ring slot: copies, or stores of accesses."""
    return mainloop_policy(scenario).writes_per_fill(mainloop_shape(scenario))


def program(scenario: GemmScenario, k_iterations: int, slice_: int = 0) -> Program:
    """
    Return the ops of one CTA, from the prologue to the last global store.

    Args:
        scenario: Problem and kernel.
        k_iterations: Number of k tiles that the CTA consumes, at least 0. It may be less than the number of stages.
        slice_: Split-K slice of the CTA. Later slices of a serial split-K add to the partial output.

    Not modelled: the semaphore that orders serial split-K slices; it is no op.
    """
    prologue, iterations, tail = mainloop_policy(scenario).mainloop(mainloop_shape(scenario), k_iterations)
    return Program(
        prologue=prologue,
        iterations=iterations,
        tail=tail,
        epilogue=epilogue_ops(scenario.epilogue, slice_output_op(scenario, slice_)),
    )
