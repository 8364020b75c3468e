"""One figure of a machine file: its unit, its allowed values, and how it is known."""

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from gpusim.units import PAGE_LINE_BITS

FileKind: TypeAlias = Literal["documented", "measured", "fitted", "assumed"]
FIGURE_KINDS: tuple[str, ...] = get_args(FileKind)
"""Kinds that a machine file may state."""

FigureKind: TypeAlias = FileKind | Literal["user"]
"""Kinds of figures, by their evidence. "user": a user overrides the file's value."""


_BOUNDS_OF_UNIT: dict[str, tuple[int, int]] = {
    "10*major+minor": (70, 199),
    "bits": (0, PAGE_LINE_BITS - 1),  # of a line's number in a page
    "bytes/cycle": (1, 1 << 16),
    "channels": (1, 4096),
    "copies": (1, 1024),
    "CTAs": (1, 256),
    "cycles": (1, 100_000),
    "GB/s": (10, 100_000),
    "GPCs": (0, 63),  # numbered from 0
    "instructions": (1, 1024),
    "lines": (1, 1024),
    "loads": (1, 1024),
    "masks": (1, 1 << 20),
    "MHz": (100, 10_000),
    "ns": (1, 10_000),
    "percent": (1, 1000),
    "reads": (1, 1024),
    "requests": (1, 1 << 16),
    "sectors": (1, 1 << 20),
    "sides": (0, 1),  # numbered from 0
    "slices": (2, 1024),  # in pairs
    "SMs": (1, 4096),
    "SMSPs": (1, 64),
    "stores": (1, 1024),
    "TPCs": (0, 63),  # numbered from 0
    "wavefronts": (1, 32),
    "wavefronts/cycle": (1, 32),
    "warps": (1, 256),
}
"""Default bounds of figures by unit. The upper bounds are at least ten times the values of a GPU."""


@dataclass(frozen=True, slots=True)
class FigureUnit:
    """
    Marks an attribute that is filled by one figure record of the machine file.

    Attributes:
        name: Unit that the record must state.
        lower: Smallest allowed value; None for the unit's default.
        upper: Largest allowed value; None for the unit's default.
        zero: Meaning of the value 0. If empty, 0 is allowed only within the unit's bounds.
        power_of_two: Whether the figure must be a power of two, because addresses are divided by it.
        only: The only value that is simulated and therefore allowed; None if any value is.
    """

    name: str
    lower: int | None = None
    upper: int | None = None
    zero: str = ""
    power_of_two: bool = False
    only: int | bool | None = None

    @property
    def least(self) -> int:
        """Smallest allowed value."""
        if self.only is not None:
            return int(self.only)
        if self.zero:
            return 0
        return _BOUNDS_OF_UNIT[self.name][0] if self.lower is None else self.lower

    @property
    def most(self) -> int:
        """Largest allowed value."""
        if self.only is not None:
            return int(self.only)
        return _BOUNDS_OF_UNIT[self.name][1] if self.upper is None else self.upper

    @property
    def allowed(self) -> str:
        """Description of the allowed values, for messages."""
        if self.only is not None:
            return f"{str(self.only).lower()}, no other is simulated"
        if self.name == "bool":
            return "true or false"
        what = "a power of two" if self.power_of_two else "an integer"
        return f"{what} of {self.least} to {self.most}"

    def allows(self, value: object) -> bool:
        """Return whether a value has the right type, is within bounds and, if required, is a power of two."""
        if self.only is not None:
            return type(value) is type(self.only) and value == self.only
        if self.name == "bool":
            return isinstance(value, bool)
        if type(value) is not int or not self.least <= value <= self.most:
            return False
        return not self.power_of_two or value & (value - 1) == 0


@dataclass(frozen=True, slots=True)
class Inherited:
    """Marks an attribute whose value is copied from the machine's top-level figure of this name."""

    name: str


def printed_value(value: int | bool | tuple[int, ...]) -> str:
    """Return a figure's value as text; the integers of a list are separated by commas."""
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


@dataclass(frozen=True, slots=True)
class FigureRecord:
    """
    The provenance of one figure of a machine file.

    Attributes:
        key: Dotted key in the machine file.
        value: Value of the figure in ``unit``, or several values for a list.
        unit: Unit of the value.
        kind: Kind of the figure, by its evidence.
        source: Key in the file's ``[sources]``; empty for an assumed figure without a source.
        at: Place in the source.
        why: Reason for an assumed figure; for a user's figure, the value that it overrides.
        fitted_on: Runs a fitted figure was fitted on; these runs cannot validate it.
    """

    key: str
    value: int | bool | tuple[int, ...]
    unit: str
    kind: FigureKind
    source: str
    at: str
    why: str
    fitted_on: tuple[str, ...]
