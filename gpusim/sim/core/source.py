"""The units of the simulator's core, and the text from which they are compiled."""

from pathlib import Path
from typing import Final

from gpusim.compiled.text import CoreText

CORE_UNITS: Final = (
    *("cache", "calendar", "log", "dram", "l2_arbiter", "l2", "l2_sampled", "stores"),
    *("icache", "warps", "data_stage", "l1", "mio", "lsu", "barriers"),
    *("sm90.mbarriers", "sm90.tma", "sm90.wgmma", "sm90.units", "smsp", "chip"),
)
"""The units. Each follows the units that it imports."""

CHIP: Final = CoreText(
    folder=Path(__file__).parent,
    package="gpusim.sim.core",
    module="_chip",
    units=CORE_UNITS,
    numbers=("gpusim.units", "gpusim.sim.stall_reasons", "gpusim.sim.core.constants"),
    typed=("constants",),
)
"""The text of the simulator's core."""
