"""Decodes shuffles, votes, predicate logic, special registers, and matrix opcodes that are not regular."""

from gpusim.lower.sass.opcodes.irregular import Fields, Irregular, data, destination, fixed, plain, predicate
from gpusim.lower.sass.opcodes.regular import IMMEDIATES
from gpusim.lower.sass.operands import Immediate, Named, Register, SassOperand
from gpusim.lower.sass.words import FIRST_HOPPER, UnknownOpcode, Word, optional, when

SPECIAL = {
    0x00: "SR_LANEID",
    0x02: "SR_VIRTCFG",
    0x03: "SR_VIRTID",
    0x20: "SR_TID",
    0x21: "SR_TID.X",
    0x22: "SR_TID.Y",
    0x23: "SR_TID.Z",
    0x25: "SR_CTAID.X",
    0x26: "SR_CTAID.Y",
    0x27: "SR_CTAID.Z",
    0x28: "SR_NTID",
    0x29: "SR_CirQueueIncrMinusOne",
    0x2A: "SR_NLATC",
    0x2C: "SR_SM_SPA_VERSION",
    0x2E: "SR_LWINHI",
    0x2F: "SR_SWINHI",
    0x30: "SR_SWINLO",
    0x31: "SR_SWINSZ",
    0x32: "SR_SMEMSZ",
    0x33: "SR_SMEMBANKS",
    0x34: "SR_LWINLO",
    0x35: "SR_LWINSZ",
    0x36: "SR_LMEMLOSZ",
    0x37: "SR_LMEMHIOFF",
    0x38: "SR_EQMASK",
    0x39: "SR_LTMASK",
    0x3A: "SR_LEMASK",
    0x3B: "SR_GTMASK",
    0x3C: "SR_GEMASK",
    0x3D: "SR_REGALLOC",
    0x3E: "SR_BARRIERALLOC",
    0x40: "SR_GLOBALERRORSTATUS",
    0x42: "SR_WARPERRORSTATUS",
    0x43: "SR_VIRTUALSMID",
    0x44: "SR_VIRTUALENGINEID",
    0x50: "SR_CLOCKLO",
    0x51: "SR_CLOCKHI",
    0x52: "SR_GLOBALTIMERLO",
    0x53: "SR_GLOBALTIMERHI",
    0x60: "SR_HWTASKID",
    **{0x64 + 2 * at + high: f"SR_PM{'_HI' * high}{at}" for at in range(8) for high in (0, 1)},
    0x86: "SR_WARPGROUP_INFO",
    0x87: "SR_WARPGROUPID",
    0x88: "SR_CgaCtaId",
    0x89: "SR_GpcLocalCgaId",
    0x8B: "SR_CTARegPoolSz",
    0xFF: "SRZ",
}
"""Special registers that kernels read, by number."""


def _special(w: Word) -> Named:
    number = w.bits(72, 8)
    return Named(SPECIAL.get(number, f"SR{number}"), number)


def _shuffle(w: Word) -> dict[str, SassOperand]:
    form = w.bits(0, 12)
    lane: SassOperand = Immediate(w.bits(53, 5)) if form in (0x989, 0xF89) else data(w)
    clamp: SassOperand = Immediate(w.bits(40, 13)) if form in (0x589, 0xF89) else Register(w.bits(64, 8))
    return {"p": predicate(w, 81), "d": destination(w), "a": Register(w.bits(24, 8)), "b": lane, "c": clamp}


def _plop3(*, uniform: bool) -> Fields:
    def decode(w: Word) -> dict[str, SassOperand]:
        first = (w.bits(72, 5) << 3) | w.bits(64, 3)
        return {
            "p": predicate(w, 81, uniform=uniform),
            "q": predicate(w, 84, uniform=uniform),
            "x": predicate(w, 87, 90, uniform=uniform),
            "y": predicate(w, 77, 80, uniform=uniform),
            "z": predicate(w, 68, 71, uniform=uniform or w.flag(67)),
            "k": Immediate(first),
            "l": Immediate(w.bits(16, 8)),
        }

    return decode


def _vote(*, uniform: bool) -> Fields:
    def decode(w: Word) -> dict[str, SassOperand]:
        return {
            "d": Register(w.bits(16, 6 if uniform else 8), uniform),
            "p": predicate(w, 81, uniform=uniform),
            "x": predicate(w, 87, 90),
        }

    return decode


