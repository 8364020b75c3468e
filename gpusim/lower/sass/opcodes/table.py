"""Finds the opcode of an instruction word in the tables of all groups, and decodes it."""

from gpusim.lower.sass.opcodes.control import CONTROL_OPCODES
from gpusim.lower.sass.opcodes.floats import FLOAT_OPCODES
from gpusim.lower.sass.opcodes.half import HALF_OPCODES
from gpusim.lower.sass.opcodes.integer import INTEGER_OPCODES
from gpusim.lower.sass.opcodes.irregular import Irregular
from gpusim.lower.sass.opcodes.memory import MEMORY_OPCODES
from gpusim.lower.sass.opcodes.regular import decode_regular
from gpusim.lower.sass.opcodes.warp import WARP_OPCODES
from gpusim.lower.sass.operands import PT, RZ, Predicate, Register, SassOperand
from gpusim.lower.sass.words import FIRST_HOPPER, Operation, UnknownOpcode, Word

IRREGULAR = {**MEMORY_OPCODES, **CONTROL_OPCODES, **WARP_OPCODES}
"""Irregular opcodes by bits 0 to 11."""

REGULAR = {**INTEGER_OPCODES, **FLOAT_OPCODES, **HALF_OPCODES}
"""Regular opcodes by bits 0 to 8."""

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
            raise UnknownOpcode(f"opcode {word.bits(0, 12):#05x} is not known")
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
        return not (isinstance(operand, Register) and operand.number == RZ)
    return True
