"""Decodes branches, calls, convergence barriers, barriers of the CTA and waits."""

from gpusim.lower.sass.opcodes.irregular import Irregular, data, destination, fixed, nothing, plain, predicate
from gpusim.lower.sass.operands import PT, CodeAddress, Immediate, Named, Register, SassOperand
from gpusim.lower.sass.words import UnknownOpcode, Word, optional, when
from gpusim.lower.stream import INSTRUCTION_BYTES


def _branch_target(w: Word) -> CodeAddress:
    """Return the next instruction's address plus a signed offset. sm_90 has eight more low bits at bits 16 to 23."""
    offset = w.signed(34, 48) * 4
    if w.architecture >= 90:
        offset = w.signed(34, 48) * 1024 + w.bits(16, 8) * 4
    return CodeAddress(w.address + INSTRUCTION_BYTES + offset)


def _near_target(w: Word) -> CodeAddress:
    return CodeAddress(w.address + INSTRUCTION_BYTES + w.signed(32, 32))


def _convergence(w: Word) -> Named:
    return Named(f"B{w.bits(16, 4)}", w.bits(16, 4))


def _bmov(w: Word) -> dict[str, SassOperand]:
    number = w.bits(24, 4)
    return {"d": destination(w), "n": Named(f"B{number}", number)}


def _branch(w: Word) -> dict[str, SassOperand]:
    fields: dict[str, SassOperand] = {"x": predicate(w, 87, 90)}
    if w.flag(91):
        fields["a"] = Register(w.bits(24, 6), uniform=True, sign="~" if w.flag(30) else "")
    return fields | {"t": _branch_target(w)}


def _bar_modifiers(w: Word) -> list[str]:
    mode = ("SYNC", "ARV", "RED", "SCAN", "SYNCALL")[w.bits(77, 3)]
    reduction = [("POPC", "AND", "OR", "INVALID3")[w.bits(74, 2)]] if mode == "RED" else []
    return [mode, *reduction, *when(w.flag(80), "DEFER_BLOCKING")]


def _bar(w: Word) -> dict[str, SassOperand]:
    """
    Return the number of a barrier and, unless all threads of the CTA are expected, the count of expected threads.

    Either may be in a register, in one and the same if both are.
    """
    form = w.bits(0, 12)
    fields: dict[str, SassOperand] = {"k": Immediate(w.bits(54, 4)) if form in (0x91D, 0xB1D) else data(w)}
    if form in (0x31D, 0x91D):
        fields["c"] = data(w)
    elif threads := w.bits(42, 12):
        fields["c"] = Immediate(threads)
    # Only a reduction reads the predicate; elsewhere its field is zero.
    return fields | ({"x": predicate(w, 87, 90)} if w.bits(77, 3) == 2 else {})


def _depbar(w: Word) -> dict[str, SassOperand]:
    board = w.bits(44, 3)
    if w.bits(32, 6):
        raise UnknownOpcode("DEPBAR with a list of scoreboards is not decoded")
    return {"n": Named(f"SB{board}", board), "k": Immediate(w.bits(38, 6))}


ALWAYS = PT << 87
UNCOUNTED = ALWAYS | 1 << 86
"""Idle fields: a predicate; a call's predicate and count."""

CONTROL_OPCODES: dict[int, tuple[str, Irregular]] = {
    0x31C: ("B2R", Irregular(fixed("RESULT"), lambda w: {"d": destination(w), "p": predicate(w, 81)})),
    0x355: ("BMOV", Irregular(lambda w: ["32", *when(w.flag(84), "CLEAR")], _bmov)),
    0x918: ("NOP", Irregular(plain, nothing)),
    0x91A: ("DEPBAR", Irregular(fixed("LE"), _depbar, idle=1 << 47)),
    0x941: ("BSYNC", Irregular(plain, lambda w: {"n": _convergence(w)}, idle=ALWAYS)),
    0x942: ("BREAK", Irregular(plain, lambda w: {"n": _convergence(w)}, idle=ALWAYS)),
    0x944: ("CALL", Irregular(fixed("REL", "NOINC"), lambda w: {"t": _branch_target(w)}, idle=UNCOUNTED)),
    0x945: ("BSSY", Irregular(plain, lambda w: {"n": _convergence(w), "t": _near_target(w)}, idle=ALWAYS)),
    0x946: ("YIELD", Irregular(plain, nothing, idle=ALWAYS)),
    0x947: ("BRA", Irregular(lambda w: optional(("", "U", "DIV", "CONV")[w.bits(32, 2)]), _branch, hidden="x")),
    0x948: (
        "WARPSYNC",
        Irregular(lambda w: when(w.architecture >= 90, "ALL"), lambda w: {"k": Immediate(w.bits(32, 32))}, idle=ALWAYS),
    ),
    0x94D: ("EXIT", Irregular(plain, lambda w: {"x": predicate(w, 87, 90)}, hidden="x")),
    0x950: (
        "RET",
        Irregular(
            fixed("REL", "NODEC"), lambda w: {"a": Register(w.bits(24, 8)), "t": _branch_target(w)}, idle=UNCOUNTED
        ),
    ),
    0x95D: ("NANOSLEEP", Irregular(plain, lambda w: {"k": Immediate(w.bits(32, 32))})),
    0x9AF: ("LDGDEPBAR", Irregular(plain, nothing)),
    **dict.fromkeys((0x31D, 0x51D, 0x91D, 0xB1D), ("BAR", Irregular(_bar_modifiers, _bar, hidden="x"))),
}
"""Opcodes of control flow and barriers by bits 0 to 11."""
