"""Joins the lists of own kernels into one table; every kernel stands in it once."""

from typing import Final

from gpusim.errors import BadInput
from gpusim.lab.own.arithmetic import NUMBER_KERNELS
from gpusim.lab.own.data_driven import DATA_DRIVEN_KERNELS
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
"""All own kernels."""


def own_kernel(name: str) -> OwnKernel:
    """
    Return the own kernel of a name.

    Raises:
        BadInput: There is none.
    """
    for kernel in OWN_KERNELS:
        if kernel.name == name:
            return kernel
    raise BadInput(f'no own kernel is called "{name}"')
