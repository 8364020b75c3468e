"""Decodes loads, stores, copies and atomics of every memory, and fences.

Sources: those of ``opcodes.regular``. The field positions of LDGSTS and LDSM were found by flipping bits and
disassembling with nvdisasm 13.
"""

from gpusim.lower.sass.opcodes.irregular import Irregular, data, destination, fixed, nothing, plain, predicate
from gpusim.lower.sass.operands import PT, Constant, Memory, Predicate, Register, SassOperand
from gpusim.lower.sass.words import FIRST_HOPPER, UnknownOpcode, Word, optional, when

SIZES = ("U8", "S8", "U16", "S16", "", "64", "128", "INVALID7")

ORDERS = {
    0: (),
    4: ("CONSTANT",),
    5: ("STRONG", "SM"),
    7: ("STRONG", "GPU"),
    8: ("MMIO", "GPU"),
    10: ("STRONG", "SYS"),
    12: ("MMIO", "SYS"),
}
SCOPES = ("CTA", "SM", "GPU", "SYS")
TURING_ORDERS = {
    4 * kind + scope: (*name, SCOPES[scope])
    for kind, name in enumerate((("CONSTANT",), (), ("STRONG",), ("MMIO",)))
    for scope in range(4)
}
"""Memory orders before sm_80, where a weak access names its scope."""

LD = 0x980
LOAD_OPCODES = (0x381, 0x981, LD)
"""Opcodes whose memory may be constant."""

EVICTIONS = ("EF", "", "EL", "LU", "EU", "NA", "INVALID6", "INVALID7")

PREFETCHES = ("", "LTC64B", "LTC128B", "LTC256B")


def _valid(name: str, what: str) -> str:
    if "INVALID" in name:
        raise UnknownOpcode(f"{what} is not known")
    return name


def _size(w: Word) -> list[str]:
    return optional(_valid(SIZES[w.bits(73, 3)], "an access of this size"))


def _lds_modifiers(w: Word) -> list[str]:
    """Return the modifiers of LDS. Before sm_80, .U says that the lanes' addresses are unrelated."""
    return [*when(w.architecture < 80 and w.flag(76), "U"), *_size(w)]


def _eviction(w: Word) -> list[str]:
    return optional(EVICTIONS[w.bits(84, 3)])


def _order(w: Word) -> list[str]:
    field = w.bits(77, 4)
    orders = ORDERS if w.architecture >= 80 else TURING_ORDERS
    if field not in orders or ("CONSTANT" in orders[field] and w.bits(0, 12) not in LOAD_OPCODES):
        raise UnknownOpcode(f"memory order {field} is not known")
    return list(orders[field])


def _window(w: Word, low: int) -> tuple[Register | None, Register | None]:
    """Return descriptor and uniform offset of a global access."""
    uniform = Register(w.bits(low, 6), uniform=True)
    if not w.flag(76):
        return None, uniform
    return (uniform if _names_descriptor(w) else None), None


def _names_descriptor(w: Word) -> bool:
    """Return whether the text names the descriptor: always on sm_90, before with a cache policy alone."""
    return w.architecture >= FIRST_HOPPER or w.flag(101)


def _local_address(w: Word) -> Memory:
    return Memory(Register(w.bits(24, 8)), w.signed(40, 24))


def _shared_address(w: Word, uniform_at: int = 32) -> Memory:
    uniform = Register(w.bits(uniform_at, 6), uniform=True) if w.flag(91) else None
    scale = ("", ".X4", ".X8", ".X16")[w.bits(78, 2)]
    return Memory(Register(w.bits(24, 8), suffix=scale), w.signed(40, 24), uniform)


def _global_address(w: Word, uniform_at: int) -> Memory:
    if not w.flag(91):
        offset = w.signed(32, 32) if w.bits(0, 12) == LD else w.signed(40, 24)
        return Memory(Register(w.bits(24, 8)), offset, wide=True, alone=True)
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
    return Constant(w.bits(54, 5), w.signed(38, 16), index)


