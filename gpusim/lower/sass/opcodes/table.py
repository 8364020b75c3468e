"""Finds the opcode of an instruction word in the tables of all groups, and decodes it."""

from gpusim.lower.sass.opcodes.control import CONTROL_OPCODES
from gpusim.lower.sass.opcodes.floats import FLOAT_OPCODES
from gpusim.lower.sass.opcodes.half import HALF_OPCODES
from gpusim.lower.sass.opcodes.integer import INTEGER_OPCODES
from gpusim.lower.sass.opcodes.irregular import Irregular
from gpusim.lower.sass.opcodes.memory import MEMORY_OPCODES
from gpusim.lower.sass.opcodes.regular import decode_regular
from gpusim.lower.sass.opcodes.warp import WARP_OPCODES
from gpusim.lower.sass.operands import PT, RZ, URZ, Predicate, Register, SassOperand
from gpusim.lower.sass.words import FIRST_HOPPER, Operation, UnknownOpcode, Word

IRREGULAR = {**MEMORY_OPCODES, **CONTROL_OPCODES, **WARP_OPCODES}
"""Irregular opcodes by bits 0 to 11."""

REGULAR = {**INTEGER_OPCODES, **FLOAT_OPCODES, **HALF_OPCODES}
"""Regular opcodes by bits 0 to 8."""

HOPPER_ONLY = {
    0x02D: "PREEXIT",
    0x02E: "ACQBULK",
    0x1A5: "LDGMC",
    0x1A7: "SYNCS",
    0x1B0: "ARRIVES",
    0x1B1: "SYNCS",
    0x1B2: "SYNCS",
    0x1B4: "UTMALDG",
    0x1B5: "UTMASTG",
    0x1B6: "UTMAREDG",
    0x1B7: "UTMACMDFLUSH",
    0x1B8: "UTMAPF",
    0x1B9: "UTMACCTL",
    0x1BA: "UBLKCP",
    0x1BB: "UBLKRED",
    0x1BD: "STAS",
    0x1C5: "WARPGROUP",
    0x1C6: "FENCE",
    0x1C7: "UCGABAR",
    0x1F0: "HGMMA",
    0x1F1: "IGMMA",
    0x1F2: "BGMMA",
    0x1F3: "QGMMA",
}
"""Opcodes of sm_90 that are refused by their names: asynchronous copies and products, and clusters. By bits 0 to 8."""

VOTES = ("VOTE", "VOTEU")


def decode_operation(value: int, address: int, architecture: int) -> Operation:
    """
    Decode an instruction word except its guard and control field.

    Raises:
        UnknownOpcode: Neither table has its opcode, or one of its fields has an unknown value.
    """
    word = Word(value, address, architecture)
    entry = IRREGULAR.get(word.bits(0, 12))
    if entry is None:
        operation = decode_regular(word, REGULAR)
        if operation is None:
            name = HOPPER_ONLY.get(word.bits(0, 9)) if architecture >= FIRST_HOPPER else None
            opcode = f"opcode {word.bits(0, 12):#05x}"
            raise UnknownOpcode(f"{name} ({opcode}) is not decoded" if name else f"{opcode} is not known")
        return operation
    name, fields = entry
    if fields.hopper and architecture >= FIRST_HOPPER:
        name = fields.hopper
    operands = fields.operands(word)
    modifiers = fields.modifiers(word)
    word.require_read(name, fields.idle)
    shown = tuple(role for role, operand in operands.items() if _is_shown(word, name, fields, role, operand))
    return Operation(".".join([name, *modifiers]), operands, shown, fields.uniform)


def _is_shown(word: Word, name: str, fields: Irregular, role: str, operand: SassOperand) -> bool:
    if role in fields.hidden:
        return not (isinstance(operand, Predicate) and operand.number == PT and not operand.inverted)
    if name == "MATCH" and role == "p":
        return word.bits(79, 1) == 0
    if name in VOTES and role == "d":
        return not (isinstance(operand, Register) and operand.number == (URZ if operand.uniform else RZ))
    return True
