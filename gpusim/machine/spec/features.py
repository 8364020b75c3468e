"""The instructions that not all machines have, ``[features]`` in a machine file."""

from dataclasses import dataclass
from typing import Annotated

from gpusim.machine.figure import FigureUnit


@dataclass(frozen=True, slots=True)
class Features:
    """
    Instructions that only some machines have.

    Attributes:
        cp_async: Whether it has cp.async: sm_80 and later.
        ldmatrix: Whether it has ldmatrix: sm_75 and later. Without it nothing runs.
    """

    cp_async: Annotated[bool, FigureUnit("bool")]
    ldmatrix: Annotated[bool, FigureUnit("bool", only=True)]
