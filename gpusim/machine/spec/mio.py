"""The queue from an SMSP to the memory units of its SM, ``[mio]`` in a machine file."""

from dataclasses import dataclass
from typing import Annotated

from gpusim.machine.figure import FigureUnit


@dataclass(frozen=True, slots=True)
class MioGapsSpec:
    """
    How an SMSP reads the registers of memory instructions while one of its warps issues mma.sync (D8).

    Attributes:
        registers: Registers that are read during each mma.sync.
        copy_registers: Number of registers as which a cp.async counts beside mma.sync of another warp.
    """

    registers: Annotated[int, FigureUnit("registers", 1, 64)]
    copy_registers: Annotated[int, FigureUnit("registers", 1, 64)]


@dataclass(frozen=True, slots=True)
class MioSpec:
    """
    The queue from the issue port of an SMSP to the memory units of the SM.

    Attributes:
        queue_depth: Instructions that can wait in one SMSP, besides the one in its address unit.
        smsp_interval: Cycles between two instructions leaving one SMSP.
        register_interval: Cycles in which one register of an instruction is read as it leaves its SMSP.
        source_release: Cycles from the time an instruction leaves its SMSP until the last of its registers may be
            overwritten.
        sm_interval: Cycles between two instructions leaving any SMSP of the SM.
        sm_depth: Instructions that have left the SMSPs and can wait for the data stage of the SM.
        gaps: How registers are read beside mma.sync; None if unknown, and then mma.sync has no effect on it.
    """

    queue_depth: Annotated[int, FigureUnit("instructions")]
    smsp_interval: Annotated[int, FigureUnit("cycles")]
    register_interval: Annotated[int, FigureUnit("cycles")]
    source_release: Annotated[int, FigureUnit("cycles", zero="free once it is read")]
    sm_interval: Annotated[int, FigureUnit("cycles")]
    sm_depth: Annotated[int, FigureUnit("instructions")]
    gaps: MioGapsSpec | None
