"""Which execution of the core is at hand: the compiled one where it was built from today's text, else the other."""

import hashlib
import os
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Final, Literal, NamedTuple, TypeAlias

from gpusim.errors import BadInput
from gpusim.sim.core import chip

Execution: TypeAlias = Literal["compiled", "interpreted"]
"""How the core is executed."""

VARIABLE: Final = "GPUSIM_ENGINE"
"""Environment variable that chooses an execution; without it, the compiled one where there is one."""

_EXECUTIONS: Final = ("compiled", "interpreted")


class Engine(NamedTuple):
    """
    An execution of the core.

    Attributes:
        name: Which.
        module: The module that has ``Chip``.
        why: Why it is not the compiled one; empty where it is.
    """

    name: Execution
    module: ModuleType
    why: str


def engine() -> Engine:
    """
    Return the execution to use.

    Raises:
        BadInput: ``GPUSIM_ENGINE`` names no execution, or one that is not here.
    """
    wanted = os.environ.get(VARIABLE, "")
    if wanted and wanted not in _EXECUTIONS:
        raise BadInput(f"{VARIABLE} must be one of {', '.join(_EXECUTIONS)}, got {wanted!r}")
    if wanted == "interpreted":
        return Engine("interpreted", chip, f"{VARIABLE} asks for it")
    found = _compiled()
    if wanted and found.why:
        raise BadInput(f"{VARIABLE} asks for the compiled core, but {found.why}")
    return found


@cache
def _compiled() -> Engine:
    """Return the compiled core, or the interpreted one with the reason."""
    try:
        module = import_module("gpusim.sim.core._chip")
    except ImportError:
        return Engine("interpreted", chip, "the core was not compiled when gpusim was installed")
    folder = Path(chip.__file__).parent
    digest = hashlib.sha256((folder / "chip.py").read_bytes() + (folder / "chip.pxd").read_bytes()).hexdigest()
    if digest != module.SOURCE_DIGEST:
        return Engine("interpreted", chip, "the compiled core is of another text: run `python hatch_build.py`")
    return Engine("compiled", module, "")
