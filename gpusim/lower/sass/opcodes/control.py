"""Decodes branches, calls, convergence barriers, barriers of the CTA and waits."""

from gpusim.lower.sass.opcodes.irregular import Irregular, data, destination, fixed, nothing, plain, predicate
from gpusim.lower.sass.operands import PT, CodeAddress, Constant, Immediate, Named, Register, SassOperand
from gpusim.lower.sass.words import FIRST_HOPPER, UnknownOpcode, Word, optional, when
from gpusim.lower.stream import INSTRUCTION_BYTES


def _offset(w: Word) -> int:
    """Return the signed offset of a target in bytes. sm_90 has eight more low bits at bits 16 to 23."""
    if w.architecture >= FIRST_HOPPER:
        return w.signed(34, 48) * 1024 + w.bits(16, 8) * 4
    return w.signed(34, 48) * 4


def _following(w: Word) -> int:
    return w.address + INSTRUCTION_BYTES


def _branch_target(w: Word) -> CodeAddress:
    return CodeAddress(_following(w) + _offset(w))


def _near_target(w: Word) -> CodeAddress:
    return CodeAddress(w.address + INSTRUCTION_BYTES + w.signed(32, 32))


def _convergence(w: Word) -> Named:
    return Named(f"B{w.bits(16, 4)}", w.bits(16, 4))


def _bmov_to_register(w: Word) -> dict[str, SassOperand]:
    number = w.bits(24, 4)
    return {"d": destination(w), "n": Named(f"B{number}", number)}


def _bmov_from_register(w: Word) -> dict[str, SassOperand]:
    number = w.bits(24, 4)
    return {"n": Named(f"B{number}", number), "b": data(w)}


def _indexed_branch(w: Word) -> dict[str, SassOperand]:
    """Return the operands of BRX: a register pair, and the target from which it counts."""
    return {"a": Register(w.bits(24, 8)), "t": CodeAddress(_following(w) + _offset(w), shown_from=_following(w))}


def _near_call(w: Word) -> dict[str, SassOperand]:
    return {"t": _branch_target(w)}


def _near_call_of_register(w: Word) -> dict[str, SassOperand]:
    return {"a": Register(w.bits(24, 8)), "t": _branch_target(w)}


def _far_call(w: Word) -> dict[str, SassOperand]:
    return {"t": CodeAddress(_offset(w))}


def _far_call_of_register(w: Word) -> dict[str, SassOperand]:
    if _offset(w):
        raise UnknownOpcode("CALL.ABS to a register plus an offset is not known")
    return {"a": Register(w.bits(24, 8))}


def _own_address(w: Word) -> dict[str, SassOperand]:
    """Return the destination of LEPC, and on sm_90 the address that it takes; before, it is its own."""
    fields: dict[str, SassOperand] = {"d": Register(w.bits(16, 8))}
    if w.architecture >= FIRST_HOPPER:
        fields["t"] = CodeAddress(_following(w) + w.signed(24, 58))
    return fields


def _return_modifiers(w: Word) -> list[str]:
    return ["ABS" if w.flag(85) else "REL", "NODEC"]


def _return(w: Word) -> dict[str, SassOperand]:
    target = CodeAddress(_offset(w)) if w.flag(85) else _branch_target(w)
    return {"a": Register(w.bits(24, 8)), "t": target}


def _warpsync_modifiers(w: Word) -> list[str]:
    """Return the modifiers of WARPSYNC. Bit 86 says EXCLUSIVE, and on sm_90 COLLECTIVE, which names a target."""
    special = when(w.flag(86), "COLLECTIVE" if w.architecture >= FIRST_HOPPER else "EXCLUSIVE")
    return [*special, *when(w.architecture >= FIRST_HOPPER and w.bits(0, 12) == 0x948, "ALL")]


def _warpsync(w: Word) -> dict[str, SassOperand]:
    """Return mask and target of WARPSYNC. On sm_90 the mask is a register or all lanes."""
    of_register = w.bits(0, 12) == 0x348
    if w.architecture < FIRST_HOPPER:
        return {"k": data(w) if of_register else Immediate(w.bits(32, 32))}
    mask: dict[str, SassOperand] = {"k": Register(w.bits(24, 8))} if of_register else {}
    return {**mask, "t": _branch_target(w)} if w.flag(86) else mask


