"""
Finds what reaches an address, a predicate or a branch: the slice of a kernel that decides its path and its accesses.

Liveness is computed backwards along the control flow, as a compiler does. Control flow, barriers and the addresses of
accesses are always needed; a load is needed if its value is, and then so are the values that are stored to its space.

A guarded instruction needs its sources only where its guard holds, and writes only there. So a place may be live under
a condition: while a predicate has a value. Without conditions, a register that guarded instructions write and read in a
loop would be live around the loop, and its data would seem to reach whatever else the register is used for.
"""

from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from gpusim.arrays import IntArray
from gpusim.execute.core import constants as core
from gpusim.lower.sass.operands import PT, RZ, URZ
from gpusim.units import WORD_BYTES

Places: TypeAlias = int
"""A set of registers and predicates, as a mask of bits: a register's row, and ``_PREDICATES`` more for a predicate."""

Live: TypeAlias = int
"""
Places that are live: those without a condition, then those under each condition, in blocks of ``_BLOCK`` bits.

Condition 2 p + f is that predicate p is true (f is 0) or false (f is 1). Its block is behind that of no condition.
"""

_PREDICATES: Final = core.REGISTERS + core.UNIFORM_REGISTERS
_ALL_PREDICATES: Final = ((1 << core.PREDICATE_ROWS) - 1) << _PREDICATES
_BLOCK: Final = _PREDICATES + core.PREDICATE_ROWS
_PLACES: Final = (1 << _BLOCK) - 1
_CONDITIONS: Final = 2 * core.PREDICATE_ROWS
_EVERYWHERE: Final = sum(1 << block * _BLOCK for block in range(1 + _CONDITIONS))
"""The place 0 in every block: times some places, these places under every condition."""