def _uldc(w: Word) -> dict[str, SassOperand]:
    return {"d": Register(w.bits(16, 6), uniform=True), "m": _constant(w)}


ATOMIC_OPERATIONS = ("ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR", "EXCH", *["INVALID"] * 7)
ATOMIC_TYPES = ("", "S32", "64", "F32.FTZ.RN", "F16x2.RN", "S64", "F64.RN", "INVALID7")
HOPPER_TYPES = ("", "S32", "64", "S64", *["INVALID"] * 4)
"""Types of atomics, by bits 73 to 75. On sm_90 floating-point ones are opcodes of their own."""

FLOAT_ATOMIC_TYPES = (
    *("F16x2.RN", "F16x4.RN", "F16x8.RN", "BF16x2.RN", "BF16x4.RN", "BF16x8.RN", "INVALID6", "INVALID7", "INVALID8"),
    *("F32.FTZ.RN", "F32x2.FTZ.RN", "F32x4.FTZ.RN", "F32.RN", "F32x2.RN", "F32x4.RN", "F64.RN"),
)
EXCHANGES = {0: ["CAS"], 1: ["CAST"], 3: ["CAST", "SPIN"]}
"""Kinds of compare and swap, by bits 87 and 88."""

REDUCTIONS = (0x98E, 0x9A6)
"""Atomics that return nothing, whose operation has one bit less."""


def _atomic(w: Word) -> list[str]:
    types = ATOMIC_TYPES if w.architecture < FIRST_HOPPER else HOPPER_TYPES
    operation = ATOMIC_OPERATIONS[w.bits(87, 3 if w.bits(0, 12) in REDUCTIONS else 4)]
    kind = types[w.bits(73, 3)]
    return ["E", _valid(operation, "the operation of an atomic"), *optional(_valid(kind, "its type")), *_order(w)]


def _float_atomic(w: Word) -> list[str]:
    operation = ("ADD", "MIN", "MAX", "INVALID3")[w.bits(88, 2)]
    kind = FLOAT_ATOMIC_TYPES[w.bits(73, 4)]
    return ["E", _valid(operation, "the operation of an atomic"), _valid(kind, "its type"), *_order(w)]


def _exchange(w: Word, low: int) -> list[str]:
    kind = EXCHANGES.get(w.bits(low, 2))
    if kind is None:
        raise UnknownOpcode("this compare and swap is not known")
    return kind


def _compare_and_swap(w: Word) -> list[str]:
    return ["E", *_exchange(w, 87), *optional(_valid(HOPPER_TYPES[w.bits(73, 3)], "its type")), *_order(w)]


def _atomic_address(w: Word) -> Memory:
    base, offset = Register(w.bits(24, 8)), w.signed(40, 24)
    if not w.flag(91):
        w.bits(64, 8)  # RZ, or zeros if the atomic returns nothing
        return Memory(base, offset, wide=True, alone=True)
    uniform = Register(w.bits(64, 6), uniform=True)
    half = w.bits(0, 12) in REDUCTIONS and not w.flag(90)
    if w.architecture >= 80 and w.flag(71):
        descriptor = uniform if _names_descriptor(w) else None
        return Memory(base, offset, wide=True, half=half, descriptor=descriptor)
    return Memory(base, offset, uniform, wide=True, half=half)


def _returned(w: Word) -> dict[str, SassOperand]:
    """Return the predicate and the register that an atomic writes."""
    return {"p": predicate(w, 81), "d": destination(w)}


def _atomg(w: Word) -> dict[str, SassOperand]:
    return {**_returned(w), "m": _atomic_address(w), "v": data(w)}


def _reduction(w: Word) -> dict[str, SassOperand]:
    return {"m": _atomic_address(w), "v": data(w)}


def _swapped(w: Word) -> dict[str, SassOperand]:
    """Return the operands of a compare and swap: ``v`` is compared with memory, ``w`` replaces it."""
    address = Memory(Register(w.bits(24, 8)), w.signed(40, 24), wide=True, alone=True)
    return {**_returned(w), "m": address, "v": data(w), "w": Register(w.bits(64, 8))}


