"""Decodes loads, stores, copies and atomics of every memory, and fences.

Sources: those of ``opcodes.regular``. The field positions of LDGSTS and LDSM were found by flipping bits and
disassembling with nvdisasm 13.
"""

from gpusim.lower.sass.opcodes.irregular import Irregular, data, destination, nothing, plain, predicate
from gpusim.lower.sass.operands import PT, RZ, Constant, Memory, Predicate, Register, SassOperand
from gpusim.lower.sass.words import UnknownOpcode, Word, optional, when

SIZES = ("U8", "S8", "U16", "S16", "", "64", "128", "INVALID7")

ORDERS = {0: (), 4: ("CONSTANT",), 5: ("STRONG", "SM"), 7: ("STRONG", "GPU"), 10: ("STRONG", "SYS")}

TURING_ORDERS = {7: ("SYS",), 10: ("STRONG", "GPU")}
"""Memory orders before sm_80, where a weak access names its scope."""

EVICTIONS = ("EF", "", "EL", "LU", "EU", "NA", "INVALID6", "INVALID7")

PREFETCHES = ("", "LTC64B", "LTC128B", "LTC256B")


def _size(w: Word) -> list[str]:
    return optional(SIZES[w.bits(73, 3)])


def _lds_modifiers(w: Word) -> list[str]:
    """Return the modifiers of LDS. Before sm_80, .U says that the lanes' addresses are unrelated."""
    return [*when(w.architecture < 80 and w.flag(76), "U"), *_size(w)]


def _eviction(w: Word) -> list[str]:
    return optional(EVICTIONS[w.bits(84, 3)])


def _order(w: Word) -> list[str]:
    field = w.bits(77, 4)
    orders = ORDERS if w.architecture >= 80 else TURING_ORDERS
    if field not in orders:
        raise UnknownOpcode(f"memory order {field} is not known")
    return list(orders[field])


def _window(w: Word, low: int) -> tuple[Register | None, Register | None]:
    """Return descriptor and uniform offset of a global access. Before sm_90, the text does not show the descriptor."""
    uniform = Register(w.bits(low, 6), uniform=True)
    if not w.flag(76):
        return None, uniform
    return (uniform if w.architecture >= 90 else None), None


def _local_address(w: Word) -> Memory:
    return Memory(Register(w.bits(24, 8)), w.signed(40, 24))


def _shared_address(w: Word, uniform_at: int = 32) -> Memory:
    uniform = Register(w.bits(uniform_at, 6), uniform=True) if w.flag(91) else None
    scale = ("", ".X4", ".X8", ".X16")[w.bits(78, 2)]
    return Memory(Register(w.bits(24, 8), suffix=scale), w.signed(40, 24), uniform)


TURING_GLOBAL = frozenset({0x381, 0x386, 0x3A8})
"""LDG, STG and ATOMG of sm_75 whose address is a register pair without a uniform register."""


def _global_address(w: Word, uniform_at: int) -> Memory:
    if w.bits(0, 12) in TURING_GLOBAL:
        return Memory(Register(w.bits(24, 8)), w.signed(40, 24), wide=True, alone=True)
    descriptor, uniform = _window(w, uniform_at)
    base, half = Register(w.bits(24, 8)), not w.flag(90)
    return Memory(base, w.signed(40, 24), uniform, wide=True, half=half, descriptor=descriptor)


def _ldg(w: Word) -> dict[str, SassOperand]:
    return {
        "p": predicate(w, 81),
        "d": destination(w),
        "m": _global_address(w, 32),
        "x": Predicate(w.bits(64, 3) ^ PT, inverted=w.flag(67)),
    }


def _ldg_modifiers(w: Word) -> list[str]:
    return ["E", *_eviction(w), *optional(PREFETCHES[w.bits(68, 2)]), *_size(w), *_order(w)]


def _stg_modifiers(w: Word) -> list[str]:
    return ["E", *_eviction(w), *_size(w), *_order(w)]


def _stg(w: Word) -> dict[str, SassOperand]:
    return {"m": _global_address(w, 64), "v": data(w)}


def _ldgsts_modifiers(w: Word) -> list[str]:
    return [
        "E",
        *when(not w.flag(81), "BYPASS"),
        *_eviction(w),
        *optional(PREFETCHES[w.bits(71, 2)]),
        *_size(w),
        *when(w.flag(82), "ZFILL"),
    ]


def _ldgsts(w: Word) -> dict[str, SassOperand]:
    descriptor, uniform = _window(w, 64)
    source = Memory(Register(w.bits(24, 8)), w.signed(32, 12), uniform, wide=True, descriptor=descriptor)
    return {"s": Memory(Register(w.bits(16, 8)), w.signed(44, 20)), "m": source, "x": predicate(w, 87, 90)}


def _ldsm_modifiers(w: Word) -> list[str]:
    matrices = ("", "2", "4", "INVALID3")[w.bits(72, 2)]
    return ["16", ("M88", "MT88", "M816", "INVALID3")[w.bits(78, 2)], *optional(matrices)]


def _ldsm(w: Word) -> dict[str, SassOperand]:
    uniform = Register(w.bits(32, 6), uniform=True) if w.flag(91) else None
    return {"d": destination(w), "m": Memory(Register(w.bits(24, 8)), w.signed(40, 24), uniform)}


def _constant(w: Word) -> Constant:
    index = {0xAB9: None, 0xABB: Register(w.bits(24, 6), uniform=True)}.get(w.bits(0, 12), Register(w.bits(24, 8)))
    return Constant(w.bits(54, 5), w.bits(38, 16), index)


