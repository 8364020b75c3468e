"""
The text from which a compiled core is built: the units' code and types, and the named integers that they use.

A unit is a module ``X.py`` with its types in ``X.pxd``, and imports the units before it. Interpreted, it is a Python
module like any other. For the compiled core the texts of all units are joined into one module, so that the C compiler
inlines across units: each text follows those that it imports, and lines that import other units are left out.
"""

import ast
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path

_FITS = 1 << 31
"""Cython treats named integers from here on as Python objects, so they are not made constants of C."""


@dataclass(frozen=True)
class CoreText:
    """
    The text of one core.

    Attributes:
        folder: Folder of the units.
        package: Name of that folder as a package.
        module: Name of the compiled module, which lies beside the units.
        units: The units, each after those that it imports; one in an inner room is named with its room: "room.unit".
        native: Modules beside the units that C has functions for: the compiled core takes their ``.pxd`` alone.
        numbers: Modules whose integers are constants of C, by their names.
        typed: Files beside the units that have the types of those integers.
    """

    folder: Path
    package: str
    module: str
    units: tuple[str, ...]
    numbers: tuple[str, ...]
    native: tuple[str, ...] = ()
    typed: tuple[str, ...] = ()

    def named_integers(self) -> dict[str, int]:
        """Return the named integers that become constants of C, by name."""
        named: dict[str, int] = {}
        for name in self.numbers:
            values: Mapping[str, object] = vars(import_module(name))
            named |= {key: value for key, value in values.items() if isinstance(value, int) and value < _FITS}
        return named

    def imported_units(self, text: str) -> dict[str, range]:
        """Return the units that a unit's text imports, each with the numbers (from 0) of the lines that import it."""
        found = {}
        for node in ast.parse(text).body:
            unit = (node.module or "").removeprefix(f"{self.package}.") if isinstance(node, ast.ImportFrom) else ""
            if unit in (*self.units, *self.native):
                found[unit] = range(node.lineno - 1, node.end_lineno or node.lineno)
        return found

    def without_units(self, text: str) -> str:
        """Return a unit's text without the lines that import other units."""
        left_out = {line for lines in self.imported_units(text).values() for line in lines}
        return "".join(line for at, line in enumerate(text.splitlines(keepends=True)) if at not in left_out)

    def code(self) -> str:
        """Return the code of all units as one module's text."""
        return "\n\n".join(self.without_units(self._read(_path(unit, ".py"))) for unit in self.units)

    @cached_property
    def _typed(self) -> tuple[str, ...]:
        return tuple(_path(name, ".pxd") for name in (*self.typed, *self.native, *self.units))

    def types(self) -> str:
        """Return the types of the named integers and of all units, as one module's text."""
        package = re.escape(self.package)
        imports = re.compile(rf"from {package}\.[\w.]+ cimport [\w, ]+\n")
        return "\n".join(imports.sub("", self._read(name)) for name in self._typed)

    def digest(self) -> str:
        """Return the SHA-256 of the named integers, code and types; the compiled core stores that of its build."""
        integers = "".join(f"{name}={value}\n" for name, value in sorted(self.named_integers().items()))
        files = (*self._typed, *(_path(unit, ".py") for unit in self.units))
        return hashlib.sha256("\n".join([integers, *map(self._read, files)]).encode()).hexdigest()

    def _read(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")


def _path(name: str, suffix: str) -> str:
    """Return the path of a module beside the units, or in a room beside them."""
    return name.replace(".", "/") + suffix
