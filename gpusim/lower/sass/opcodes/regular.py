"""Decodes the regular opcodes of sm_75 to sm_90: bits 0 to 8 name them, bits 9 to 11 give the form of sources b and c.

Roles of operands: ``d`` destination, ``a b c`` sources, ``p q`` predicate destinations, ``x y z`` predicate sources,
``k`` an immediate field. A role written with "?" is left out of the text when it is the always-true predicate.

Source: the field positions are public from the encoders of Mesa's NAK compiler (sm70_encode.rs), CuAssembler and
TuringAs; every entry here was checked against the text of nvdisasm 13.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from gpusim.lower.sass.opcodes.irregular import plain
from gpusim.lower.sass.operands import PT, RZ, URZ, Constant, Immediate, Predicate, Register, SassOperand
from gpusim.lower.sass.words import FIRST_HOPPER, Modifiers, Operation, UnknownOpcode, Word

ValueKind: TypeAlias = Literal["integer", "signed", "float", "double", "halves", "bf16s"]
Roles: TypeAlias = str | Callable[[Word], str]


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """
    An opcode of the regular form: bits 0-8 name it, bits 9-11 say where sources b and c come from.

    Attributes:
        name: Opcode without modifiers.
        roles: Roles of the operands in the order they are written, or a function that returns them for a word.
        modifiers: Returns the modifiers that a word has.
        sign: Meaning of the sources' negation bits: "-" negates, "-x" negates but inverts under .X, "" means that the
            bits belong to other fields.
        signed_sources: Roles of the sources that have a negation bit.
        values: How an immediate is written, or a function that says it of a word.
        absolute: The sources have absolute-value bits.
        swizzled: The sources are pairs of halves, with fields that select halves.
        part: Returns the part of its register that source b of a word is, such as ".H1"; None if it is all of it.
        fields: Lowest bit and width of role ``k``.
        uniform: The opcode works on the uniform register file.
        adder: The opcode is a sum, whose second source takes the third slot's reuse bit.
        idle: Required value of the bits that only other forms of the opcode use.
    """

    name: str
    roles: Roles
    modifiers: Modifiers = plain
    sign: str = ""
    values: ValueKind | Callable[[Word], ValueKind] = "integer"
    absolute: bool = False
    swizzled: bool = False
    part: Callable[[Word], str] | None = None
    signed_sources: str = "abc"
    fields: dict[str, tuple[int, int]] = field(default_factory=dict)
    uniform: bool = False
    adder: bool = False
    idle: int = 0


NO_CARRY = 0xF << 87 | 0xF << 77
"""Both predicate sources, inverted PT."""

NO_CARRY_IN = 0xF << 87
NO_PREDICATE = PT << 81
NO_C = RZ << 64
NO_UNIFORM_C = URZ << 64
ALL_BYTES = 0xF << 72
"""Idle fields: the first predicate source; the first predicate destination; source c; the bytes that MOV moves."""

COMBINATIONS = ("AND", "OR", "XOR", "INVALID3")
"""Operation that combines a comparison with its predicate source."""

REUSE_A, REUSE_B, REUSE_C = 122, 123, 124
"""Reuse bits of the three operand slots."""

SWAPPED = (2, 3, 7)
"""Forms in which bits 32 to 63 hold c instead of b."""

IMMEDIATES, CONSTANTS = (2, 4), (3, 5)
"""Forms in which bits 32 to 63 hold an immediate, or an address in a constant bank."""

UNIFORM_SOURCES = (6, 7)
"""Forms in which bits 32 to 63 hold a uniform register."""

SELECTOR_AT = {24: 74, 32: 60, 64: 81}
"""Lowest bit of a source's half selector, by the lowest bit of the source."""

PREDICATE_DESTINATIONS = {"p": 81, "q": 84}
PREDICATE_SOURCES = {"x": (87, 90), "y": (77, 80), "z": (68, 71)}


def second_source(roles: str) -> Callable[[Word], str]:
    """Return a function that names the second source b, or c in the forms that swap the slots."""
    swapped = roles.replace("b", "c")
    return lambda w: swapped if w.bits(9, 3) in SWAPPED else roles


