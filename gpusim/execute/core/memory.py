"""
The memories that a CTA reaches: global, shared and local, and the accesses of one instruction to them.

State: the bytes of each memory; the allocations of global memory, by address; where an access went wrong. An access out
of every allocation, or one whose address is no multiple of its size, is a fault, and writes nothing.
"""

from typing import TYPE_CHECKING

from gpusim.execute.core.constants import (
    FORM,
    FROM_A,
    FROM_A_HIGH,
    FROM_B,
    FROM_B_HIGH,
    FROM_C,
    GENERIC_SPACE,
    GLOBAL_SPACE,
    INTO,
    INTO_OFFSET,
    LOCAL_SPACE,
    LOCAL_WINDOW,
    MISALIGNED,
    NO_FAULT,
    OFFSET,
    OUT_OF_BOUNDS,
    RZ_ROW,
    SCALE,
    SHARED_SPACE,
    SHARED_WINDOW,
    SIZE,
    SPACE,
    TO,
    WIDE,
    D,
    X,
)
from gpusim.execute.core.registers import WarpRegisters, keep_row, place_of, tested
from gpusim.execute.core.words import bytes_of, integers_of, low32, low64, put_word, signed64, word_at
from gpusim.units import WARP_SIZE

if TYPE_CHECKING:
    from gpusim.arrays import ByteArray, IntArray


class CtaMemory:
    """
    The memories of one CTA.

    Attributes:
        global_bytes: Contents of all allocations.
        allocations: For each, its address, its end, and where its contents begin.
        shared, local: Bytes of shared memory, and of the stacks of all threads one after the other.
        stack: Bytes of a thread's stack.
        fault, fault_lane, fault_address, fault_space: What went wrong, and where.
        addresses: Byte address of each lane in the instruction at hand, and behind these, those that a copy writes.
    """

    def __init__(
        self, contents: "ByteArray", allocations: "IntArray", shared: "ByteArray", local: "ByteArray", stack: int
    ) -> None:
        """Take the arrays, none of which may be empty."""
        self.held = (contents, allocations, shared, local)
        self.global_bytes, self.allocations = bytes_of(contents), integers_of(allocations)
        self.count = len(allocations) // 3
        self.shared, self.shared_size = bytes_of(shared), len(shared)
        self.local, self.stack = bytes_of(local), stack
        self.fault, self.fault_lane, self.fault_address, self.fault_space = NO_FAULT, 0, 0, 0
        self.last, self.warp, self.space = 0, 0, 0
        self.size = 0

    def take(self, addresses: "IntArray") -> None:
        """Put the lanes' addresses into an array of twice ``WARP_SIZE`` integers."""
        self.held_addresses = addresses
        self.addresses = integers_of(addresses)


def clear_shared(m: CtaMemory) -> None:
    """Put zeros into shared memory."""
    for byte in range(m.shared_size):
        m.shared[byte] = 0


def wrong(m: CtaMemory, fault: int, lane: int, address: int, space: int) -> int:
    """Note the first fault of an instruction; return no place."""
    if m.fault == NO_FAULT:
        m.fault, m.fault_lane, m.fault_address, m.fault_space = fault, lane, address, space
    return -1


def global_place(m: CtaMemory, lane: int, address: int, size: int) -> int:
    """Return where the bytes at a global address lie; -1, and a fault, outside of every allocation."""
    at = 3 * m.last
    if address >= m.allocations[at] and address <= m.allocations[at + 1] - size:
        return address - m.allocations[at] + m.allocations[at + 2]
    for number in range(m.count):
        at = 3 * number
        if address >= m.allocations[at] and address <= m.allocations[at + 1] - size:
            m.last = number
            return address - m.allocations[at] + m.allocations[at + 2]
    return wrong(m, OUT_OF_BOUNDS, lane, address, GLOBAL_SPACE)


