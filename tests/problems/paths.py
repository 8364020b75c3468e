"""Which data paths of CUTLASS 2.x a scenario takes, by name, so that random scenarios can be counted."""

from problems.draw import LAYOUTS

from gpusim.element_types import element_bits
from gpusim.families.gemm.gemm import GemmProblem
from gpusim.scenario.convolution import Convolution
from gpusim.scenario.gemm import GemmScenario
from gpusim.tile.operand import SIDES, Side


def paths(scenario: GemmScenario) -> dict[str, str]:
    """The path a scenario takes in every aspect that a kernel is chosen by: aspect -> one of its values."""
    problem, kernel = scenario.problem, scenario.kernel
    m, n, k = kernel.instruction
    dtype = problem.dtype
    extras = {"bias": problem.bias, "relu": problem.activation == "relu", "source": problem.beta != 0}
    accesses = {"a": problem.access("a"), "b": problem.access("b"), "c": problem.access_c}
    elements = {"a": dtype.ab, "b": dtype.ab, "c": dtype.output}
    return {
        "mainloop": f"{kernel.mainloop} {f'{kernel.iterator} conv' if problem.implicit else 'gemm'}",
        "stages": str(kernel.stages),
        "layouts": _layouts(scenario),
        "types": f"{dtype.ab} m{m}n{n}k{k} {dtype.accumulator}",
        "conversion": f"{dtype.accumulator} to {dtype.output}",
        "threadblock swizzle": kernel.threadblock_swizzle,
        "split-K": problem.split_k if problem.split_k_slices > 1 else "none",
        "epilogue": " ".join(name for name, present in extras.items() if present) or "plain",
        **{f"shared {operand}": _shared(scenario, operand) for operand in SIDES},
        **{
            f"access {operand}": f"{count * element_bits(elements[operand]) // 8} bytes"
            for operand, count in accesses.items()
        },
    }


def _layouts(scenario: GemmScenario) -> str:
    problem = scenario.problem
    if not isinstance(problem, GemmProblem):
        return "NHWC"
    return next(letters for letters, pair in LAYOUTS.items() if pair == (problem.layout_a, problem.layout_b))


def _shared(scenario: GemmScenario, operand: Side) -> str:
    """The family of a shared layout, and what its rows lie along."""
    family = scenario.shared_layout(operand).split("<")[0]
    return f"{family} along {'K' if scenario.problem.k_contiguous(operand) else 'MN'['ab'.index(operand)]}"


def edges(scenario: GemmScenario) -> dict[str, bool]:
    """What kernels go wrong on easily, and whether a scenario has it: ragged, padded, strided, whole, too short."""
    problem, kernel = scenario.problem, scenario.kernel
    extents = scenario.problem.extents
    conv = problem if isinstance(problem, Convolution) else None
    gemm = problem if isinstance(problem, GemmProblem) else None
    summed = problem.extents.k if conv is None else conv.channels
    m, n, k = kernel.threadblock
    return {
        "whole tiles": extents.m % m == extents.n % n == summed % k == 0,
        "ragged M": extents.m % m != 0,
        "ragged N": extents.n % n != 0,
        "K residue": summed % k != 0,
        "fewer k tiles than stages": scenario.k_iterations(0) < kernel.stages,
        "padded lda": gemm is not None and gemm.leading_a > gemm.contiguous_a,
        "padded ldb": gemm is not None and gemm.leading_b > gemm.contiguous_b,
        "padded ldc": gemm is not None and gemm.leading_c > gemm.n,
        "padded activation": conv is not None and conv.padding != (0, 0),
        "strided": conv is not None and conv.stride != (1, 1),
        "dilated": conv is not None and conv.dilation != (1, 1) and max(conv.r, conv.s) > 1,
        "true convolution": conv is not None and conv.mode == "convolution" and max(conv.r, conv.s) > 1,
        "given output extent": conv is not None and (conv.p is not None or conv.q is not None),
        "fractional alpha": not problem.alpha.is_integer(),
        "machine without cp.async": scenario.machine == "t4",
    }