def decode_regular(word: Word, table: Mapping[int, Arithmetic]) -> Operation | None:
    """
    Decode a word of a regular opcode.

    Args:
        word: The instruction.
        table: The opcodes by bits 0 to 8.

    Returns:
        The operation, or None if the table has no such opcode.
    """
    entry = table.get(word.bits(0, 9))
    form = word.bits(9, 3)
    if entry is None or form == 0:
        return None
    roles = entry.roles if isinstance(entry.roles, str) else entry.roles(word)
    operands: dict[str, SassOperand] = {}
    shown = []
    for role in roles.split():
        name = role.lstrip("?")
        operand = _operand(word, entry, name)
        operands[name] = operand
        if not (role != name and operand == Predicate(PT, entry.uniform)):
            shown.append(name)
    modifiers = entry.modifiers(word)
    sources = [operands[role] for role in "abc" if role in operands]
    if form not in CONSTANTS and word.flag(91) != any(isinstance(one, Register) and one.uniform for one in sources):
        raise UnknownOpcode(f"{entry.name} whose operands are of another register file is not known")
    word.require_read(entry.name, entry.idle)
    return Operation(".".join([entry.name, *modifiers]), operands, tuple(shown), entry.uniform)


def _operand(word: Word, entry: Arithmetic, role: str) -> SassOperand:
    if role in "abc":
        return _source(word, entry, role)
    if role == "d":
        return Register(word.bits(16, 6 if entry.uniform else 8), entry.uniform)
    if role == "k":
        return Immediate(word.bits(*entry.fields["k"]))
    if role in PREDICATE_DESTINATIONS:
        return Predicate(word.bits(PREDICATE_DESTINATIONS[role], 3), entry.uniform)
    low, inverted = PREDICATE_SOURCES[role]
    return Predicate(word.bits(low, 3), entry.uniform, word.flag(inverted))


def _source(word: Word, entry: Arithmetic, role: str) -> SassOperand:
    """
    Decode source a, b or c.

    Source a is at bit 24. Either b or c is a register at bit 64; the other, of any kind, is at bits 32 to 63.
    """
    if role == "a":
        return _register(word, entry, role, 24, REUSE_A, negated=72, absolute=73)
    form = word.bits(9, 3)
    reuse = REUSE_B if role == "b" and not entry.adder else REUSE_C
    if role == ("b" if form in SWAPPED else "c"):
        negated, absolute = (84, 83) if entry.swizzled else (75, 74)
        return _register(word, entry, role, 64, reuse, negated=negated, absolute=absolute)
    if form in IMMEDIATES:
        return Immediate(word.bits(32, 32), entry.values(word) if callable(entry.values) else entry.values)
    if form in CONSTANTS:
        if word.flag(91) != entry.uniform:
            raise UnknownOpcode("a constant bank chosen by a uniform register is not decoded")
        sign, absolute_value = _sign(word, entry, role, 63), _absolute(word, entry, 62)
        suffix = _half_selector(word, entry, 32)
        return Constant(word.bits(54, 5), word.signed(40, 14) * 4, None, sign, absolute_value, suffix)
    uniform = entry.uniform or form in UNIFORM_SOURCES
    return _register(word, entry, role, 32, reuse, negated=63, absolute=62, uniform=uniform)


def _register(
    word: Word,
    entry: Arithmetic,
    role: str,
    low: int,
    reuse: int,
    *,
    negated: int,
    absolute: int,
    uniform: bool | None = None,
) -> Register:
    in_uniform_file = entry.uniform if uniform is None else uniform
    return Register(
        word.bits(low, 6 if in_uniform_file else 8),
        in_uniform_file,
        _sign(word, entry, role, negated),
        _absolute(word, entry, absolute),
        word.flag(reuse),
        _half_selector(word, entry, low),
    )


def _half_selector(word: Word, entry: Arithmetic, low: int) -> str:
    """Return which halves of a pair a source takes, given the lowest bit of its field."""
    if entry.part is not None:
        return entry.part(word)
    if not entry.swizzled:
        return ""
    selected: str = ("", ".F32", ".H0_H0", ".H1_H1")[word.bits(SELECTOR_AT[low], 2)]
    if selected == ".F32" and word.architecture >= FIRST_HOPPER:
        raise UnknownOpcode("a pair of halves as one f32 is not known")
    return selected


def _sign(word: Word, entry: Arithmetic, role: str, bit: int) -> Literal["", "-", "~"]:
    if not entry.sign or role not in entry.signed_sources or not word.flag(bit):
        return ""
    return "~" if entry.sign == "-x" and word.flag(74) else "-"


def _absolute(word: Word, entry: Arithmetic, bit: int) -> bool:
    return entry.absolute and word.flag(bit)
