"""The operands of a SASS instruction and how a disassembler writes them; never what an opcode does with them."""

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
        number: Register index; ``RZ`` or ``URZ`` is the zero register.
        uniform: In the warp's uniform file.
        sign: "" or "-" (negated) or "~" (inverted).
        absolute: Its absolute value is taken.
        reuse: The operand is kept in the reuse cache.
        suffix: A part or width, such as ".64" or ".H0_H0".
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
    """A predicate register, ``number`` ``PT`` meaning true."""

    number: int
    uniform: bool = False
    inverted: bool = False

    def __str__(self) -> str:
        name = ("U" if self.uniform else "") + ("PT" if self.number == PT else f"P{self.number}")
        return ("!" if self.inverted else "") + name


@dataclass(frozen=True, slots=True)
class Immediate:
    """
    A constant in the instruction.

    Attributes:
        value: The bits.
        kind: How they are written: an integer (32 bits signed, or not), a float, or two halves.
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
    """A word of a constant bank, at ``offset`` bytes plus the index register."""

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
    An address: base register (32 or 64 bits), uniform register and signed offset in bytes.

    Attributes:
        wide: The base is a register pair.
        descriptor: The uniform register pair that describes the global window; it adds nothing to the address.
        alone: A pair that no uniform register can be added to: sm_75 writes it without its suffix.
    """

    base: Register
    offset: int = 0
    uniform: Register | None = None
    wide: bool = False
    descriptor: Register | None = None
    alone: bool = False

    def __str__(self) -> str:
        parts = []
        if self.base.number != RZ or (self.uniform is None and not self.offset):
            parts.append(str(self.base) + (".64" if self.wide and not self.alone else ""))
        if self.uniform is not None:
            parts.append(str(self.uniform))
        if self.offset:
            parts.append(("-" if self.offset < 0 else "") + hex(abs(self.offset)))
        inside = f"[{'+'.join(parts)}]"
        return inside if self.descriptor is None else f"desc[{self.descriptor}]{inside}"


@dataclass(frozen=True, slots=True)
class CodeAddress:
    """An instruction address within the kernel's text."""

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
