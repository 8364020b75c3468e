"""Bits of words, over the lanes of a warp: LOP3, PLOP3, SHF, PRMT, SGXT, BMSK, POPC, FLO, BREV, P2R, R2P."""

from gpusim.execute.core.constants import (
    BIT_MASK,
    COUNT_BITS,
    FIND_LEADING,
    FORM,
    FORM_2,
    FORM_3,
    FORM_4,
    FROM_A,
    FROM_B,
    FROM_C,
    IS_UNIFORM,
    LOGIC,
    PACK_PREDICATES,
    PERMUTE,
    PREDICATE_LOGIC,
    REVERSE,
    SHIFT,
    SIGN_EXTEND,
    UNPACK_PREDICATES,
    A,
    B,
    C,
    D,
    P,
    X,
    Y,
    Z,
)
from gpusim.execute.core.registers import (
    WarpRegisters,
    fetch,
    set_both,
    set_predicate,
    store,
    tested,
)
from gpusim.execute.core.words import count_bits, highest_bit, low32, low64, signed32, signed64
from gpusim.units import WARP_SIZE


def table_bits(table: int, a: int, b: int, c: int) -> int:
    """Return LOP3's result: each bit is bit 4a + 2b + c of the table, for that position's bits a, b, c."""
    total = 0
    if table & 1:
        total |= ~a & ~b & ~c
    if table & 2:
        total |= ~a & ~b & c
    if table & 4:
        total |= ~a & b & ~c
    if table & 8:
        total |= ~a & b & c
    if table & 16:
        total |= a & ~b & ~c
    if table & 32:
        total |= a & ~b & c
    if table & 64:
        total |= a & b & ~c
    if table & 128:
        total |= a & b & c
    return low32(total)


def logic(r: WarpRegisters, row: int) -> None:
    """LOP3: a table (FORM) of three bits; p holds if the result is not 0, or (and: FORM_2) x."""
    fetch(r, row, FROM_A, A)
    fetch(r, row, FROM_B, B)
    fetch(r, row, FROM_C, C)
    table, both, also = r.code[row + FORM], r.code[row + FORM_2], tested(r, row, X)
    some = 0
    for lane in range(WARP_SIZE):
        word = table_bits(table, r.s[A + lane], r.s[B + lane], r.s[C + lane])
        r.s[D + lane] = word
        some |= (word != 0) << lane
    set_predicate(r, r.code[row + P], some & also if both else some | also, r.code[row + IS_UNIFORM])
    store(r, row)


def predicate_logic(r: WarpRegisters, row: int) -> None:
    """PLOP3: two tables (FORM, FORM_2) of three predicates."""
    x, y, z = tested(r, row, X), tested(r, row, Y), tested(r, row, Z)
    set_both(r, row, table_bits(r.code[row + FORM], x, y, z), table_bits(r.code[row + FORM_2], x, y, z))


def shift(r: WarpRegisters, row: int) -> None:
    """
    SHF: shift the pair (c, a) by b and keep its low or high word.

    FORM: to the right. FORM_2: the high word is kept. FORM_3: 32 or 64, which clamps the count. FORM_4: bit 0,
    the count wraps; bit 1, the sign is shifted in.
    """
    fetch(r, row, FROM_A, A)
    fetch(r, row, FROM_B, B)
    fetch(r, row, FROM_C, C)
    right, high, width = r.code[row + FORM], r.code[row + FORM_2], r.code[row + FORM_3]
    wraps, arithmetic = r.code[row + FORM_4] & 1, r.code[row + FORM_4] >> 1
    for lane in range(WARP_SIZE):
        amount = signed64(r.s[B + lane])
        amount = amount & (width - 1) if wraps else min(amount, width)
        pair = low64(r.s[C + lane]) << 32 | r.s[A + lane]
        if right and high and width == 32:
            # The low word does not reach the high one: a shift of c alone.
            word = low32(signed32(r.s[C + lane]) >> amount) if arithmetic else low32(low64(r.s[C + lane]) >> amount)
        elif not right and not high:
            word = low32(low64(r.s[A + lane]) << amount) if amount < 64 else low32(0)
        elif right:
            if arithmetic:
                moved = low64(signed64(pair) >> min(amount, 63))
            else:
                moved = low64(pair >> amount) if amount < 64 else low64(0)
            word = low32(moved >> 32) if high else low32(moved)
        else:
            moved = low64(pair << amount) if amount < 64 else low64(0)
            word = low32(moved >> 32) if high else low32(moved)
        r.s[D + lane] = word
    store(r, row)


def permute(r: WarpRegisters, row: int) -> None:
    """
    PRMT: each byte of the result is one of the eight bytes of the pair (c, a), or its replicated sign.

    FORM: 0 by the selector b; 1 to 6 the modes F4E, B4E, RC8, ECL, ECR, RC16, of which b's low bits give the byte.
    """
    fetch(r, row, FROM_A, A)
    fetch(r, row, FROM_B, B)
    fetch(r, row, FROM_C, C)
    mode = r.code[row + FORM]
    for lane in range(WARP_SIZE):
        pair = low64(r.s[C + lane]) << 32 | r.s[A + lane]
        selector = r.s[B + lane]
        word = low32(0)
        for byte in range(4):
            chosen = chosen_byte(mode, selector, byte)
            picked = low32(pair >> (chosen & 7) * 8) & 255
            if chosen & 8:
                picked = low32(255) if picked & 128 else low32(0)
            word |= picked << 8 * byte
        r.s[D + lane] = word
    store(r, row)


