"""Rows of control flow, of barriers, and of what lanes tell each other."""

from typing import Final

from gpusim.execute.core import constants as core
from gpusim.execute.rows import EIGHTS, SPECIAL_ROW, WORD, Make, Refused, RowMaker
from gpusim.lower.sass.operands import CodeAddress, Immediate, Named, Register
from gpusim.lower.stream import INSTRUCTION_BYTES

SPECIALS: Final = (
    *("SR_LANEID", "SR_TID.X", "SR_TID.Y", "SR_TID.Z", "SR_CTAID.X", "SR_CTAID.Y", "SR_CTAID.Z", "SR_TID"),
    *("SR_EQMASK", "SR_LTMASK", "SR_LEMASK", "SR_GTMASK", "SR_GEMASK", "SR_SWINHI", "SRZ", "SR_CgaCtaId"),
    *("SR_VIRTUALSMID", "SR_VIRTID"),
)
"""Special registers, in the order of their rows."""

CLOCKS: Final = {"SR_CLOCKLO": 0, "SR_CLOCKHI": 32, "SR_GLOBALTIMERLO": 0, "SR_GLOBALTIMERHI": 32}
"""First bit that each part of a clock has of the count of executed instructions."""

HINTS: Final = frozenset(
    {"DEFER_BLOCKING", "REL", "NOINC", "NODEC", "ALL", "EXCLUSIVE", "COLLECTIVE", "U", "RECONVERGENT"}
)


def _nothing(row: RowMaker) -> None:
    row.kind(core.NO_EFFECT)
    row.modifiers.clear()


def _yield(row: RowMaker) -> None:
    row.kind(core.YIELD)


