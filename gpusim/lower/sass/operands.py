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
        name = f"|{name}|" if self.absolute else name
        return self.sign + name + (".reuse" if self.reuse else "") + self.suffix


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
        kind: What they are: an unsigned or signed 32-bit integer, an f32, the high word of an f64 (its low word is 0),
            or two halves in f16 or bf16. The text shows the half in the high bits first.
    """

    value: int
    kind: Literal["integer", "signed", "float", "double", "halves", "bf16s"] = "integer"

    def __str__(self) -> str:
        if self.kind == "float":
            return _f32_text(self.value)
        if self.kind == "double":
            high = self.value & 0xFFFFFFFF
            return _float_text(struct.unpack("<d", struct.pack("<2I", 0, high))[0], high >> 19 & 1, high >> 31)
        if self.kind == "halves":
            halves = self.value >> 16 & 0xFFFF, self.value & 0xFFFF
            return ", ".join(
                _float_text(struct.unpack("<e", struct.pack("<H", one))[0], one >> 9 & 1, one >> 15) for one in halves
            )
        if self.kind == "bf16s":
            return f"{_f32_text(self.value & 0xFFFF0000)}, {_f32_text(self.value << 16)}"
        return hex(self.value - (1 << 32) if self.kind == "signed" and self.value >> 31 else self.value)


LONG_FROM = 1e9
"""Magnitude from which a disassembly shows all digits."""


def _f32_text(bits: int) -> str:
    bits &= 0xFFFFFFFF
    return _float_text(struct.unpack("<f", struct.pack("<I", bits))[0], bits >> 22 & 1, bits >> 31)


def _float_text(value: float, quiet: int, negative: int) -> str:
    if value != value:  # noqa: PLR0124  (only a NaN differs from itself)
        return f"{'-' if negative else '+'}{'Q' if quiet else 'S'}NAN"
    if value in (float("inf"), float("-inf")):
        return "+INF" if value > 0 else "-INF"
    return f"{value:.20e}" if abs(value) >= LONG_FROM else f"{value:.20g}"


@dataclass(frozen=True, slots=True)
class Constant:
    """
    A word of a constant bank, at byte ``offset`` plus the index register.

    Attributes:
        bank: Number of the bank.
        offset: Byte offset in the bank.
        index: Register that is added to the offset.
        sign: "", "-" (negated) or "~" (inverted).
        absolute: The operand is the constant's absolute value.
        suffix: The halves that are taken, such as ".H0_H0".
    """

    bank: int
    offset: int
    index: Register | None = None
    sign: Literal["", "-", "~"] = ""
    absolute: bool = False
    suffix: str = ""

    def __str__(self) -> str:
        inside = hex(self.offset)
        if self.index is not None and (self.index.number != RZ or not self.offset):
            inside = str(self.index) + (f"+{inside}" if self.offset else "")
        name = f"c[{self.bank:#x}][{inside}]"
        return self.sign + (f"|{name}|" if self.absolute else name) + self.suffix


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
    """
    The byte address of an instruction within the kernel's text.

    Attributes:
        address: The address.
        shown_from: Address that the text subtracts.
    """

    address: int
    shown_from: int = 0

    def __str__(self) -> str:
        return hex(self.address - self.shown_from)


@dataclass(frozen=True, slots=True)
class Named:
    """A special register, scoreboard or convergence barrier, by name and number."""

    name: str
    number: int

    def __str__(self) -> str:
        return self.name


SassOperand: TypeAlias = Register | Predicate | Immediate | Constant | Memory | CodeAddress | Named