def place_in(m: CtaMemory, lane: int, address: int, size: int, space: int) -> int:
    """Return where an access's bytes lie in the memory of its space (then ``Memory.space``); -1 for a fault."""
    if space == GENERIC_SPACE:
        window = address >> 32
        space = SHARED_SPACE if window == SHARED_WINDOW else LOCAL_SPACE if window == LOCAL_WINDOW else GLOBAL_SPACE
        if space != GLOBAL_SPACE:
            address = signed64(low32(address))
    m.space = space
    if address & size - 1:
        return wrong(m, MISALIGNED, lane, address, space)
    if space == GLOBAL_SPACE:
        return global_place(m, lane, address, size)
    if space == SHARED_SPACE:
        if address < 0 or address > m.shared_size - size:
            return wrong(m, OUT_OF_BOUNDS, lane, address, space)
        return address
    if address < 0 or address > m.stack - size:
        return wrong(m, OUT_OF_BOUNDS, lane, address, space)
    return (m.warp * WARP_SIZE + lane) * m.stack + address


def read_word(m: CtaMemory, place: int, size: int) -> int:
    """Return up to four bytes of the space of the last place."""
    if m.space == GLOBAL_SPACE:
        return word_at(m.global_bytes, place, size)
    if m.space == SHARED_SPACE:
        return word_at(m.shared, place, size)
    return word_at(m.local, place, size)


def write_word(m: CtaMemory, place: int, size: int, word: int) -> None:
    """Write up to four bytes to the space of the last place."""
    if m.space == GLOBAL_SPACE:
        put_word(m.global_bytes, place, size, word)
    elif m.space == SHARED_SPACE:
        put_word(m.shared, place, size, word)
    else:
        put_word(m.local, place, size, word)


def find_addresses(m: CtaMemory, r: WarpRegisters, row: int) -> None:
    """Compute each lane's address: the scaled base, a uniform register and an offset; 64 bits where WIDE says so."""
    low, high = place_of(r, r.code[row + FROM_A]), place_of(r, r.code[row + FROM_A_HIGH])
    uniform, uniform_high = place_of(r, r.code[row + FROM_B]), place_of(r, r.code[row + FROM_B_HIGH])
    offset, scale = r.code[row + OFFSET], r.code[row + SCALE]
    wide = r.code[row + WIDE]
    for lane in range(WARP_SIZE):
        address = signed64(r.file[low + lane]) * scale + signed64(r.file[uniform + lane]) + offset
        if wide:
            address = signed64(
                low64(address) + (low64(r.file[high + lane]) << 32) + (low64(r.file[uniform_high + lane]) << 32)
            )
        else:
            address = signed64(low32(address))
        m.addresses[lane] = address


