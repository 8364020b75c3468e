"""The name of the run in a directory: the name of its scenario, from the manifest."""

import json
from pathlib import Path

from gpusim.errors import printable
from gpusim.results.run_directory import MANIFEST

_SCENARIO = 2
"""Place of the scenario in the command ``gpusim run SCENARIO ...``."""


def name_of_run(directory: Path) -> str:
    """Return the name of a run's scenario; the directory's own name if the scenario's is not known."""
    try:
        command = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))["command"]
        name = Path(str(command[_SCENARIO])).stem
    except (OSError, ValueError, LookupError, TypeError):
        name = ""
    return printable(name or directory.resolve().name)
