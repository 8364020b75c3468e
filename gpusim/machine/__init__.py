"""
Machines: one TOML file per GPU, every figure with its source, and the frozen spec it loads into.

The interface is ``load_machine``, ``Machine`` and ``ctas_per_sm``. The room never knows a kernel, except for the
registers and the shared memory that one CTA takes.
"""

from gpusim.machine.figure import FigureRecord
from gpusim.machine.load import load_machine, machine_names
from gpusim.machine.occupancy import Occupancy, ctas_per_sm
from gpusim.machine.spec import Machine

__all__ = ["FigureRecord", "Machine", "Occupancy", "ctas_per_sm", "load_machine", "machine_names"]
