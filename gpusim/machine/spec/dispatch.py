"""The dispatch of an SMSP, ``[dispatch]`` in a machine file."""

from dataclasses import dataclass
from typing import Annotated

from gpusim.machine.figure import FigureUnit


@dataclass(frozen=True, slots=True)
class DispatchMemorySpec:
    """
    Delay of an mma.sync by the SMSP's memory instructions, which use the same register file.

    Attributes:
        shared_load_percent: Per cent of a cycle that a load from shared memory takes, including ldmatrix.
        shared_store_percent: Per cent of a cycle that a store to shared memory takes.
        copy_percent: Per cent of a cycle that a cp.async takes.
        load_percent: Per cent of a cycle that a load from global memory takes.
        store_percent: Per cent of a cycle that a store to global memory takes.
    """

    shared_load_percent: Annotated[int, FigureUnit("percent", zero="takes nothing")]
    shared_store_percent: Annotated[int, FigureUnit("percent", zero="takes nothing")]
    copy_percent: Annotated[int, FigureUnit("percent", zero="takes nothing")]
    load_percent: Annotated[int, FigureUnit("percent", zero="takes nothing")]
    store_percent: Annotated[int, FigureUnit("percent", zero="takes nothing")]


@dataclass(frozen=True, slots=True)
class DispatchSpec:
    """
    The dispatch of an SMSP, from which its pipes take their operands.

    Attributes:
        mufu: Cycles after the issue cycle of an instruction of the pipe "mufu" in which its SMSP issues nothing.
        tensor_percent: Per cent of a cycle by which register arithmetic delays an mma.sync whose operands are being
            read.
        memory: Delay of an mma.sync by memory instructions; None if unknown, and then they cause none.
    """

    mufu: Annotated[int, FigureUnit("cycles", zero="holds nothing")]
    tensor_percent: Annotated[int, FigureUnit("percent", zero="takes nothing")]
    memory: DispatchMemorySpec | None
