"""Says which forms of each opcode the emulator executes, and refuses all others by name."""

from typing import Final

from gpusim.errors import Unsupported
from gpusim.lower.sass.decode import Sass
from gpusim.lower.sass.operands import PT, RZ, Immediate, Predicate, Register

_ORDER: Final = frozenset({"STRONG", "CONSTANT", "SM", "GPU", "SYS"})
_CACHE: Final = frozenset({"E", "EF", "EL", "LU", "EU", "NA", "LTC64B", "LTC128B", "LTC256B"})
_WORDS: Final = frozenset({"64", "128"})
_NARROW: Final = frozenset({"U8", "S8", "U16", "S16"})
_GLOBAL: Final = _ORDER | _CACHE | _WORDS | _NARROW
_PRODUCT: Final = frozenset({"MOV", "IADD", "SHL", "WIDE", "HI", "U32", "X"})
_SHIFT: Final = frozenset({"L", "R", "HI", "W", "S32", "U32", "S64", "U64"})
_COMPARISON: Final = frozenset({"F", "LT", "EQ", "LE", "GT", "NE", "GE", "T", "U32", "EX", "AND", "OR", "XOR"})
_ATOMIC: Final = frozenset({"ADD", "MIN", "MAX", "AND", "OR", "XOR", "EXCH", "S32", "64"})

MODIFIERS: Final[dict[str, frozenset[str]]] = {
    **dict.fromkeys(("IADD3", "UIADD3"), frozenset({"X"})),
    **dict.fromkeys(("IMAD", "UIMAD"), _PRODUCT),
    **dict.fromkeys(("LEA", "ULEA"), frozenset({"HI", "X", "SX32"})),
    **dict.fromkeys(("LOP3", "ULOP3"), frozenset({"LUT", "PAND"})),
    **dict.fromkeys(("PLOP3", "UPLOP3"), frozenset({"LUT"})),
    **dict.fromkeys(("SHF", "USHF"), _SHIFT),
    **dict.fromkeys(("ISETP", "UISETP"), _COMPARISON),
    **dict.fromkeys(("IMNMX", "VIMNMX", "VIADDMNMX"), frozenset({"U32"})),
    **dict.fromkeys(("FLO", "UFLO"), frozenset({"U32", "SH"})),
    **dict.fromkeys(("LDG", "LD", "STG"), _GLOBAL),
    **dict.fromkeys(("ATOMG", "RED", "REDG"), _ATOMIC | _ORDER | _CACHE),
    "ATOMS": _ATOMIC,
    "LDS": _WORDS | _NARROW | {"U"},
    "STS": _WORDS | _NARROW,
    **dict.fromkeys(("LDL", "STL"), _WORDS | _NARROW | _CACHE),
    **dict.fromkeys(("LDC", "ULDC"), _WORDS | _NARROW),
    "LDGSTS": _CACHE | _WORDS | {"BYPASS", "ZFILL"},
    "LDSM": frozenset({"16", "M88", "MT88", "2", "4"}),
    "BRA": frozenset({"U", "DIV", "CONV"}),
    "CALL": frozenset({"REL", "NOINC"}),
    "RET": frozenset({"REL", "NODEC"}),
    "BAR": frozenset({"SYNC", "RED", "ARV", "POPC", "AND", "OR", "DEFER_BLOCKING"}),
    "SHFL": frozenset({"IDX", "UP", "DOWN", "BFLY"}),
    **dict.fromkeys(("VOTE", "VOTEU"), frozenset({"ALL", "ANY", "EQ"})),
    "CS2R": frozenset({"32"}),
    "F2F": frozenset({"F16", "BF16", "F32", "FTZ", "RM", "RP", "RZ"}),
    "MUFU": frozenset({"COS", "SIN", "EX2", "LG2", "RCP", "RSQ", "RCP64H", "RSQ64H", "SQRT", "TANH"}),
    "DEPBAR": frozenset({"LE"}),
    "WARPSYNC": frozenset({"ALL"}),
    **dict.fromkeys(("MOV", "UMOV", "SEL", "USEL", "VIADD", "IABS", "R2UR", "S2R", "S2UR", "EXIT"), frozenset()),
    **dict.fromkeys(("POPC", "UPOPC", "BREV", "UBREV", "BSSY", "BSYNC", "BREAK", "R2P"), frozenset()),
}
"""
The modifiers that the emulator implements, for opcodes that affect a path or an address.

Opcodes that only compute data, or check their modifiers where they are executed, are not listed.
"""

TRUE: Final = Predicate(PT)
WHOLE_MASK: Final = 0xFFFFFFFF


def require_emulated(sass: Sass) -> None:
    """
    Check that the emulator executes this form of an opcode.

    Raises:
        Unsupported: It has a modifier or an operand that would be ignored. The message names it.
    """
    meant = MODIFIERS.get(sass.name)
    for modifier in sass.modifiers:
        if modifier.startswith("INVALID") or (meant is not None and modifier not in meant):
            raise refused(sass, f"modifier {modifier} is not emulated")
    if sass.name == "ATOMS" and sass.operand("d", Register).number != RZ:
        raise refused(sass, "a shared atomic that returns what was there is not emulated")
    if sass.name == "EXIT" and sass.operands.get("x", TRUE) != TRUE:
        raise refused(sass, "a predicate of EXIT besides its guard is not emulated")
    if sass.name == "R2UR" and sass.operands.get("p", TRUE) != TRUE:
        raise refused(sass, "the predicate that R2UR writes is not emulated")
    if sass.name == "CALL" and "a" in sass.operands:
        raise refused(sass, "a call of a function in a register is not emulated")
    if sass.name == "WARPSYNC" and "ALL" not in sass.modifiers and sass.operand("k", Immediate).value != WHOLE_MASK:
        raise refused(sass, "only a WARPSYNC of all lanes is emulated")


def refused(sass: Sass, why: str) -> Unsupported:
    """Return the error about an instruction that is not emulated."""
    return Unsupported(f"text {sass}: {why}")
