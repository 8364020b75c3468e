"""Specialises the second kernel of a parallel split-K: macros, grid, entry point."""

from typing import Final

from gpusim.cuda.specialise import Build, Specialisation, specialised
from gpusim.families.gemm.reduction.tile import reduction_tile
from gpusim.families.gemm.specialise import tile_macros
from gpusim.scenario.gemm import GemmScenario

REDUCTION_ENTRY: Final = "gpusim_reduction"
"""Name of the ``__global__`` function of the reduction, in kernels_cuda/reduction.cu."""


def specialise_reduction(scenario: GemmScenario, build: Build = "plain") -> Specialisation:
    """
    Return the specialised second kernel of a parallel split-K.

    Args:
        scenario: A scenario with a parallel split-K.
        build: ``plain`` or ``trace``. There is no timeline build.

    Raises:
        CannotRun: The CUDA sources are missing.
        BadInput: The scenario has no parallel split-K.
    """
    tile, problem = reduction_tile(scenario), scenario.problem
    macros = tile_macros(scenario, build) | {
        "BETA_IS_ZERO": int(problem.beta == 0),
        "OUTPUT": problem.dtype.output,
        "BIAS": int(problem.bias),
        "RELU": int(problem.activation == "relu"),
        "LDC": tile.leading,
        "ACCESS_C": tile.elements_per_access,
        "ACCESS_PARTIAL": tile.elements_per_load,
    }
    return specialised("reduction.cu", REDUCTION_ENTRY, build, macros, tile.grid, block_threads=tile.threads)