def _nanosleep(w: Word) -> dict[str, SassOperand]:
    form = w.bits(0, 12)
    if form == 0x95D:
        return {"k": Immediate(w.bits(32, 32))}
    return {"k": data(w) if form == 0x35D else Constant(w.bits(54, 5), w.signed(40, 14) * 4)}


def _b2r(w: Word) -> dict[str, SassOperand]:
    return {"d": destination(w), "p": predicate(w, 81)}


def _branch_modifiers(w: Word) -> list[str]:
    return [*optional(("", "U", "DIV", "CONV")[w.bits(32, 2)]), *when(w.flag(84), "ANY")]


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
    0x31C: ("B2R", Irregular(fixed("RESULT"), _b2r, hidden="p", idle=1 << 78)),
    0x355: ("BMOV", Irregular(lambda w: ["32", *when(w.flag(84), "CLEAR")], _bmov_to_register)),
    0x356: ("BMOV", Irregular(fixed("32"), _bmov_from_register)),
    0x918: ("NOP", Irregular(plain, nothing)),
    0x91A: ("DEPBAR", Irregular(fixed("LE"), _depbar, idle=1 << 47)),
    0x941: ("BSYNC", Irregular(plain, lambda w: {"n": _convergence(w)}, idle=ALWAYS)),
    0x942: ("BREAK", Irregular(plain, lambda w: {"x": predicate(w, 87, 90), "n": _convergence(w)}, hidden="x")),
    0x944: ("CALL", Irregular(fixed("REL", "NOINC"), _near_call, idle=UNCOUNTED)),
    0x344: ("CALL", Irregular(fixed("REL", "NOINC"), _near_call_of_register, idle=UNCOUNTED)),
    0x943: ("CALL", Irregular(fixed("ABS", "NOINC"), _far_call, idle=UNCOUNTED)),
    0x343: ("CALL", Irregular(fixed("ABS", "NOINC"), _far_call_of_register, idle=UNCOUNTED)),
    0x945: ("BSSY", Irregular(plain, lambda w: {"n": _convergence(w), "t": _near_target(w)}, idle=ALWAYS)),
    0x946: ("YIELD", Irregular(plain, nothing, idle=ALWAYS)),
    0x947: ("BRA", Irregular(_branch_modifiers, _branch, hidden="x")),
    **dict.fromkeys((0x348, 0x948), ("WARPSYNC", Irregular(_warpsync_modifiers, _warpsync, idle=ALWAYS))),
    0x949: ("BRX", Irregular(plain, _indexed_branch, idle=ALWAYS)),
    0x94D: ("EXIT", Irregular(plain, lambda w: {"x": predicate(w, 87, 90)}, hidden="x")),
    **dict.fromkeys((0x34E, 0x94E), ("LEPC", Irregular(plain, _own_address))),
    0x950: ("RET", Irregular(_return_modifiers, _return, idle=UNCOUNTED)),
    **dict.fromkeys(
        (0x35D, 0x95D, 0xB5D),
        ("NANOSLEEP", Irregular(lambda w: when(w.flag(85), "WARP"), _nanosleep, idle=ALWAYS)),
    ),
    0x95B: ("KILL", Irregular(plain, nothing, idle=ALWAYS)),
    0x95C: ("BPT", Irregular(fixed("TRAP"), lambda w: {"k": Immediate(w.bits(34, 20))}, idle=3 << 84)),
    0x801: ("PMTRIG", Irregular(plain, lambda w: {"k": Immediate(w.bits(32, 16))}, idle=ALWAYS)),
    0x91B: ("ENDCOLLECTIVE", Irregular(plain, nothing, idle=ALWAYS)),
    0x9AF: ("LDGDEPBAR", Irregular(plain, nothing)),
    **dict.fromkeys((0x31D, 0x51D, 0x91D, 0xB1D), ("BAR", Irregular(_bar_modifiers, _bar, hidden="x"))),
}
"""Opcodes of control flow and barriers by bits 0 to 11."""
