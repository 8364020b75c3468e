"""Joins the lists of own kernels, and of those of frameworks, into tables; every kernel stands once in one of them."""

from collections.abc import Sequence
from typing import Final

from gpusim.errors import BadInput
from gpusim.lab.own.arithmetic import NUMBER_KERNELS
from gpusim.lab.own.data_driven import DATA_DRIVEN_KERNELS
from gpusim.lab.own.frameworks.cupy import CUPY_KERNELS
from gpusim.lab.own.frameworks.triton import TRITON_KERNELS
from gpusim.lab.own.grids import GRID_KERNELS
from gpusim.lab.own.kernel import OwnKernel
from gpusim.lab.own.matrices import MATRIX_KERNELS
from gpusim.lab.own.moves import MOVE_KERNELS
from gpusim.lab.own.rows import ROW_KERNELS
from gpusim.lab.own.sums import SUM_KERNELS

OWN_KERNELS: Final = (
    *MATRIX_KERNELS,
    *MOVE_KERNELS,
    *SUM_KERNELS,
    *ROW_KERNELS,
    *GRID_KERNELS,
    *DATA_DRIVEN_KERNELS,
    *NUMBER_KERNELS,
)
"""All own kernels whose sources are compiled."""

FRAMEWORK_KERNELS: Final = (*TRITON_KERNELS, *CUPY_KERNELS)
"""Kernels of Triton and CuPy, whose machine code is kept."""


def own_kernel(name: str, among: Sequence[OwnKernel] = (*OWN_KERNELS, *FRAMEWORK_KERNELS)) -> OwnKernel:
    """
    Return the own kernel of a name.

    Args:
        name: Its name.
        among: A table that has it.

    Raises:
        BadInput: There is none.
    """
    for kernel in among:
        if kernel.name == name:
            return kernel
    raise BadInput(f'no own kernel is called "{name}"')
