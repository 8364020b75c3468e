"""The ops of a scenario's kernel, whichever mainloop it has: the one place that chooses among them."""

from collections.abc import Sequence

from gpusim.families.attention.blocks import KeyBlock
from gpusim.families.attention.chained import attention_program
from gpusim.families.attention.flash import flash_program
from gpusim.families.attention.ops import AttentionProgram
from gpusim.families.attention.problem import AttentionScenario
from gpusim.scenario.gemm import GemmScenario
from gpusim.schedule import multistage, pipelined
from gpusim.schedule.epilogue import epilogue_ops
from gpusim.schedule.mainloop import Mainloop, MainloopShape, shape_of
from gpusim.schedule.ops import Program
from gpusim.tile.operand import SIDES, Side


def mainloop_shape(scenario: GemmScenario) -> MainloopShape:
    """The shape of the scenario's mainloop."""
    if scenario.kernel.mainloop == "pipelined":
        return shape_of(scenario.operands, lambda _operand, _bits: pipelined.CACHE)
    return shape_of(scenario.operands, multistage.family(scenario).cache)


def writes_per_fill(scenario: GemmScenario) -> dict[Side, int]:
    """Ops by which one thread fills its part of a slot of the ring: copies, or stores of whole accesses."""
    shape = mainloop_shape(scenario)
    vecs = {operand: 1 if scenario.kernel.mainloop == "pipelined" else shape.of(operand).vecs for operand in SIDES}
    return {operand: shape.of(operand).accesses * vecs[operand] for operand in SIDES}


def program(scenario: GemmScenario, k_iterations: int, slice_: int = 0) -> Program:
    """
    The ops of one CTA, prologue to the last global store.

    Args:
        scenario: Problem and kernel.
        k_iterations: k tiles this CTA consumes; 0 and fewer than stages are allowed.
        slice_: Split-K slice of the CTA: later slices of a serial split add to the partial output.

    Not modelled: the semaphore that orders serial split-K slices (it has no address or copy of its own).
    """
    prologue, iterations, tail = _mainloop(scenario, k_iterations)
    return Program(
        prologue=prologue,
        iterations=iterations,
        tail=tail,
        epilogue=epilogue_ops(scenario, slice_),
    )


def cta_program(scenario: AttentionScenario, blocks: Sequence[KeyBlock]) -> AttentionProgram:
    """The steps of a CTA of an attention kernel that walks these key blocks, ascending among the keys."""
    return flash_program(scenario, blocks) if scenario.flash else attention_program(scenario, blocks)


def _mainloop(scenario: GemmScenario, k_iterations: int) -> Mainloop:
    shape = mainloop_shape(scenario)
    if scenario.kernel.mainloop == "pipelined":
        return pipelined.mainloop(shape, k_iterations)
    return multistage.mainloop(shape, multistage.family(scenario), k_iterations)