def chosen_byte(mode: int, selector: int, byte: int) -> int:
    """Return which byte of PRMT's pair comes to a byte of the result; bit 3 asks for its sign."""
    first = selector & 3
    if mode == 0:
        return selector >> 4 * byte & 15
    if mode == 1:
        return first + byte
    if mode == 2:
        return first - byte & 7
    if mode == 3:
        return first
    if mode == 4:
        return max(first, byte)
    if mode == 5:
        return min(first, byte)
    return (selector & 1) * 2 + (byte & 1)


def sign_extend(r: WarpRegisters, row: int) -> None:
    """SGXT: the low b bits of a, with their sign or (FORM) with zeros. FORM_2: b wraps at 32, else it is clamped."""
    fetch(r, row, FROM_A, A)
    fetch(r, row, FROM_B, B)
    unsigned, wraps = r.code[row + FORM], r.code[row + FORM_2]
    for lane in range(WARP_SIZE):
        bits = signed64(r.s[B + lane])
        bits = bits & 31 if wraps else min(bits, 32)
        word = low32(0)
        if bits:
            moved = low32(low64(r.s[A + lane]) << 32 - bits)
            word = low32(low64(moved) >> 32 - bits) if unsigned else low32(signed32(moved) >> 32 - bits)
        r.s[D + lane] = word
    store(r, row)


def bit_mask(r: WarpRegisters, row: int) -> None:
    """BMSK: b ones from bit a on; FORM: position and count wrap at 32, else they are clamped."""
    fetch(r, row, FROM_A, A)
    fetch(r, row, FROM_B, B)
    wraps = r.code[row + FORM]
    for lane in range(WARP_SIZE):
        first, bits = signed64(r.s[A + lane]), signed64(r.s[B + lane])
        first = first & 31 if wraps else min(first, 32)
        bits = bits & 31 if wraps else min(bits, 32)
        r.s[D + lane] = low32(((low64(1) << bits) - 1) << first)
    store(r, row)


def count(r: WarpRegisters, row: int) -> None:
    """POPC: the set bits of b."""
    fetch(r, row, FROM_B, B)
    for lane in range(WARP_SIZE):
        r.s[D + lane] = low32(count_bits(r.s[B + lane]))
    store(r, row)


def find_leading(r: WarpRegisters, row: int) -> None:
    """FLO: the place of b's highest bit that is not its sign (FORM: unsigned), else all ones. FORM_2: from above."""
    fetch(r, row, FROM_B, B)
    unsigned, from_above = r.code[row + FORM], r.code[row + FORM_2]
    none = 0
    for lane in range(WARP_SIZE):
        word = r.s[B + lane]
        if not unsigned and word >> 31:
            word = low32(~word)
        if word == 0:
            r.s[D + lane] = low32(r.all)
            none |= 1 << lane
        else:
            bit = highest_bit(word)
            r.s[D + lane] = low32(31 - bit if from_above else bit)
    set_predicate(r, r.code[row + P], ~none, r.code[row + IS_UNIFORM])
    store(r, row)


def reverse(r: WarpRegisters, row: int) -> None:
    """BREV: the bits of b in reverse."""
    fetch(r, row, FROM_B, B)
    for lane in range(WARP_SIZE):
        word, turned = r.s[B + lane], low32(0)
        for _ in range(32):
            turned = low32(low64(turned) << 1) | word & 1
            word = word >> 1
        r.s[D + lane] = turned
    store(r, row)


def pack_predicates(r: WarpRegisters, row: int) -> None:
    """P2R: replace bits (FORM, moved by FORM_2) of a by the predicates P0 to P6."""
    fetch(r, row, FROM_A, A)
    chosen, moved = low32(r.code[row + FORM]), r.code[row + FORM_2]
    for lane in range(WARP_SIZE):
        bits = low32(0)
        for number in range(7):
            bits |= low32(r.predicates[r.first + number] >> lane & 1) << number
        r.s[D + lane] = (r.s[A + lane] & ~(chosen << moved)) | (bits & chosen) << moved
    store(r, row)


def unpack_predicates(r: WarpRegisters, row: int) -> None:
    """R2P: write the predicates of a mask (FORM) from the bits of a, from bit FORM_2 on."""
    fetch(r, row, FROM_A, A)
    chosen, moved = r.code[row + FORM], r.code[row + FORM_2]
    for number in range(7):
        if chosen >> number & 1:
            lanes = 0
            for lane in range(WARP_SIZE):
                lanes |= signed64(r.s[A + lane] >> moved + number & 1) << lane
            set_predicate(r, number, lanes, 0)


def bit_operation(r: WarpRegisters, row: int, kind: int) -> None:
    """Execute an instruction on bits."""
    if kind == LOGIC:
        logic(r, row)
    elif kind == PREDICATE_LOGIC:
        predicate_logic(r, row)
    elif kind == SHIFT:
        shift(r, row)
    elif kind == PERMUTE:
        permute(r, row)
    elif kind == SIGN_EXTEND:
        sign_extend(r, row)
    elif kind == BIT_MASK:
        bit_mask(r, row)
    elif kind == COUNT_BITS:
        count(r, row)
    elif kind == FIND_LEADING:
        find_leading(r, row)
    elif kind == REVERSE:
        reverse(r, row)
    elif kind == PACK_PREDICATES:
        pack_predicates(r, row)
    elif kind == UNPACK_PREDICATES:
        unpack_predicates(r, row)
