"""The units of the executor's core, and the text from which they are compiled."""

from pathlib import Path
from typing import Final

from gpusim.compiled.text import CoreText

CTA: Final = CoreText(
    folder=Path(__file__).parent,
    package="gpusim.execute.core",
    module="_cta",
    units=(
        *(
            "registers",
            "formats",
            "bits",
            "integers",
            "conversions",
            "floats",
            "halves",
            "doubles",
            "lanes",
            "matrices",
        ),
        *("memory", "atomics", "convergence", "trace", "access_counts", "cta"),
    ),
    native=("words",),
    numbers=("gpusim.units", "gpusim.execute.core.constants"),
)
"""The text of the executor's core."""
