"""
The frozen description of one GPU that a machine file loads into: a class for each of the file's tables.

The interface is ``Machine`` and the classes that other rooms name. A module has the name of its table, and has the
tables within that, too. A field states a figure once: name, type, unit, bounds and meaning. The room never has a value,
which machine files alone state.
"""

from gpusim.machine.spec.dram import DramLateSpec, DramSpec
from gpusim.machine.spec.launch import GpcClocksSpec, LaunchCpcsSpec, LaunchSpec, LaunchUnitsSpec
from gpusim.machine.spec.machine import Machine
from gpusim.machine.spec.pipes import PIPES, PipeSpec
from gpusim.machine.spec.shared import SharedMemorySpec
from gpusim.machine.spec.tensor import TensorSpec

__all__ = [
    "PIPES",
    "DramLateSpec",
    "DramSpec",
    "GpcClocksSpec",
    "LaunchCpcsSpec",
    "LaunchSpec",
    "LaunchUnitsSpec",
    "Machine",
    "PipeSpec",
    "SharedMemorySpec",
    "TensorSpec",
]
