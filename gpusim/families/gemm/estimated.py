"""Makes the streams of a GEMM's or convolution's tile kernel by stated estimates."""

from itertools import chain

from gpusim.element_types import element_bits
from gpusim.errors import BadInput
from gpusim.families.gemm.cutlass import lowering as cutlass
from gpusim.families.gemm.cutlass.costs import IteratorCosts
from gpusim.families.gemm.program import mainloop_policy, mainloop_shape
from gpusim.lower.estimated import REGISTERS_BEYOND_FRAGMENTS, Lowering
from gpusim.lower.stream import Segment, Stream, shifted
from gpusim.machine.spec import Machine
from gpusim.numerics.output_op import slice_output_op
from gpusim.scenario.gemm import GemmScenario
from gpusim.schedule.mainloop import Iterations
from gpusim.schedule.ops import Program
from gpusim.tile.operand import SIDES
from gpusim.units import VECTOR_BITS


def registers_per_thread(scenario: GemmScenario, machine: Machine) -> int:
    """
    Estimate the registers of one thread: accumulators, two fragments of each operand, and a constant for the rest.

    A mainloop through registers also holds the threadblock fragments, one k tile of both operands.

    Not modelled: spills of a kernel that would need more (D17).

    Returns:
        A multiple of 8, at most the architecture's limit.
    """
    warp_m, warp_n, _ = scenario.kernel.warp
    instruction_k = scenario.kernel.instruction[2]
    dtype = scenario.problem.dtype
    accumulators = warp_m * warp_n * element_bits(dtype.accumulator) // 32 // 32
    fragment_bits = (warp_m + warp_n) * instruction_k * element_bits(dtype.ab)
    fragments = 2 * fragment_bits // 32 // 32
    total = accumulators + fragments + REGISTERS_BEYOND_FRAGMENTS
    if mainloop_policy(scenario).through_registers:
        shape = mainloop_shape(scenario)
        total += sum(shape.of(operand).accesses * VECTOR_BITS // 32 for operand in SIDES)
    return min(-(-total // 8) * 8, machine.limits.registers_per_thread)


def estimated_stream(
    scenario: GemmScenario,
    program: Program,
    machine: Machine,
    slice_: int = 0,
    cutlass_costs: IteratorCosts | None = None,
) -> Stream:
    """
    Lower a program by the stated estimates, and return its stream.

    Args:
        scenario: Problem and kernel.
        program: Program of a split-K slice's CTAs.
        machine: The machine that they run on.
        slice_: The split-K slice.
        cutlass_costs: Costs of the iterators of CUTLASS's own kernel; None for gpusim's kernel.

    Raises:
        BadInput: The program's iterations are not shifts of the first one, so no loop can execute them; or the machine
            file has no figure for the mma.sync.
    """
    if cutlass_costs is not None:
        lowering: Lowering = cutlass.CutlassLowering(scenario, cutlass_costs, machine)
        registers = cutlass.registers_per_thread(scenario, cutlass_costs, machine)
    else:
        lowering = Lowering(scenario.operands, scenario.mma, machine, scenario.epilogue)
        registers = registers_per_thread(scenario, machine)
    segments = [Segment("prologue", tuple(lowering.prologue(program)))]
    if program.iterations:
        _require_uniform(program, scenario.kernel.stages)
        segments.append(
            Segment("mainloop", tuple(lowering.iteration(program.iterations[0])), len(program.iterations), 1)
        )
    segments.append(Segment("tail", tuple(lowering.straight(program.tail))))
    segments.append(Segment("epilogue", tuple(lowering.epilogue(program.epilogue, slice_output_op(scenario, slice_)))))
    return Stream("estimated", registers, tuple(segments))


def uniform_k_tiles(stages: int) -> int:
    """
    Return the fewest k tiles whose code shows the code of any larger number.

    One rule makes all iterations of a mainloop, so the first two rounds of the ring and the last one suffice.
    """
    return 3 * stages + 1


def _require_uniform(program: Program, stages: int) -> None:
    first, count = program.iterations[0], len(program.iterations)
    made = isinstance(program.iterations, Iterations) and count >= uniform_k_tiles(stages)
    ends = (range(2 * stages), range(count - stages, count)) if made else (range(count),)
    for k_tile in chain(*ends):
        body = program.iterations[k_tile]
        if len(body) != len(first) or any(
            op != shifted(original, k_tile, stages) for op, original in zip(body, first, strict=True)
        ):
            raise BadInput(
                f"the mainloop must repeat one k tile, but k tile {k_tile} is not k tile 0 moved on: "
                "a stream with one loop cannot execute it"
            )
