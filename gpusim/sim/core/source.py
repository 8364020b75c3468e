"""What the compiled core is built from: the text and its types, and the integers that it has names for."""

import hashlib
from pathlib import Path

from gpusim import units
from gpusim.sim import stall_reasons
from gpusim.sim.core import constants

FOLDER = Path(__file__).parent

TEXT, TYPES = FOLDER / "chip.py", FOLDER / "chip.pxd"

_FITS = 1 << 31
"""Integers from here on are none of C's to Cython, but Python's."""


def named_integers() -> dict[str, int]:
    """Return the integers that C knows in place of their names, whether they are the core's or its machine's."""
    named: dict[str, int] = {}
    for module in (units, stall_reasons, constants):
        named |= {name: value for name, value in vars(module).items() if isinstance(value, int) and value < _FITS}
    return named


def source_digest() -> str:
    """Return the SHA-256 of all that, which the compiled copy carries."""
    known = "".join(f"{name}={value}\n" for name, value in sorted(named_integers().items()))
    return hashlib.sha256(TEXT.read_bytes() + TYPES.read_bytes() + known.encode()).hexdigest()