def _shared_atomic(w: Word) -> list[str]:
    operation, kind = ATOMIC_OPERATIONS[w.bits(87, 4)], ("", "S32", "64", "INVALID3")[w.bits(73, 2)]
    return [_valid(operation, "the operation of an atomic"), *optional(_valid(kind, "its type"))]


def _atoms(w: Word) -> dict[str, SassOperand]:
    address = _shared_address(w, 64)
    if w.architecture < 80:
        w.bits(64, 8)  # RZ
    return {"d": destination(w), "m": address, "v": data(w)}


def _shared_swap(w: Word) -> list[str]:
    kind = ("", "S32", "64", "INVALID3")[w.bits(73, 2)]
    return [*_exchange(w, 87), *optional(_valid(kind, "its type"))]


def _shared_swapped(w: Word) -> dict[str, SassOperand]:
    return {"d": destination(w), "m": _shared_address(w), "v": data(w), "w": Register(w.bits(64, 8))}


def _counted(w: Word) -> dict[str, SassOperand]:
    if w.bits(87, 4) != (11 if w.architecture >= FIRST_HOPPER else 10):
        raise UnknownOpcode("this shared atomic is not known")
    return {"d": destination(w), "m": _shared_address(w, 64)}


def _space(w: Word) -> list[str]:
    return ["E", ("G", "L", "S", "D")[w.bits(73, 2)]]


def _asked_space(w: Word) -> dict[str, SassOperand]:
    address = Memory(Register(w.bits(24, 8)), w.signed(40, 24), wide=True, alone=True)
    return {"p": predicate(w, 81), "d": destination(w), "m": address}


def _st_alone(w: Word) -> dict[str, SassOperand]:
    """Return the operands of ST without a uniform register, whose offset has 32 bits."""
    return {"m": Memory(Register(w.bits(24, 8)), w.signed(32, 32), wide=True, alone=True), "v": Register(w.bits(64, 8))}


def _stsm_modifiers(w: Word) -> list[str]:
    matrices = ("", "2", "4", "INVALID3")[w.bits(72, 2)]
    return ["16", "MT88" if w.flag(78) else "M88", *optional(_valid(matrices, "STSM of so many matrices"))]


def _fence(w: Word) -> list[str]:
    scope = ("CTA", "SM", "GPU", "SYS", "INVALID4", "VC", "INVALID6", "INVALID7")[w.bits(76, 3)]
    return [*optional(("SC", "ALL", "", "MMIO")[w.bits(79, 2)]), _valid(scope, "the scope of a fence")]


CACHE_OPERATIONS = (
    *("PF1", "PF2", "WB", "IV", "IVALL", "RS", "IVALLP", "WBALL", "WBALLP", "PML2", "DML2", "RML2"),
    *["INVALID"] * 4,
)
WHOLE_CACHE = (4, 6, 7, 8)
"""Cache operations that have no address."""


def _cache_modifiers(w: Word) -> list[str]:
    return [*when(w.flag(72), "E"), _valid(CACHE_OPERATIONS[w.bits(87, 4)], "this cache operation")]


def _cache(w: Word) -> dict[str, SassOperand]:
    base = Register(w.bits(24, 8))
    return {} if w.bits(87, 4) in WHOLE_CACHE else {"m": Memory(base, wide=True, alone=True)}


WIDE_ADDRESS = 1 << 72
NORMAL_EVICTION = 1 << 84
RETURNING = 1 << 70 | WIDE_ADDRESS | NORMAL_EVICTION
"""Idle fields: a 64-bit address; no eviction; an atomic that returns what was there."""

