"""The name of the run in a directory: that of the scenario it was made of, as its manifest has it."""

import json
from pathlib import Path

from gpusim.errors import printable
from gpusim.results.run_directory import MANIFEST

_SCENARIO = 2
"""Place of the scenario in the command ``gpusim run SCENARIO ...``."""


def name_of_run(directory: Path) -> str:
    """Return the name of the scenario that a run was made of; the directory's own name where that is not known."""
    try:
        command = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))["command"]
        name = Path(str(command[_SCENARIO])).stem
    except (OSError, ValueError, LookupError, TypeError):
        name = ""
    return printable(name or directory.resolve().name)
