"""What all CTAs of one execution share: the kernel, the tensors, the output operation and the log of hazards."""

from dataclasses import dataclass

from gpusim.element_types import INTEGER_RANGE, element_bits
from gpusim.families.hopper.collective import Collective, EpilogueStages
from gpusim.families.hopper.execute.tensors import HopperTensors, OutputGrid
from gpusim.families.hopper.problem import HopperProblem
from gpusim.functional.data_hazards import DataHazard, DataHazardName, HazardLog
from gpusim.numerics.output_op import Compute, OutputOp


def compute_type_of(problem: HopperProblem) -> Compute:
    """
    Return the type in which an epilogue scales and adds: s32 for s32 outputs and whole scales, else f32.

    Source: CUTLASS python/cutlass_library/generator.py, ``element_epilogue`` of sm_90 kernels.
    """
    least, most = INTEGER_RANGE["s32"]
    scales = (problem.alpha, problem.beta)
    whole = all(scale.is_integer() and least <= scale <= most for scale in scales)
    return "s32" if problem.dtype.output == "s32" and whole else "f32"


def output_op_of(problem: HopperProblem) -> OutputOp:
    """Return the output operation: alpha * accumulator + beta * C."""
    return OutputOp(
        accumulator=problem.dtype.accumulator,
        compute=compute_type_of(problem),
        output=problem.dtype.output,
        alpha=problem.alpha,
        beta=problem.beta,
        scaled=True,
        with_source=problem.beta != 0,
        with_bias=False,
        with_relu=False,
    )


@dataclass(frozen=True, slots=True)
class HopperRun:
    """
    One execution.

    Attributes:
        collective: The kernel.
        tensors: Inputs.
        output: Output.
        does: The output operation.
        log: Hazards.
    """

    collective: Collective
    tensors: HopperTensors
    output: OutputGrid
    does: OutputOp
    log: HazardLog

    @property
    def problem(self) -> HopperProblem:
        """The problem."""
        return self.collective.scenario.problem

    @property
    def epilogue(self) -> EpilogueStages:
        """The epilogue of a kernel that has one in shared memory."""
        if self.collective.epilogue is None:
            raise TypeError("the non-specialised kernel stores from registers")
        return self.collective.epilogue

    @property
    def output_bits(self) -> int:
        """Bits of an element of C and D."""
        return element_bits(self.problem.dtype.output)

    def found(self, name: DataHazardName, message: str, k_tile: int = -1, operand: str = "", stage: int = -1) -> None:
        """Record a hazard."""
        self.log.add(DataHazard(name, message, k_tile, -1, operand, stage, -1))
