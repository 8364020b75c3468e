"""Defines the operands of a SASS instruction and their text in a disassembly; knows no opcode."""

import struct
from dataclasses import dataclass
from typing import Literal, TypeAlias

RZ = 255
"""The vector register that reads as zero."""

URZ = 63
"""The uniform register that reads as zero."""

PT = 7
"""The predicate that is always true."""


@dataclass(frozen=True, slots=True)
class Register:
    """
    A register as a source or a destination.

    Attributes:
        number: Register index. ``RZ``, or ``URZ`` of the uniform file, is the zero register.
        uniform: The register is in the warp's uniform file.
        sign: "", "-" (negated) or "~" (inverted).
        absolute: The operand is the register's absolute value.
        reuse: The operand is kept in the reuse cache.
        suffix: Part or width, such as ".64" or ".H0_H0".
    """

    number: int
    uniform: bool = False
    sign: Literal["", "-", "~"] = ""
    absolute: bool = False
    reuse: bool = False
    suffix: str = ""

    def __str__(self) -> str:
        zero = URZ if self.uniform else RZ
        name = ("U" if self.uniform else "") + ("RZ" if self.number == zero else f"R{self.number}")
        name += (".reuse" if self.reuse else "") + self.suffix
        return self.sign + (f"|{name}|" if self.absolute else name)


@dataclass(frozen=True, slots=True)
class Predicate:
    """A predicate register. Number ``PT`` is always true."""

    number: int
    uniform: bool = False
    inverted: bool = False

    def __str__(self) -> str:
        name = ("U" if self.uniform else "") + ("PT" if self.number == PT else f"P{self.number}")
        return ("!" if self.inverted else "") + name


@dataclass(frozen=True, slots=True)
class Immediate:
    """
    A constant in the instruction word.

    Attributes:
        value: Its bits.
        kind: How the text shows them: unsigned or signed 32-bit integer, float, or two halves.
    """

    value: int
    kind: Literal["integer", "signed", "float", "halves"] = "integer"

    def __str__(self) -> str:
        if self.kind == "float":
            return _float_text(struct.unpack("<f", struct.pack("<I", self.value & 0xFFFFFFFF))[0])
        if self.kind == "halves":
            low, high = struct.unpack("<2e", struct.pack("<I", self.value & 0xFFFFFFFF))
            return f"{_float_text(high)}, {_float_text(low)}"
        return hex(self.value - (1 << 32) if self.kind == "signed" and self.value >> 31 else self.value)


def _float_text(value: float) -> str:
    if value != value:  # noqa: PLR0124  (only a NaN differs from itself)
        return "+QNAN"
    if value in (float("inf"), float("-inf")):
        return "+INF" if value > 0 else "-INF"
    return f"{value:.20g}"


@dataclass(frozen=True, slots=True)
class Constant:
    """A word of a constant bank, at byte ``offset`` plus the index register."""

    bank: int
    offset: int
    index: Register | None = None
    sign: Literal["", "-", "~"] = ""
    absolute: bool = False

    def __str__(self) -> str:
        inside = hex(self.offset)
        if self.index is not None and self.index.number != RZ:
            inside = str(self.index) + (f"+{inside}" if self.offset else "")
        name = f"c[{self.bank:#x}][{inside}]"
        return self.sign + (f"|{name}|" if self.absolute else name)


@dataclass(frozen=True, slots=True)
class Memory:
    """
    A memory address: the sum of a base register, a uniform register and a signed offset in bytes.

    Attributes:
        wide: The address has 64 bits, and the base is a register pair.
        half: The base of a 64-bit address is one register, extended by zeros.
        descriptor: Uniform register pair that describes the global window. It adds nothing to the address.
        alone: The form of sm_75 has no uniform register, and the text shows the pair without the suffix .64.
    """

    base: Register
    offset: int = 0
    uniform: Register | None = None
    wide: bool = False
    half: bool = False
    descriptor: Register | None = None
    alone: bool = False

    def __str__(self) -> str:
        parts = []
        if self.base.number != RZ or (self.uniform is None and not self.offset):
            width = "" if not self.wide or self.alone else ".U32" if self.half else ".64"
            parts.append(str(self.base) + width)
        if self.uniform is not None:
            parts.append(str(self.uniform))
        if self.offset:
            parts.append(("-" if self.offset < 0 else "") + hex(abs(self.offset)))
        inside = f"[{'+'.join(parts)}]"
        return inside if self.descriptor is None else f"desc[{self.descriptor}]{inside}"


@dataclass(frozen=True, slots=True)
class CodeAddress:
    """The byte address of an instruction within the kernel's text."""

    address: int

    def __str__(self) -> str:
        return hex(self.address)


@dataclass(frozen=True, slots=True)
class Named:
    """A special register, scoreboard or convergence barrier, by name and number."""

    name: str
    number: int

    def __str__(self) -> str:
        return self.name


SassOperand: TypeAlias = Register | Predicate | Immediate | Constant | Memory | CodeAddress | Named
