"""Rows of accesses to memory: loads, stores, atomics, copies, matrices."""

from typing import Final

from gpusim.execute.core import constants as core
from gpusim.execute.rows import Make, Refused, RowMaker
from gpusim.lower.sass.opcodes.memory import ATOMIC_OPERATIONS
from gpusim.lower.sass.operands import PT, RZ, URZ, Constant, Memory, Predicate, Register
from gpusim.units import WORD_BYTES

CACHING: Final = frozenset(
    {
        *("E", "EF", "EL", "LU", "EU", "NA", "LTC64B", "LTC128B", "LTC256B", "BYPASS", "U"),
        *("STRONG", "CONSTANT", "SM", "GPU", "SYS", "CTA", "VC", "PRIVATE", "MMIO", "WEAK"),
    }
)
"""Modifiers of caches and of memory order: they change no result, since lanes and warps execute one after the other."""

ACCESS_SIZES: Final = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}
SPACE_OF_OPCODE: Final = {
    **dict.fromkeys(("LDG", "STG", "ATOMG", "RED", "REDG"), core.GLOBAL_SPACE),
    **dict.fromkeys(("LDS", "STS", "ATOMS"), core.SHARED_SPACE),
    **dict.fromkeys(("LDL", "STL"), core.LOCAL_SPACE),
    **dict.fromkeys(("LD", "ST", "ATOM"), core.GENERIC_SPACE),
}
ADDRESS_SCALES: Final = {"": 1, ".X4": 4, ".X8": 8, ".X16": 16}
ATOMIC_NUMBERS: Final = {
    "": (0, 4),
    "S32": (1, 4),
    "64": (2, 8),
    "F32": (3, 4),
    "F16x2": (4, 4),
    "S64": (5, 8),
    "F64": (6, 8),
    "BF16x2": (7, 4),
}
"""Number and bytes of each type of an atomic operation."""


def _address(row: RowMaker, role: str = "m") -> None:
    memory = row.sass.operand(role, Memory)
    row.set(
        FROM_A=row.register(memory.base),
        SCALE=ADDRESS_SCALES[memory.base.suffix],
        OFFSET=memory.offset,
        WIDE=int(memory.wide),
        SPACE=SPACE_OF_OPCODE.get(row.sass.name, core.GLOBAL_SPACE),
    )
    if memory.wide and not memory.half:
        row.set(FROM_A_HIGH=row.register(memory.base, 1))
    if memory.uniform is not None:
        row.set(FROM_B=row.register(memory.uniform))
        if memory.wide:
            row.set(FROM_B_HIGH=row.register(memory.uniform, 1))


def _size(row: RowMaker) -> None:
    for name, size in ACCESS_SIZES.items():
        if row.has(name):
            row.set(SIZE=size, FORM=int(name.startswith("S")))
            return
    row.set(SIZE=WORD_BYTES)


def _load(row: RowMaker) -> None:
    row.kind(core.LOAD)
    _address(row)
    row.set(FORM_4=int("STRONG" in row.modifiers))
    row.ignore(CACHING)
    _size(row)
    row.result()
    chosen = row.sass.operands.get("x")
    if isinstance(chosen, Predicate) and chosen.number != PT:
        raise Refused("a load whose value depends on a predicate is not executed")


def _store(row: RowMaker) -> None:
    row.kind(core.STORE_WORDS)
    _address(row)
    row.ignore(CACHING)
    _size(row)
    row.set(FROM_C=row.register(row.sass.operand("v", Register)), FORM=0)


def _atomic(row: RowMaker) -> None:
    row.kind(core.ATOMIC)
    _address(row)
    row.ignore(CACHING)
    if row.has("POPC"):
        # The lanes of one address are counted, and their number is added: one for each lane.
        row.modifiers.clear()
        row.set(OPERATION=0, NUMBER=0, SIZE=WORD_BYTES, FROM_C=row.words.immediate(1))
        row.result()
        return
    operation = 9 if row.has("CAS") else row.one_of(ATOMIC_OPERATIONS[:9])
    # The text of a float names its rounding too: F32.FTZ.RN.
    row.ignore(frozenset({"FTZ", "RN"}))
    name = next((name for name in ATOMIC_NUMBERS if name and row.has(name)), "")
    number, size = ATOMIC_NUMBERS[name]
    row.set(OPERATION=operation, NUMBER=number, SIZE=size)
    row.set(FROM_C=row.register(row.sass.operand("v", Register)))
    if operation == 9:
        new = row.sass.operands.get("w")
        if not isinstance(new, Register):
            raise Refused("CAS without its new value is not executed")
        row.set(FROM_C_HIGH=row.register(new))
    if row.sass.name not in ("RED", "REDG"):
        row.result()


def _constant(row: RowMaker) -> None:
    memory = row.sass.operand("m", Constant)
    row.kind(core.LOAD_CONSTANT)
    if memory.bank not in row.words.banks:
        raise Refused(f"constant bank {memory.bank} is not in the cubin")
    first, count = row.words.banks[memory.bank]
    index = memory.index
    indexed = index is not None and index.number != (URZ if index.uniform else RZ)
    if not indexed:
        row.words.of_bank(memory.bank, memory.offset)
    elif memory.bank and any(bank == memory.bank for bank, _ in row.words.unknown):
        raise Refused(f"an address that a loader writes to constant bank {memory.bank} is not known")
    row.set(FROM_A=row.register(index) if index is not None and indexed else RZ)
    row.set(OFFSET=memory.offset, FROM_C=~first, INTO=count)
    _size(row)
    row.result()
    row.set(WIDE=int(row.cells[core.IS_UNIFORM]))


def _copy(row: RowMaker) -> None:
    row.kind(core.COPY)
    _address(row)
    row.ignore(CACHING)
    _size(row)
    row.has("ZFILL")
    into = row.sass.operand("s", Memory)
    if into.uniform is not None:
        raise Refused("a copy to a uniform register's address is not executed")
    row.set(INTO=row.register(into.base), INTO_OFFSET=into.offset)
    row.predicate(core.X, row.sass.operands["x"])


def _matrix(row: RowMaker) -> None:
    row.kind(core.LOAD_MATRIX)
    _address(row)
    row.has("16")
    transposed = row.has("MT88")
    row.has("M88")
    row.set(SPACE=core.SHARED_SPACE, SIZE=4 if row.has("4") else 2 if row.has("2") else 1, FORM=int(transposed))
    row.result()


MEMORY_ROWS: Final[dict[str, Make]] = {
    **dict.fromkeys(("LDG", "LDS", "LDL", "LD"), _load),
    **dict.fromkeys(("STG", "STS", "STL", "ST"), _store),
    **dict.fromkeys(("ATOMG", "ATOMS", "ATOM", "RED", "REDG"), _atomic),
    **dict.fromkeys(("LDC", "ULDC"), _constant),
    "LDGSTS": _copy,
    "LDSM": _matrix,
}
"""What makes the row of an access to memory, by name."""
