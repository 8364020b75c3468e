"""Which global tile iterator a scenario's operand has."""

from typing import Final

import numpy.typing as npt

from gpusim.element_types import element_bits
from gpusim.scenario.models import GemmProblem, Scenario
from gpusim.tile.conv_iterators import ActivationIterator, ConvIterator, FilterIterator
from gpusim.tile.conv_optimized import ActivationIteratorOptimized, FilterIteratorOptimized
from gpusim.tile.extents import conv_shape
from gpusim.tile.gemm_iterators import GemmOperand, PredicatedIterator
from gpusim.tile.global_access import GlobalIterator
from gpusim.tile.thread_map import Operand, operand_thread_map

CONV_ITERATORS: Final[dict[tuple[str, Operand], type[ConvIterator]]] = {
    ("analytic", "a"): ActivationIterator,
    ("analytic", "b"): FilterIterator,
    ("optimized", "a"): ActivationIteratorOptimized,
    ("optimized", "b"): FilterIteratorOptimized,
}
"""(kernel.iterator, operand) -> the iterator of a convolution."""


def gemm_operand(problem: GemmProblem, operand: Operand) -> GemmOperand:
    """One operand of a GEMM scenario."""
    is_a = operand == "a"
    return GemmOperand(
        operand,
        extent=problem.m if is_a else problem.n,
        k=problem.k,
        leading=problem.leading_a if is_a else problem.leading_b,
        bits=element_bits(problem.dtype.ab),
        k_contiguous=problem.k_contiguous_a if is_a else problem.k_contiguous_b,
        split_k_slices=problem.split_k_slices,
    )


def global_iterator(scenario: Scenario, operand: Operand, tile: npt.ArrayLike, slice_: npt.ArrayLike) -> GlobalIterator:
    """
    The global tile iterator of one operand, at its first fetch.

    Args:
        scenario: The problem and the kernel.
        operand: ``a`` (activation) or ``b`` (filter).
        tile: Tile index along M for a, along N for b. An integer or an array over CTAs.
        slice_: Split-K slice, of the same shape or broadcasting.

    Returns:
        An iterator over all threads of those CTAs.

    Raises:
        ValueError: The operand's thread map or alignment has no iterator.
    """
    problem = scenario.problem
    thread_map = operand_thread_map(scenario, operand)
    elements_per_vec = problem.access_a if operand == "a" else problem.access_b
    if isinstance(problem, GemmProblem):
        return PredicatedIterator(
            gemm_operand(problem, operand), thread_map, elements_per_vec, tile=tile, slice_=slice_
        )
    iterator = CONV_ITERATORS[scenario.kernel.iterator, operand]
    bits = element_bits(problem.dtype.ab)
    return iterator(conv_shape(problem), bits, thread_map, elements_per_vec, tile=tile, slice_=slice_)