def _to_uniform(w: Word) -> dict[str, SassOperand]:
    source = Register(w.bits(24, 8), reuse=w.flag(122))
    return {"p": predicate(w, 81), "d": Register(w.bits(16, 6), uniform=True), "a": source}


def _special_to_uniform(w: Word) -> dict[str, SassOperand]:
    return {"d": Register(w.bits(16, 6), uniform=True), "n": _special(w)}


REDUCED = ("", "OR", "XOR", "SUM", "MIN", "MAX", "INVALID6", "INVALID7")
"""Operations of REDUX by bits 78 to 80. The text leaves out AND."""


def _redux(w: Word) -> list[str]:
    return [*optional(REDUCED[w.bits(78, 3)]), *when(w.flag(73), "S32")]


def _match_modifiers(w: Word) -> list[str]:
    return ["ANY" if w.flag(79) else "ALL", *when(w.flag(73), "U64")]


def _match(w: Word) -> dict[str, SassOperand]:
    """Return the operands of MATCH. ALL writes a predicate; the field of ANY holds PT."""
    return {"p": predicate(w, 81), "d": destination(w), "a": Register(w.bits(24, 8))}


def _elect(w: Word) -> dict[str, SassOperand]:
    return {"p": predicate(w, 81), "d": Register(w.bits(16, 6), uniform=True), "x": predicate(w, 87, 90)}


def _byte(w: Word) -> list[str]:
    return optional(("", "B1", "B2", "B3")[w.bits(76, 2)])


PREDICATE_FILE = Named("PR", 0)


def _predicate_mask(w: Word) -> SassOperand:
    """Return the mask of the predicates that are moved: a number, or a register in the second form."""
    return Immediate(w.bits(32, 32)) if w.bits(9, 3) == IMMEDIATES[1] else data(w)


def _predicates_to_register(w: Word) -> dict[str, SassOperand]:
    source = Register(w.bits(24, 8), reuse=w.flag(122))
    return {"d": destination(w), "n": PREDICATE_FILE, "a": source, "b": _predicate_mask(w)}


def _register_to_predicates(w: Word) -> dict[str, SassOperand]:
    byte = ("", ".B1", ".B2", ".B3")[w.bits(76, 2)]
    return {
        "n": PREDICATE_FILE,
        "a": Register(w.bits(24, 8), reuse=w.flag(122), suffix=byte),
        "b": _predicate_mask(w),
    }


IMMA_SHAPES = {0: "8816", 2: "8832", 4: "16816", 5: "16832", 6: "16864"}
"""Shapes of IMMA as its mnemonic has them, by bits 75, 85 and 86."""


def _imma_modifiers(w: Word) -> list[str]:
    shape = w.bits(75, 1) | w.bits(85, 2) << 1
    if shape not in IMMA_SHAPES:
        raise UnknownOpcode(f"IMMA shape {shape} is not known")
    a, b = (
        ("S" if w.flag(signed) else "U") + ("4" if w.flag(narrow) else "8") for signed, narrow in ((76, 83), (78, 84))
    )
    return [IMMA_SHAPES[shape], a, b, *when(w.flag(82), "SAT")]


def _imma(w: Word) -> dict[str, SassOperand]:
    return {
        "d": destination(w),
        "a": Register(w.bits(24, 8), reuse=w.flag(122), suffix=".ROW"),
        "b": Register(w.bits(32, 8), reuse=w.flag(123), suffix=".COL"),
        "c": Register(w.bits(64, 8), reuse=w.flag(124)),
    }


def _qmma_modifiers(w: Word) -> list[str]:
    """Return shape, type of the sum and types of a and b of QMMA, the product of 8-bit floats of sm_89."""
    a, b = ("E5M2" if w.flag(bit) else "E4M3" for bit in (78, 79))
    return ["16832" if w.flag(75) else "16816", "F32" if w.flag(77) else "F16", a, b]


BMMA_SHAPES = {0: "88128", 1: "168128", 2: "168256"}
"""Shapes of BMMA as its mnemonic has them, by bits 75 and 76."""


