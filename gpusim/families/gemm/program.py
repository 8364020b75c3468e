"""The ops of a GEMM's or convolution's tile kernel: the one place that chooses among mainloops."""

from gpusim.numerics.output_op import slice_output_op
from gpusim.scenario.gemm import GemmScenario
from gpusim.schedule import multistage
from gpusim.schedule.epilogue import epilogue_ops
from gpusim.schedule.mainloop import MainloopPolicy, MainloopShape, shape_of
from gpusim.schedule.ops import Program
from gpusim.schedule.pipelined import PIPELINED
from gpusim.tile.operand import Side


def mainloop_policy(scenario: GemmScenario) -> MainloopPolicy:
    """The policy of the scenario's kernel."""
    if scenario.kernel.mainloop == "pipelined":
        return PIPELINED
    return multistage.CONVOLUTION_POLICY if scenario.problem.implicit else multistage.GEMM_POLICY


def mainloop_shape(scenario: GemmScenario) -> MainloopShape:
    """The shape of the scenario's mainloop."""
    return shape_of(scenario.operands, mainloop_policy(scenario))


def writes_per_fill(scenario: GemmScenario) -> dict[Side, int]:
    """Ops by which one thread fills its part of a slot of the ring: copies, or stores of whole accesses."""
    return mainloop_policy(scenario).writes_per_fill(mainloop_shape(scenario))


def program(scenario: GemmScenario, k_iterations: int, slice_: int = 0) -> Program:
    """
    The ops of one CTA, prologue to the last global store.

    Args:
        scenario: Problem and kernel.
        k_iterations: k tiles this CTA consumes; 0 and fewer than stages are allowed.
        slice_: Split-K slice of the CTA: later slices of a serial split add to the partial output.

    Not modelled: the semaphore that orders serial split-K slices (it has no address or copy of its own).
    """
    prologue, iterations, tail = mainloop_policy(scenario).mainloop(mainloop_shape(scenario), k_iterations)
    return Program(
        prologue=prologue,
        iterations=iterations,
        tail=tail,
        epilogue=epilogue_ops(scenario.epilogue, slice_output_op(scenario, slice_)),
    )