def _target(row: RowMaker) -> None:
    row.set(TARGET=row.sass.operand("t", CodeAddress).address // INSTRUCTION_BYTES)


def _branch(row: RowMaker) -> None:
    row.kind(core.BRANCH)
    if row.sass.name == "CALL" and "a" in row.sass.operands:
        raise Refused("a call through a register is not executed")
    if row.has("CONV"):
        row.set(FORM=1)
    elif row.has("DIV"):
        row.set(FORM=2)
    row.ignore(HINTS)
    row.optional(core.X, "x")
    _target(row)


def _indexed(row: RowMaker) -> None:
    row.kind(core.BRANCH_INDEXED)
    row.ignore(HINTS)
    row.set(FROM_A=row.register(row.sass.operand("a", Register)))
    _target(row)


def _exit(row: RowMaker) -> None:
    row.kind(core.EXIT_LANES)
    row.optional(core.X, "x")


def _convergence(kind: int) -> Make:
    def make(row: RowMaker) -> None:
        row.kind(kind)
        row.ignore(HINTS)
        row.optional(core.X, "x")
        row.set(FORM=row.sass.operand("n", Named).number)

    return make


def _synchronize(row: RowMaker) -> None:
    row.kind(core.SYNCHRONIZE)
    whole = row.has("ALL")
    row.ignore(HINTS)
    mask = row.sass.operands.get("k", row.sass.operands.get("a"))
    row.set(FROM_B=row.words.immediate(WORD) if whole or mask is None else row.place(mask))


def _move_convergence(row: RowMaker) -> None:
    clear = row.has("CLEAR")
    row.ignore(frozenset({"32", "PQUAD"}))
    named, register = row.sass.operand("n", Named), row.sass.operands.get("d")
    if not named.name.startswith("B"):
        raise Refused(f"BMOV of {named} is not executed")
    row.set(FORM=named.number)
    if isinstance(register, Register):
        row.kind(core.CLEAR_CONVERGENCE if clear else core.READ_CONVERGENCE)
        row.result()
    else:
        row.kind(core.WRITE_CONVERGENCE)
        row.source(core.FROM_B, "b")


def _barrier(row: RowMaker) -> None:
    row.kind(core.MEET_BARRIER)
    row.ignore(HINTS)
    mode = row.one_of(("SYNC", "ARV", "RED"))
    if mode == 2:
        mode = 2 + row.one_of(("POPC", "AND", "OR"))
        row.optional(core.X, "x")
    number, count, held = row.sass.operands["k"], row.sass.operands.get("c"), 0
    if isinstance(number, Immediate):
        row.set(FORM=number.value)
    else:
        row.set(FROM_B=row.place(number))
        held |= 1
    if isinstance(count, Immediate):
        row.set(FORM_2=count.value)
    elif count is not None:
        row.set(FROM_A=row.place(count))
        held |= 2
    row.set(FORM_3=mode, FORM_4=held)


def _barrier_result(row: RowMaker) -> None:
    row.kind(core.BARRIER_RESULT)
    row.has("RESULT")
    row.outputs()
    row.result()


def _special(row: RowMaker) -> None:
    name = str(row.sass.operands["n"])
    wide = row.sass.name == "CS2R" and not row.has("32")
    row.result(wide=wide)
    if name in CLOCKS:
        row.kind(core.READ_CLOCK)
        row.set(FORM=CLOCKS[name])
    elif name in SPECIALS:
        row.kind(core.MULTIPLY_WIDE if wide else core.MOVE)
        row.never(core.X)
        row.set(**{"FROM_C" if wide else "FROM_B": SPECIAL_ROW + SPECIALS.index(name)})
    else:
        raise Refused(f"special register {name} is not executed")


def _own_address(row: RowMaker) -> None:
    row.kind(core.MULTIPLY_WIDE)
    row.never(core.X)
    target = row.sass.operands.get("t")
    at = target.address if isinstance(target, CodeAddress) else row.sass.address
    row.set(FROM_C=row.words.immediate(at), FROM_C_HIGH=row.words.immediate(at >> 32))
    row.result(wide=True)


def _shuffle(row: RowMaker) -> None:
    row.kind(core.SHUFFLE)
    for column, role in ((core.FROM_A, "a"), (core.FROM_B, "b"), (core.FROM_C, "c")):
        row.source(column, role)
    row.set(FORM=row.one_of(("IDX", "UP", "DOWN", "BFLY")))
    row.outputs()
    row.result()


def _vote(row: RowMaker) -> None:
    row.kind(core.VOTE)
    row.predicate(core.X, row.sass.operands["x"])
    row.set(FORM=row.one_of(("ALL", "ANY", "EQ")))
    row.outputs()
    row.result()


def _match(row: RowMaker) -> None:
    row.kind(core.MATCH)
    row.source(core.FROM_A, "a")
    row.ignore(frozenset({"U32"}))
    row.set(FORM=int(row.has("ALL")))
    row.has("ANY")
    row.outputs()
    row.result()


def _reduce(row: RowMaker) -> None:
    row.kind(core.REDUCE)
    row.source(core.FROM_A, "a")
    signed = row.has("S32")
    row.set(FORM=row.one_of(("AND", "OR", "XOR", "SUM", "MIN", "MAX")), FORM_2=int(signed))
    row.outputs()
    row.result()


def _to_uniform(row: RowMaker) -> None:
    row.kind(core.TO_UNIFORM)
    row.source(core.FROM_A, "a")
    row.result()


def _half_product(row: RowMaker) -> None:
    row.kind(core.H_MATRIX)
    shape = row.modifiers.pop(0)
    kind = row.one_of(("F16", "BF16", "TF32"))
    sums = row.sass.modifiers[1]
    row.ignore(frozenset({"F32", "F16"}))
    bits = 32 if kind == 2 else 16
    extent = {"1688": 8, "16816": 16, "1684": 4}[shape]
    _fragments(row)
    row.set(FORM=kind, FORM_2=int(sums == "F32"), FORM_3=kind, NUMBER=bits, SIZE=extent)


def _eight_product(row: RowMaker) -> None:
    row.kind(core.H_MATRIX)
    shape, sums, a, b = row.modifiers
    row.modifiers.clear()
    _fragments(row)
    row.set(FORM=EIGHTS[a], FORM_2=int(sums == "F32"), FORM_3=EIGHTS[b], NUMBER=8, SIZE=16 if shape == "16816" else 32)


def _fragments(row: RowMaker) -> None:
    for column, role in ((core.FROM_A, "a"), (core.FROM_B, "b"), (core.FROM_C, "c")):
        row.cells[column] = row.register(row.sass.operand(role, Register))
    row.result()
    if row.cells[core.TO] == core.NO_DESTINATION:
        row.kind(core.NO_EFFECT)


def _integer_product(row: RowMaker) -> None:
    row.kind(core.I_MATRIX)
    shape, a, b = row.modifiers[:3]
    row.modifiers = row.modifiers[3:]
    rows, extent = {"8816": (8, 16), "8832": (8, 32), "16816": (16, 16), "16832": (16, 32), "16864": (16, 64)}[shape]
    if a[1:] != b[1:]:
        raise Refused(f"{a} times {b} is not executed")
    _fragments(row)
    row.set(SIZE=extent, NUMBER=int(a[1:]), FORM=int(a[0] == "S"), FORM_3=int(b[0] == "S"), OPERATION=rows)
    row.set(FORM_4=int(row.has("SAT")))


def _double_product(row: RowMaker) -> None:
    row.kind(core.D_MATRIX)
    row.ignore(frozenset({"884", "8x8x4"}))
    _fragments(row)


def _transpose(row: RowMaker) -> None:
    row.kind(core.TRANSPOSE)
    row.ignore(frozenset({"16", "MT88"}))
    row.source(core.FROM_A, "a")
    row.result()


CONTROL_ROWS: Final[dict[str, Make]] = {
    **dict.fromkeys(("BRA", "CALL"), _branch),
    **dict.fromkeys(("RET", "BRX"), _indexed),
    "EXIT": _exit,
    "YIELD": _yield,
    "BSSY": _convergence(core.SET_CONVERGENCE),
    "BSYNC": _convergence(core.CONVERGE),
    "BREAK": _convergence(core.LEAVE_CONVERGENCE),
    "BMOV": _move_convergence,
    "WARPSYNC": _synchronize,
    "BAR": _barrier,
    "B2R": _barrier_result,
    **dict.fromkeys(("S2R", "S2UR", "CS2R"), _special),
    "LEPC": _own_address,
    "SHFL": _shuffle,
    **dict.fromkeys(("VOTE", "VOTEU"), _vote),
    "MATCH": _match,
    "REDUX": _reduce,
    "R2UR": _to_uniform,
    "HMMA": _half_product,
    "QMMA": _eight_product,
    "IMMA": _integer_product,
    "DMMA": _double_product,
    "MOVM": _transpose,
    **dict.fromkeys(
        (*("NOP", "LDGDEPBAR", "DEPBAR", "CCTL", "CCTLL", "MEMBAR", "ERRBAR", "CGAERRBAR", "NANOSLEEP"),),
        _nothing,
    ),
}
"""What makes the row of the other opcodes, by name."""
