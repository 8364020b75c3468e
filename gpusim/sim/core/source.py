"""
The text from which the compiled core is built: the units' code and types, and the named integers that they use.

A unit is a module ``X.py`` with its types in ``X.pxd``, and imports the units below it. Interpreted, it is a Python
module like any other. For the compiled core the texts of all units are joined into one module, so that the C compiler
inlines across units: each text follows those that it imports, and lines that import other units are left out.
"""

import ast
import hashlib
import re
from pathlib import Path

from gpusim import units
from gpusim.sim import stall_reasons
from gpusim.sim.core import constants

FOLDER = Path(__file__).parent

CORE_UNITS = (
    *("cache", "calendar", "log", "dram", "l2_arbiter", "l2", "l2_sampled", "stores"),
    *("icache", "warps", "data_stage", "l1", "mio", "lsu", "barriers", "smsp", "chip"),
)
"""The units, each after those that it imports."""

_FITS = 1 << 31
"""Cython treats named integers from here on as Python objects, so they are not made constants of C."""

_CIMPORT = re.compile(r"from gpusim\.sim\.core\.(\w+) cimport [\w, ]+\n")


def named_integers() -> dict[str, int]:
    """Return the named integers that become constants of C, by name."""
    named: dict[str, int] = {}
    for module in (units, stall_reasons, constants):
        named |= {name: value for name, value in vars(module).items() if isinstance(value, int) and value < _FITS}
    return named


def imported_units(text: str) -> dict[str, range]:
    """Return the units that a unit's text imports, each with the numbers (from 0) of the lines that import it."""
    found = {}
    for node in ast.parse(text).body:
        unit = (node.module or "").removeprefix("gpusim.sim.core.") if isinstance(node, ast.ImportFrom) else ""
        if unit in CORE_UNITS:
            found[unit] = range(node.lineno - 1, node.end_lineno or node.lineno)
    return found


def without_units(text: str) -> str:
    """Return a unit's text without the lines that import other units."""
    left_out = {line for lines in imported_units(text).values() for line in lines}
    return "".join(line for at, line in enumerate(text.splitlines(keepends=True)) if at not in left_out)


def core_text() -> str:
    """Return the code of all units as one module's text."""
    return "\n\n".join(without_units((FOLDER / f"{unit}.py").read_text(encoding="utf-8")) for unit in CORE_UNITS)


def core_types() -> str:
    """Return the types of the named integers and of all units, as one module's text."""
    types = [(FOLDER / f"{name}.pxd").read_text(encoding="utf-8") for name in ("constants", *CORE_UNITS)]
    return "\n".join(_CIMPORT.sub("", text) for text in types)


def source_digest() -> str:
    """Return the SHA-256 of the named integers, code and types; the compiled core stores that of its build."""
    digest = hashlib.sha256("".join(f"{name}={value}\n" for name, value in sorted(named_integers().items())).encode())
    digest.update((FOLDER / "constants.pxd").read_bytes())
    for unit in CORE_UNITS:
        digest.update((FOLDER / f"{unit}.py").read_bytes() + (FOLDER / f"{unit}.pxd").read_bytes())
    return digest.hexdigest()
