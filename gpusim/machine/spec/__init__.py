"""
The frozen description of one GPU that a machine file loads into: a class for each of the file's tables.

Its face is ``Machine`` and the classes of its units. A module has the name of its table, and has the tables within
that, too. A field states a figure once: name, type, unit, bounds and meaning. It never has a value, which machine
files alone state.
"""

from gpusim.machine.spec.async_copy import AsyncCopySpec, CopyPaceSpec
from gpusim.machine.spec.barrier import BarrierSpec
from gpusim.machine.spec.constant_cache import ConstantCacheSpec, ConstantLinesSpec
from gpusim.machine.spec.dispatch import DispatchMemorySpec, DispatchSpec
from gpusim.machine.spec.dram import DramBanksSpec, DramLateSpec, DramSpec, DramTurnsSpec
from gpusim.machine.spec.features import Features
from gpusim.machine.spec.instruction_cache import InstructionCacheSpec
from gpusim.machine.spec.l1 import L1LinesSpec, L1Spec, L1StoresSpec
from gpusim.machine.spec.l2 import L2ClockSpec, L2CrossingSpec, L2MergingSpec, L2MixedSpec, L2ReachSpec, L2Spec
from gpusim.machine.spec.launch import GpcClocksSpec, LaunchCpcsSpec, LaunchReadsSpec, LaunchSpec, LaunchUnitsSpec
from gpusim.machine.spec.limits import Limits
from gpusim.machine.spec.machine import Machine
from gpusim.machine.spec.mio import MioGapsSpec, MioSpec
from gpusim.machine.spec.pipes import PIPES, PipeSpec
from gpusim.machine.spec.shared import SharedMemorySpec, SharedStoresSpec, SharedWideSpec
from gpusim.machine.spec.tensor import BeyondSpec, TensorSpec

__all__ = [
    "PIPES",
    "AsyncCopySpec",
    "BarrierSpec",
    "BeyondSpec",
    "ConstantCacheSpec",
    "ConstantLinesSpec",
    "CopyPaceSpec",
    "DispatchMemorySpec",
    "DispatchSpec",
    "DramBanksSpec",
    "DramLateSpec",
    "DramSpec",
    "DramTurnsSpec",
    "Features",
    "GpcClocksSpec",
    "InstructionCacheSpec",
    "L1LinesSpec",
    "L1Spec",
    "L1StoresSpec",
    "L2ClockSpec",
    "L2CrossingSpec",
    "L2MergingSpec",
    "L2MixedSpec",
    "L2ReachSpec",
    "L2Spec",
    "LaunchCpcsSpec",
    "LaunchReadsSpec",
    "LaunchSpec",
    "LaunchUnitsSpec",
    "Limits",
    "Machine",
    "MioGapsSpec",
    "MioSpec",
    "PipeSpec",
    "SharedMemorySpec",
    "SharedStoresSpec",
    "SharedWideSpec",
    "TensorSpec",
]
