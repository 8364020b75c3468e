"""The H200 as published figures have it, which no measurement moves: hand-worked arithmetic stands on it."""

from pathlib import Path
from typing import Final

from gpusim.machine import load_machine
from gpusim.machine.spec import Machine

H200: Final[Machine] = load_machine(str(Path(__file__).parent / "h200_published.toml"))
