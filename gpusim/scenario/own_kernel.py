"""
The scenario of a kernel of the user's own, ``kind = "kernel"``: a file, a launch, arguments, and a machine.

It has no problem and no tiles: what the kernel computes is known to its machine code alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

from gpusim.errors import BadInput, nearest
from gpusim.results.provenance import digest
from gpusim.scenario.keys import ScenarioKey
from gpusim.scenario.models import MACHINE_TEXT
from gpusim.scenario.read import OWN_KIND, Text, machine_of
from gpusim.scenario.text import Origin, bare_or_quoted, quoted

KERNEL_SUFFIXES: Final = (".cu", ".ptx", ".cubin")
"""Endings of the files of kernels."""

_EXTENTS: Final = "one to three integers of at least 1"

OWN_KEYS: Final = tuple(
    ScenarioKey(*row)
    for row in (
        ("kind", f'"{OWN_KIND}"', "", False, "Kind of the scenario; may be left out if a file is given."),
        ("machine", "string", "", True, MACHINE_TEXT),
        ("file", f"a file that ends in {', '.join(KERNEL_SUFFIXES)}", "", True, "The kernel's file."),
        ("entry", "string", '""', False, "Name of the kernel; may be left out if the file has one."),
        ("grid", _EXTENTS, "", True, "CTAs of the grid along x, y and z."),
        ("block", _EXTENTS, "", True, "Threads of a CTA along x, y and z."),
        ("shared_bytes", "integer, at least 0", "0", False, "Dynamic shared memory of a CTA."),
        ("arguments", "a table of numbers and text", "", False, "Arguments by name, in the kernel's order."),
        ("defines", "a table of numbers and text", "", False, "Macros of a source by name."),
    )
)
"""Keys of such a scenario."""

_NAMES: Final = tuple(key.key for key in OWN_KEYS)

OwnValue: TypeAlias = str | int | float
"""An argument or a macro as it is written."""


@dataclass(frozen=True, slots=True)
class KernelQuestion:
    """
    A launch of a kernel of the user's own on a machine.

    Attributes:
        machine: A shipped machine, or the path of a machine file, with overridden figures.
        file: Path of the source (.cu), of PTX, or of a cubin.
        entry: Name of the kernel, or a part that only its name has; empty if the file has one kernel.
        grid, block: One to three extents.
        shared_bytes: Dynamic shared memory of a CTA.
        arguments: Arguments by name, in the order of the signature; the names are the user's.
        defines: Macros of a source.
        folder: Folder that the names of arrays' files are relative to.
        name: Stem of the scenario file, or of the kernel's.
    """

    machine: str
    file: Path
    entry: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared_bytes: int = 0
    arguments: Mapping[str, OwnValue] = field(default_factory=dict, hash=False)
    defines: Mapping[str, OwnValue] = field(default_factory=dict, hash=False)
    folder: Path = field(default=Path(), compare=False)
    name: str = field(default="", compare=False)

    def resolved(self) -> dict[str, Any]:
        """Return the scenario with every default written out, as plain data; paths are absolute."""
        arrays = {
            name: str((self.folder / str(value)).absolute()) if str(value).endswith(".npy") else value
            for name, value in self.arguments.items()
        }
        return {
            "kind": OWN_KIND,
            "machine": self.machine,
            "file": str(self.file),
            "entry": self.entry,
            "grid": list(self.grid),
            "block": list(self.block),
            "shared_bytes": self.shared_bytes,
            "arguments": arrays,
            "defines": dict(self.defines),
        }

    @property
    def digest(self) -> str:
        """SHA-256 of the resolved scenario in hex."""
        return digest(self.resolved())


def own_question(text: Text) -> KernelQuestion:
    """
    Validate a scenario of a kernel of the user's own.

    Raises:
        BadInput: A key is unknown or missing, or has a wrong value. The message names file, key and value.
    """
    data, origin = text.data, text.origin
    origin.require(data["kind"] == OWN_KIND, "kind", f'"{OWN_KIND}", or left out', data["kind"])
    for key in data:
        if key not in _NAMES:
            near = nearest(str(key), _NAMES)
            hint = f'did you mean "{near}"?' if near else f"allowed: {', '.join(_NAMES)}"
            raise BadInput(f"unknown key {quoted(str(key))}, {hint} ({origin.at(bare_or_quoted(str(key)))})")
    name, entry, shared = data.get("file"), data.get("entry", ""), data.get("shared_bytes", 0)
    is_file = isinstance(name, str) and name.endswith(KERNEL_SUFFIXES) and "\0" not in name
    origin.require(is_file, "file", f"a file that ends in {', '.join(KERNEL_SUFFIXES)}", name)
    origin.require(isinstance(entry, str), "entry", "the name of a kernel", entry)
    is_count = isinstance(shared, int) and not isinstance(shared, bool) and shared >= 0
    origin.require(is_count, "shared_bytes", "an integer of at least 0", shared)
    origin.require(isinstance(data.get("machine"), str), "machine", "given", data.get("machine"))
    return KernelQuestion(
        machine=machine_of(data["machine"], text)[0],
        file=_found(str(name), text),
        entry=entry,
        grid=_extents("grid", data, origin),
        block=_extents("block", data, origin),
        shared_bytes=shared,
        arguments=_values("arguments", 'numbers and text, such as "f32[1024]"', data, origin),
        defines=_values("defines", "numbers and text", data, origin),
        folder=text.folder,
        name=text.name,
    )


def _found(name: str, text: Text) -> Path:
    """Return the absolute path of a file beside the scenario or in the working directory."""
    folders = (Path(), text.folder) if "file" in text.origin.overrides else (text.folder, Path())
    places = [(folder / name).absolute() for folder in folders]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        raise BadInput(
            f"file must be there, got {quoted(name)}, which is not at {places[0]} ({text.origin.at('file')})"
        )
    return found


def _extents(key: str, data: Mapping[str, Any], origin: Origin) -> tuple[int, ...]:
    given = data.get(key)
    extents = given if isinstance(given, list | tuple) else [given]
    good = all(isinstance(one, int) and not isinstance(one, bool) and one >= 1 for one in extents)
    origin.require(good and 1 <= len(extents) <= 3, key, _EXTENTS, given)
    return tuple(extents)


def _values(key: str, rule: str, data: Mapping[str, Any], origin: Origin) -> dict[str, OwnValue]:
    table = data.get(key, {})
    origin.require(isinstance(table, Mapping), key, f"a table of {rule}", table)
    for name, value in table.items():
        good = isinstance(value, str | int | float) and not isinstance(value, bool)
        origin.require(good, f"{key}.{name}", "a number or text", value)
    return dict(table)