def _bmma_modifiers(w: Word) -> list[str]:
    shape = BMMA_SHAPES.get(w.bits(75, 2))
    if shape is None or (w.architecture >= FIRST_HOPPER and not w.flag(78)):
        raise UnknownOpcode("BMMA of this shape or operation is not known")
    return [shape, "AND" if w.flag(78) else "XOR", "POPC"]


I2IP_RESULTS = {(0, 0): ("8", ""), (3, 2): ("4", ".24")}
"""Width of the integers that I2IP packs, and the suffix of source c, by bits 77-78 and 72-73."""


def _i2ip_result(w: Word) -> tuple[str, str]:
    field = w.bits(77, 2), w.bits(72, 2)
    if field not in I2IP_RESULTS:
        raise UnknownOpcode(f"I2IP result {field} is not known")
    return I2IP_RESULTS[field]


def _i2ip_modifiers(w: Word) -> list[str]:
    """Return the modifiers of I2IP: up to sm_80 always SAT, on sm_86 and sm_89 if bit 74 is clear, on sm_90 if set."""
    saturates = w.architecture < 86 or w.flag(74) == (w.architecture >= 90)
    return [("S" if w.flag(76) else "U") + _i2ip_result(w)[0], "S32", *when(saturates, "SAT")]


def _i2ip(w: Word) -> dict[str, SassOperand]:
    return {
        "d": destination(w),
        "a": Register(w.bits(24, 8), reuse=w.flag(122)),
        "b": Register(w.bits(32, 8), reuse=w.flag(123)),
        "c": Register(w.bits(64, 8), reuse=w.flag(124), suffix=_i2ip_result(w)[1]),
    }


WARP_OPCODES: dict[int, tuple[str, Irregular]] = {
    0x237: ("IMMA", Irregular(_imma_modifiers, _imma, idle=1 << 74)),
    0x23D: ("BMMA", Irregular(_bmma_modifiers, _imma, idle=1 << 74 | 1 << 80)),
    0x27A: ("QMMA", Irregular(_qmma_modifiers, _imma, idle=1 << 74)),
    0x239: ("I2IP", Irregular(_i2ip_modifiers, _i2ip)),
    0x23B: ("MOVM", Irregular(fixed("16", "MT88"), lambda w: {"d": destination(w), "a": Register(w.bits(24, 8))})),
    **dict.fromkeys((0x2CA, 0x3C2), ("R2UR", Irregular(plain, _to_uniform, hidden="p"))),
    **dict.fromkeys((0x203, 0x803), ("P2R", Irregular(_byte, _predicates_to_register))),
    **dict.fromkeys((0x204, 0x804), ("R2P", Irregular(plain, _register_to_predicates))),
    0x805: ("CS2R", Irregular(lambda w: when(not w.flag(80), "32"), lambda w: {"d": destination(w), "n": _special(w)})),
    0x806: (
        "VOTE",
        Irregular(lambda w: [("ALL", "ANY", "EQ", "INVALID3")[w.bits(72, 2)]], _vote(uniform=False)),
    ),
    0x81C: ("PLOP3", Irregular(fixed("LUT"), _plop3(uniform=False))),
    0x886: (
        "VOTEU",
        Irregular(lambda w: [("ALL", "ANY", "EQ", "INVALID3")[w.bits(72, 2)]], _vote(uniform=True)),
    ),
    0x89C: ("UPLOP3", Irregular(fixed("LUT"), _plop3(uniform=True), uniform=True)),
    0x919: ("S2R", Irregular(plain, lambda w: {"d": destination(w), "n": _special(w)})),
    0x9C3: ("S2UR", Irregular(plain, _special_to_uniform, uniform=True)),
    **dict.fromkeys(
        (0x389, 0x589, 0x989, 0xF89),
        ("SHFL", Irregular(lambda w: [("IDX", "UP", "DOWN", "BFLY")[w.bits(58, 2)]], _shuffle)),
    ),
    0x3A1: ("MATCH", Irregular(_match_modifiers, _match)),
    0x3C4: (
        "REDUX",
        Irregular(_redux, lambda w: {"d": Register(w.bits(16, 6), uniform=True), "a": Register(w.bits(24, 8))}),
    ),
    0x82F: ("ELECT", Irregular(plain, _elect)),
}
"""Opcodes across lanes and of predicates and special registers, and irregular matrix opcodes, by bits 0 to 11."""
