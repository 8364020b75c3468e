"""What the lanes of a warp tell each other: SHFL, VOTE, MATCH, REDUX, R2UR. Source: PTX ISA 9.0."""

from gpusim.execute.core.constants import (
    FORM,
    FORM_2,
    FROM_A,
    FROM_B,
    FROM_C,
    IS_UNIFORM,
    MATCH,
    REDUCE,
    SHUFFLE,
    TO_UNIFORM,
    VOTE,
    A,
    B,
    C,
    D,
    P,
    X,
)
from gpusim.execute.core.registers import WarpRegisters, fetch, set_predicate, store, tested
from gpusim.execute.core.words import low32, low64, signed32, signed64
from gpusim.units import WARP_SIZE


def shuffle(r: WarpRegisters, row: int) -> None:
    """SHFL: a of another lane, by b and the limits c; p: that lane is inside. FORM: IDX, UP, DOWN, BFLY are 0 to 3."""
    fetch(r, row, FROM_A, A)
    fetch(r, row, FROM_B, B)
    fetch(r, row, FROM_C, C)
    kind, found = r.code[row + FORM], 0
    for lane in range(WARP_SIZE):
        amount, limits = signed64(r.s[B + lane] & 31), signed64(r.s[C + lane])
        segment, clamp = limits >> 8 & 31, limits & 31
        least = lane & segment
        most = least | (clamp & ~segment)
        source = lane ^ amount
        if kind == 0:
            source = least | (amount & ~segment)
        elif kind == 1:
            source = lane - amount
        elif kind == 2:
            source = lane + amount
        inside = source >= most if kind == 1 else source <= most
        r.s[D + lane] = r.s[A + (source & 31)] if inside else r.s[A + lane]
        found |= inside << lane
    set_predicate(r, r.code[row + P], found, 0)
    store(r, row)


def vote(r: WarpRegisters, row: int) -> None:
    """VOTE: the executing lanes in which x holds; p tells whether all (FORM 0), any (1), or all or none (2) do."""
    said = tested(r, row, X) & r.mask
    every, none = said == r.mask, said == 0
    outcome = every if r.code[row + FORM] == 0 else (not none if r.code[row + FORM] == 1 else every or none)
    for lane in range(WARP_SIZE):
        r.s[D + lane] = low32(said)
    set_predicate(r, r.code[row + P], -1 if outcome else 0, r.code[row + IS_UNIFORM])
    store(r, row)


def match(r: WarpRegisters, row: int) -> None:
    """MATCH: the executing lanes whose a is the same; ALL (FORM): of all lanes, else none, and p tells which."""
    fetch(r, row, FROM_A, A)
    same = 1
    for lane in range(WARP_SIZE):
        lanes = 0
        for other in range(WARP_SIZE):
            if r.mask >> other & 1 and r.s[A + other] == r.s[A + lane]:
                lanes |= signed64(low64(1) << other)
        r.s[D + lane] = low32(lanes)
        if r.mask >> lane & 1 and lanes != r.mask:
            same = 0
    if r.code[row + FORM]:
        for lane in range(WARP_SIZE):
            r.s[D + lane] = low32(r.mask) if same else low32(0)
        set_predicate(r, r.code[row + P], -1 if same else 0, 0)
    store(r, row)


def reduce(r: WarpRegisters, row: int) -> None:
    """REDUX: the AND, OR, XOR, SUM, MIN, MAX (FORM 0 to 5; FORM_2: signed) of a over the executing lanes."""
    fetch(r, row, FROM_A, A)
    how, is_signed, some = r.code[row + FORM], r.code[row + FORM_2], 0
    total = signed64(0)
    for lane in range(WARP_SIZE):
        if r.mask >> lane & 1:
            value = signed32(r.s[A + lane]) if is_signed else signed64(r.s[A + lane])
            if not some:
                total, some = value, 1
            elif how == 0:
                total = total & value
            elif how == 1:
                total = total | value
            elif how == 2:
                total = total ^ value
            elif how == 3:
                total = total + value
            else:
                total = min(total, value) if how == 4 else max(total, value)
    for lane in range(WARP_SIZE):
        r.s[D + lane] = low32(total)
    store(r, row)


def to_uniform(r: WarpRegisters, row: int) -> None:
    """R2UR: a of the first executing lane."""
    fetch(r, row, FROM_A, A)
    first = 0
    while not r.mask >> first & 1:
        first += 1
    for lane in range(WARP_SIZE):
        r.s[D + lane] = r.s[A + first]
    store(r, row)


def lane_operation(r: WarpRegisters, row: int, kind: int) -> None:
    """Execute an instruction that reads other lanes."""
    if kind == SHUFFLE:
        shuffle(r, row)
    elif kind == VOTE:
        vote(r, row)
    elif kind == MATCH:
        match(r, row)
    elif kind == REDUCE:
        reduce(r, row)
    elif kind == TO_UNIFORM:
        to_uniform(r, row)