def _uldc(w: Word) -> dict[str, SassOperand]:
    return {"d": Register(w.bits(16, 6), uniform=True), "m": _constant(w)}


ATOMIC_OPERATIONS = ("ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR", "EXCH", *["INVALID"] * 7)

ATOMIC_TYPES = ("", "S32", "64", "F32.FTZ.RN", "F16x2.RN", "S64", "F64.RN", "INVALID7")


def _atomic(w: Word) -> list[str]:
    width = 3 if w.bits(0, 12) == 0x98E else 4
    return ["E", ATOMIC_OPERATIONS[w.bits(87, width)], *optional(ATOMIC_TYPES[w.bits(73, 3)]), *_order(w)]


def _atomic_address(w: Word) -> Memory:
    if w.bits(0, 12) in TURING_GLOBAL:
        return _global_address(w, 64)
    uniform = Register(w.bits(64, 6), uniform=True)
    if not w.flag(71):
        return Memory(Register(w.bits(24, 8)), w.signed(40, 24), uniform, wide=True)
    descriptor = uniform if w.architecture >= 90 else None
    return Memory(Register(w.bits(24, 8)), w.signed(40, 24), wide=True, descriptor=descriptor)


def _atomg(w: Word) -> dict[str, SassOperand]:
    return {"p": predicate(w, 81), "d": destination(w), "m": _atomic_address(w), "v": data(w)}


def _shared_atomic(w: Word) -> list[str]:
    return [ATOMIC_OPERATIONS[w.bits(87, 4)], *optional(ATOMIC_TYPES[w.bits(73, 3)])]


def _fence(w: Word) -> list[str]:
    return [
        ("SC", "ALL", "INVALID2", "INVALID3")[w.bits(79, 2) & 1],
        ("CTA", "SM", "GPU", "SYS", "INVALID4", "VC", "INVALID6", "INVALID7")[w.bits(76, 3)],
    ]


def _cache(w: Word) -> list[str]:
    return [("PF1", "PF2", "WB", "IV", "IVALL", "RS", "IVALLP", "INVALID7")[w.bits(87, 3)]]


PAIR, WITH_UNIFORM = 1 << 72, 1 << 91
NORMAL_EVICTION = 1 << 84
"""Idle fields: a 64-bit address; its uniform register; no eviction."""

MEMORY_OPCODES: dict[int, tuple[str, Irregular]] = {
    **dict.fromkeys(
        (0x38C, 0x98C),
        (
            "ATOMS",
            Irregular(_shared_atomic, lambda w: {"d": destination(w), "m": _shared_address(w, 64), "v": data(w)}),
        ),
    ),
    0x387: ("STL", Irregular(_size, lambda w: {"m": _local_address(w), "v": data(w)}, idle=NORMAL_EVICTION)),
    **dict.fromkeys((0x388, 0x988), ("STS", Irregular(_size, lambda w: {"m": _shared_address(w, 64), "v": data(w)}))),
    0x5AB: ("CGAERRBAR", Irregular(plain, nothing)),
    0x83B: ("LDSM", Irregular(_ldsm_modifiers, _ldsm)),
    0x980: (
        "LD",
        Irregular(
            lambda w: ["E", *_size(w), *_order(w)],
            lambda w: {"d": destination(w), "m": _global_address(w, 32)},
            idle=PAIR | WITH_UNIFORM | NORMAL_EVICTION,
        ),
    ),
    0x381: ("LDG", Irregular(_ldg_modifiers, _ldg, hidden="px", idle=PAIR)),
    0x981: ("LDG", Irregular(_ldg_modifiers, _ldg, hidden="px", idle=PAIR | WITH_UNIFORM)),
    0x983: (
        "LDL",
        Irregular(lambda w: [*_eviction(w), *_size(w)], lambda w: {"d": destination(w), "m": _local_address(w)}),
    ),
    0x984: ("LDS", Irregular(_lds_modifiers, lambda w: {"d": destination(w), "m": _shared_address(w)})),
    0x386: ("STG", Irregular(_stg_modifiers, _stg, idle=PAIR)),
    0x986: ("STG", Irregular(_stg_modifiers, _stg, idle=PAIR | WITH_UNIFORM)),
    0x98E: ("RED", Irregular(_atomic, lambda w: {"m": _atomic_address(w), "v": data(w)})),
    0x98F: ("CCTL", Irregular(_cache, nothing, idle=RZ << 24)),
    0x992: ("MEMBAR", Irregular(_fence, nothing)),
    0x3A8: ("ATOMG", Irregular(_atomic, _atomg, idle=RZ << 64 | PAIR | NORMAL_EVICTION)),
    0x9A8: ("ATOMG", Irregular(_atomic, _atomg, idle=1 << 70 | PAIR | NORMAL_EVICTION | 1 << 91)),
    0x9AB: ("ERRBAR", Irregular(plain, nothing)),
    0xAB9: ("ULDC", Irregular(_size, _uldc, uniform=True)),
    0xABB: ("ULDC", Irregular(_size, _uldc, uniform=True, idle=1 << 91)),
    0xB82: ("LDC", Irregular(_size, lambda w: {"d": destination(w), "m": _constant(w)})),
    0xFAE: ("LDGSTS", Irregular(_ldgsts_modifiers, _ldgsts, hidden="x", idle=1 << 70 | 1 << 91)),
}
"""Opcodes that access memory, and fences, by bits 0 to 11."""