MEMORY_OPCODES: dict[int, tuple[str, Irregular]] = {
    **dict.fromkeys(
        (0x38C, 0x98C),
        ("ATOMS", Irregular(_shared_atomic, _atoms)),
    ),
    0x387: ("STL", Irregular(_size, lambda w: {"m": _local_address(w), "v": data(w)}, idle=NORMAL_EVICTION)),
    **dict.fromkeys((0x388, 0x988), ("STS", Irregular(_size, lambda w: {"m": _shared_address(w, 64), "v": data(w)}))),
    0x5AB: ("CGAERRBAR", Irregular(plain, nothing)),
    0x83B: ("LDSM", Irregular(_ldsm_modifiers, _ldsm)),
    LD: (
        "LD",
        Irregular(
            lambda w: ["E", *_size(w), *_order(w)],
            lambda w: {"d": destination(w), "m": _global_address(w, 32)},
            idle=WIDE_ADDRESS | NORMAL_EVICTION,
        ),
    ),
    0x381: ("LDG", Irregular(_ldg_modifiers, _ldg, hidden="px", idle=WIDE_ADDRESS)),
    0x981: ("LDG", Irregular(_ldg_modifiers, _ldg, hidden="px", idle=WIDE_ADDRESS)),
    0x983: (
        "LDL",
        Irregular(lambda w: [*_eviction(w), *_size(w)], lambda w: {"d": destination(w), "m": _local_address(w)}),
    ),
    0x984: ("LDS", Irregular(_lds_modifiers, lambda w: {"d": destination(w), "m": _shared_address(w)})),
    0x386: ("STG", Irregular(_stg_modifiers, _stg, idle=WIDE_ADDRESS)),
    0x986: ("STG", Irregular(_stg_modifiers, _stg, idle=WIDE_ADDRESS)),
    0x98F: ("CCTL", Irregular(_cache_modifiers, _cache)),
    0x992: ("MEMBAR", Irregular(_fence, nothing)),
    0x9AB: ("ERRBAR", Irregular(plain, nothing)),
    0xAB9: ("ULDC", Irregular(_size, _uldc, uniform=True)),
    0xABB: ("ULDC", Irregular(_size, _uldc, uniform=True, idle=1 << 91)),
    0xB82: ("LDC", Irregular(_size, lambda w: {"d": destination(w), "m": _constant(w)})),
    0xFAE: ("LDGSTS", Irregular(_ldgsts_modifiers, _ldgsts, hidden="x", idle=1 << 70 | 1 << 91)),
    **dict.fromkeys((0x38A, 0x98A), ("ATOM", Irregular(_atomic, _atomg, idle=RETURNING))),
    **dict.fromkeys((0x3A8, 0x9A8), ("ATOMG", Irregular(_atomic, _atomg, idle=RETURNING))),
    0x38B: ("ATOM", Irregular(_compare_and_swap, _swapped, idle=WIDE_ADDRESS | NORMAL_EVICTION)),
    0x3A9: ("ATOMG", Irregular(_compare_and_swap, _swapped, idle=WIDE_ADDRESS | NORMAL_EVICTION)),
    0x9A2: ("ATOM", Irregular(_float_atomic, _atomg, idle=RETURNING)),
    0x9A3: ("ATOMG", Irregular(_float_atomic, _atomg, idle=RETURNING)),
    0x98E: ("RED", Irregular(_atomic, _reduction, idle=WIDE_ADDRESS | NORMAL_EVICTION, hopper="REDG")),
    0x9A6: ("REDG", Irregular(_float_atomic, _reduction, idle=WIDE_ADDRESS | NORMAL_EVICTION)),
    0x38D: ("ATOMS", Irregular(_shared_swap, _shared_swapped)),
    0xF8C: ("ATOMS", Irregular(fixed("POPC", "INC", "32"), _counted)),
    0x3AA: ("QSPC", Irregular(_space, _asked_space, idle=WIDE_ADDRESS)),
    0x385: ("ST", Irregular(_stg_modifiers, _st_alone, idle=WIDE_ADDRESS)),
    0x985: ("ST", Irregular(_stg_modifiers, _stg, idle=WIDE_ADDRESS)),
    0x844: ("STSM", Irregular(_stsm_modifiers, lambda w: {"m": _local_address(w), "v": data(w)})),
}
"""Opcodes that access memory, and fences, by bits 0 to 11."""