def load(m: CtaMemory, r: WarpRegisters, row: int) -> None:
    """LDG, LDS, LDL, LD. FORM: 1 for a signed value below a word, 2 for two halves of one."""
    find_addresses(m, r, row)
    size, space, to = r.code[row + SIZE], r.code[row + SPACE], r.code[row + TO]
    words = max(1, size // 4) if to >= 0 else 1  # without a destination the access is checked alone
    narrow = min(size, 4)
    for word in range(words):
        for lane in range(WARP_SIZE):
            if r.mask >> lane & 1:
                place = place_in(m, lane, m.addresses[lane], size, space)
                if place < 0:
                    return
                value = read_word(m, place + 4 * word, narrow)
                if r.code[row + FORM] and value >> 8 * narrow - 1:
                    value = low32(low64(value) | low64(-1) << 8 * narrow)
                r.s[D + lane] = value
        if to >= 0:
            keep_row(r, to + word, D, 0)


def store_lanes(m: CtaMemory, r: WarpRegisters, row: int) -> None:
    """STG, STS, STL, ST."""
    find_addresses(m, r, row)
    size, space = r.code[row + SIZE], r.code[row + SPACE]
    first, step = place_of(r, r.code[row + FROM_C]), 0 if r.code[row + FROM_C] == RZ_ROW else WARP_SIZE
    words = max(1, size // 4)
    for lane in range(WARP_SIZE):
        if r.mask >> lane & 1:
            place = place_in(m, lane, m.addresses[lane], size, space)
            if place < 0:
                return
            for word in range(words):
                write_word(m, place + 4 * word, min(size, 4), r.file[first + word * step + lane])


def load_constant(m: CtaMemory, r: WarpRegisters, row: int) -> None:
    """LDC with an index: words of the constants, whose rows follow one another from FROM_C on, INTO words of them."""
    size, to = r.code[row + SIZE], r.code[row + TO]
    base, narrow = place_of(r, r.code[row + FROM_A]), min(size, 4)
    # All bytes are known before the first word is written, because the index may lie in the register that is loaded.
    for lane in range(WARP_SIZE):
        m.addresses[lane] = signed64(low32(low64(r.file[base + lane]) + low64(r.code[row + OFFSET])))
    for word in range(max(1, size // 4)):
        for lane in range(WARP_SIZE):
            byte, value = m.addresses[lane] + 4 * word, low32(0)
            if r.mask >> lane & 1:
                if byte + narrow > 4 * r.code[row + INTO] or byte & narrow - 1:
                    wrong(m, OUT_OF_BOUNDS, lane, byte, 4)
                    return
                value = r.file[place_of(r, r.code[row + FROM_C] - byte // 4) + lane] >> 8 * (byte & 3)
                if size < 4:
                    value = value & low32((1 << 8 * size) - 1)
                    if r.code[row + FORM] and value >> 8 * size - 1:
                        value = low32(low64(value) | low64(-1) << 8 * size)
            r.s[D + lane] = value
        if to >= 0:
            keep_row(r, to + word, D, r.code[row + WIDE])


def copy(m: CtaMemory, r: WarpRegisters, row: int) -> None:
    """
    LDGSTS: copy from global to shared memory; where x does not hold, write zeros.

    INTO: register of the target. FORM: 1 to check the access alone.
    """
    find_addresses(m, r, row)
    size, into, valid = r.code[row + SIZE], place_of(r, r.code[row + INTO]), tested(r, row, X)
    for lane in range(WARP_SIZE):
        target = signed64(low32(low64(r.file[into + lane]) + low64(r.code[row + INTO_OFFSET])))
        m.addresses[WARP_SIZE + lane] = target
        if r.mask >> lane & 1:
            for word in range(1 if r.code[row + FORM] else size // 4):
                value = low32(0)
                if valid >> lane & 1:
                    place = place_in(m, lane, m.addresses[lane], size, GLOBAL_SPACE)
                    if place < 0:
                        return
                    value = read_word(m, place + 4 * word, 4)
                place = place_in(m, lane, target, size, SHARED_SPACE)
                if place < 0:
                    return
                if not r.code[row + FORM]:
                    write_word(m, place + 4 * word, 4, value)


def load_matrix(m: CtaMemory, r: WarpRegisters, row: int) -> None:
    """LDSM: rows of 16 bytes of one, two or four 8 x 8 matrices (SIZE), transposed where FORM says so."""
    find_addresses(m, r, row)
    if r.code[row + TO] < 0:
        for line in range(8 * r.code[row + SIZE]):
            if place_in(m, line, m.addresses[line], 16, SHARED_SPACE) < 0:
                return
        return
    for matrix in range(r.code[row + SIZE]):
        for lane in range(WARP_SIZE):
            word = low32(0)
            for half in range(2):
                line, column = lane // 4, lane % 4 * 2 + half
                if r.code[row + FORM]:
                    line, column = column, line
                place = place_in(m, 8 * matrix + line, m.addresses[8 * matrix + line], 16, SHARED_SPACE)
                if place < 0:
                    return
                word |= read_word(m, place + 2 * column, 2) << 16 * half
            r.s[D + lane] = word
        keep_row(r, r.code[row + TO] + matrix, D, 0)