_CONSTANTLY_ZERO: Final = 1 << RZ | 1 << core.REGISTERS + URZ
_ALWAYS: Final = (PT, PT + core.PREDICATE_ROWS // 2)

_SOURCES: Final = (
    *(core.FROM_A, core.FROM_B, core.FROM_C),
    *(core.FROM_A_HIGH, core.FROM_B_HIGH, core.FROM_C_HIGH),
)
_ADDRESS: Final = (core.FROM_A, core.FROM_A_HIGH, core.FROM_B, core.FROM_B_HIGH)
_TESTED: Final = (core.X, core.Y, core.Z)
_FRAGMENT: Final = 4
"""Most registers of a fragment of an mma.sync."""

_LOADING: Final = (core.LOAD, core.LOAD_MATRIX, core.ATOMIC)
_OWN_LANE: Final = frozenset(range(core.ADD3, core.D_COMPARE + 1)) | {
    core.LOAD,
    core.STORE_WORDS,
    core.ATOMIC,
    core.COPY,
}
"""Kinds of which a lane reads no other lane's registers."""

_MATRIX_PRODUCTS: Final = (core.H_MATRIX, core.I_MATRIX, core.D_MATRIX)

_SPACES_OF_GENERIC: Final = frozenset({core.GLOBAL_SPACE, core.SHARED_SPACE, core.LOCAL_SPACE})


@dataclass(frozen=True, slots=True)
class SlicedRows:
    """
    The rows of a kernel's slice.

    Attributes:
        rows: Rows for the executor: an instruction outside of the slice has no effect, a load whose value is not
            needed only makes its access.
        left_out: Instructions of the text that are not executed.
        reads: Spaces of memory whose contents reach an address, a predicate or a branch.
        order_steers: Whether the old value that an atomic on global memory returns does. It depends on which CTA was
            first, and gpusim executes CTAs one after the other.
    """

    rows: IntArray
    left_out: int
    reads: frozenset[int]
    order_steers: bool

    @property
    def data_steers(self) -> bool:
        """Whether the contents of global memory reach an address, a predicate or a branch."""
        return core.GLOBAL_SPACE in self.reads


@dataclass(frozen=True, slots=True)
class _Row:
    """
    What one instruction does with places.

    Attributes:
        always, value: What it needs always, and for its value.
        guard: Number of the condition under which it is executed; -1 if it always is.
        conditional: Whether it needs places under this condition only.
        writes, kills: What it may write, and what it surely writes where its guard holds.
        kind, space: Columns of the row.
    """

    always: Places
    value: Places
    guard: int
    conditional: bool
    writes: Places
    kills: Places
    kind: int
    space: int


def slice_of(rows: IntArray) -> SlicedRows:
    """
    Return the slice of a kernel.

    Args:
        rows: The executor's rows, one behind the other (``rows_of``).
    """
    table = rows.reshape(-1, core.ROW)
    read = [_row(cells) for cells in table]
    following = [_successors(cells, at, len(table)) for at, cells in enumerate(table)]
    spaces: frozenset[int] = frozenset()
    while True:
        needed = _needed(read, following, spaces)
        found = frozenset(space for one, own in zip(read, needed, strict=True) if own for space in _read_by(one))
        if found <= spaces:
            break
        spaces |= found
    sliced = table.copy()
    left_out = 0
    for at, (one, own) in enumerate(zip(read, needed, strict=True)):
        if own:
            continue
        if one.kind in (*_LOADING, core.LOAD_CONSTANT):
            sliced[at, [core.TO, core.TO_HIGH]] = core.NO_DESTINATION
        elif one.kind == core.COPY:
            sliced[at, core.FORM] = 1
        elif one.kind >> core.GROUP and one.kind not in (core.STORE_WORDS, core.COPY):
            sliced[at, core.KIND] = core.NO_EFFECT
            sliced[at, [core.GUARD, core.GUARD_FLIP]] = PT, 0
            left_out += 1
    returned = table[needed][:, [core.KIND, core.SPACE, core.TO]]
    in_global = np.isin(returned[:, 1], (core.GLOBAL_SPACE, core.GENERIC_SPACE))
    order = bool(((returned[:, 0] == core.ATOMIC) & in_global & (returned[:, 2] >= 0)).any())
    return SlicedRows(sliced.reshape(-1), left_out, spaces, order)


def _needed(read: list[_Row], following: list[list[int] | None], spaces: frozenset[int]) -> list[bool]:
    """Return for each instruction whether its value is needed, if values in some spaces of memory are."""
    entering: list[Live] = [0] * len(read)
    anywhere, changed = 0, True
    while changed:
        changed = False
        for at in range(len(read) - 1, -1, -1):
            found = _entering(read[at], _leaving(following[at], entering, anywhere), spaces)
            if found != entering[at]:
                entering[at], changed = found, True
        wider = 0
        for live in entering:
            wider |= live
        changed |= wider != anywhere
        anywhere = wider
    leaving = [_leaving(after, entering, anywhere) for after in following]
    return [_is_needed(one, live, spaces) for one, live in zip(read, leaving, strict=True)]


def _leaving(after: list[int] | None, entering: list[Live], anywhere: Live) -> Live:
    """Return what is live behind an instruction, from what is live at those that may follow."""
    live = anywhere if after is None else 0
    for target in after or ():
        live |= entering[target]
    return live


def _entering(one: _Row, live: Live, spaces: frozenset[int]) -> Live:
    """Return what is live before an instruction, from what is live behind it."""
    needs = one.always | (one.value if _is_needed(one, live, spaces) else 0)
    written = one.writes >> _PREDICATES
    while written:
        predicate = (written & -written).bit_length() - 1
        written &= written - 1
        for condition in (2 * predicate, 2 * predicate + 1):  # what the predicate was before is not known
            block = _under(live, condition)
            live = (live & ~(_PLACES << _at(condition))) | block
    if one.guard < 0:
        live &= ~(one.kills * _EVERYWHERE)
    elif one.kills:
        freed = live & one.kills
        live &= ~(one.kills | one.kills << _at(one.guard))
        live |= freed << _at(one.guard ^ 1)
    if needs and one.guard >= 0 and one.conditional:
        return live | needs << _at(one.guard) | 1 << _PREDICATES + one.guard // 2
    return live | needs


def _at(condition: int) -> int:
    """Return the first bit of a condition's block."""
    return (condition + 1) * _BLOCK


def _under(live: Live, condition: int) -> Places:
    return live >> _at(condition) & _PLACES


def _reached(one: _Row, live: Live) -> Places:
    """Return what is live where an instruction writes: without a condition, or not under the opposite of its guard."""
    if one.guard >= 0:
        live &= ~(_PLACES << _at(one.guard ^ 1))
    found = 0
    while live:
        found |= live & _PLACES
        live >>= _BLOCK
    return found


def _is_needed(one: _Row, live: Live, spaces: frozenset[int]) -> bool:
    if one.writes and one.writes & _reached(one, live):
        return True
    if one.kind in (core.STORE_WORDS, core.ATOMIC):
        return bool(spaces & (_SPACES_OF_GENERIC if one.space == core.GENERIC_SPACE else {one.space}))
    return one.kind == core.COPY and core.SHARED_SPACE in spaces


def _read_by(one: _Row) -> frozenset[int]:
    """Return the spaces whose contents an instruction's value comes from."""
    if one.kind == core.COPY:
        return frozenset({core.GLOBAL_SPACE})
    if one.kind not in _LOADING:
        return frozenset()
    return _SPACES_OF_GENERIC if one.space == core.GENERIC_SPACE else frozenset({one.space})


def _row(cells: IntArray) -> _Row:
    kind, size = int(cells[core.KIND]), int(cells[core.SIZE])
    guard = _predicate(cells, core.GUARD)
    tested = guard
    for column in _TESTED:
        tested |= _predicate(cells, column)
    sources, writes = _registers(cells, _SOURCES), _written(cells)
    always: Places = 0
    if kind >> core.GROUP == 0:
        # Control flow; only the words of convergence and of barriers are written.
        always, sources = tested | sources, 0
    elif kind in (core.LOAD, core.STORE_WORDS, core.ATOMIC, core.LOAD_MATRIX, core.COPY):
        always = tested | _registers(cells, _ADDRESS) | _registers(cells, (core.INTO,))
        words = max(1, size // WORD_BYTES) if kind != core.LOAD_MATRIX else size
        sources = 0
        if kind in (core.STORE_WORDS, core.ATOMIC):
            sources = _span(int(cells[core.FROM_C]), words) | _span(int(cells[core.FROM_C_HIGH]), words)
        writes |= _span(int(cells[core.TO]), words)
    elif kind in _MATRIX_PRODUCTS:
        for column in (core.FROM_A, core.FROM_B, core.FROM_C):
            sources |= _span(int(cells[column]), _FRAGMENT)
        writes |= _span(int(cells[core.TO]), _FRAGMENT)
    elif kind == core.LOAD_CONSTANT:
        always, sources = tested | sources, 0
        writes |= _span(int(cells[core.TO]), max(1, size // WORD_BYTES))
    elif kind == core.PACK_PREDICATES:
        sources |= _ALL_PREDICATES
    elif kind == core.UNPACK_PREDICATES:
        writes |= _ALL_PREDICATES
    return _Row(
        always=always,
        value=sources | tested,
        guard=2 * int(cells[core.GUARD]) + bool(cells[core.GUARD_FLIP]) if guard else -1,
        conditional=kind in _OWN_LANE and kind not in (core.PACK_PREDICATES, core.UNPACK_PREDICATES),
        writes=writes,
        kills=_kills(cells, writes),
        kind=kind,
        space=int(cells[core.SPACE]),
    )


def _kills(cells: IntArray, writes: Places) -> Places:
    """Return what an instruction surely writes where its guard holds."""
    guard = _predicate(cells, core.GUARD)
    never = not guard and cells[core.GUARD_FLIP]
    if never or int(cells[core.KIND]) in (*_MATRIX_PRODUCTS, core.UNPACK_PREDICATES):
        return 0
    if guard and not cells[core.IS_UNIFORM]:
        return writes & ((1 << core.REGISTERS) - 1 | _ALL_PREDICATES)  # a lane's guard says nothing about the warp's
    return writes


def _successors(cells: IntArray, at: int, count: int) -> list[int] | None:
    """Return the instructions that may follow one; None if a register decides."""
    kind = int(cells[core.KIND])
    if kind == core.BRANCH_INDEXED:
        return None
    if kind == core.REFUSED:
        return []
    always = all(int(cells[column]) in _ALWAYS and cells[column + 1] == 0 for column in (core.GUARD, core.X))
    if kind == core.EXIT_LANES and always:
        return []
    found = [at + 1] if at + 1 < count and not (kind == core.BRANCH and always and not cells[core.FORM]) else []
    target = int(cells[core.TARGET])
    return [*found, target] if kind == core.BRANCH and 0 <= target < count else found


def _predicate(cells: IntArray, column: int) -> Places:
    number = int(cells[column])
    return 0 if number in _ALWAYS else 1 << _PREDICATES + number


def _span(first: int, words: int) -> Places:
    if not 0 <= first < _PREDICATES or 1 << first & _CONSTANTLY_ZERO:
        return 0
    return ((1 << words) - 1) << first


def _registers(cells: IntArray, columns: tuple[int, ...]) -> Places:
    found = 0
    for column in columns:
        found |= _span(int(cells[column]), 1)
    return found


def _written(cells: IntArray) -> Places:
    found = _registers(cells, (core.TO, core.TO_HIGH))
    for column in (core.P, core.Q):
        number = int(cells[column])
        if number >= 0 and number not in _ALWAYS:
            found |= 1 << _PREDICATES + number
    return found
