"""The effect of each instruction on shared memory and on the order of warps, as columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.execute.core import constants as core
from gpusim.layout.banks import MATRIX_ROW_BYTES, MATRIX_ROWS
from gpusim.lower.sass.decode import Sass
from gpusim.lower.sass.operands import Immediate
from gpusim.schedule.warp_events import Arrive, Effect, Sync
from gpusim.units import WARP_SIZE

NO_ACCESS: Final = -1
"""Effect of an instruction that never accesses shared memory."""

NOTHING, MEETS, COMMITS, AWAITS = range(4)
"""Roles in the order of warps: none, BAR, LDGDEPBAR, DEPBAR."""

EFFECT_OF_KIND: Final = {
    core.LOAD: Effect.READ,
    core.LOAD_MATRIX: Effect.READ,
    core.STORE_WORDS: Effect.WRITE,
    core.ATOMIC: Effect.ATOMIC,
    core.COPY: Effect.ASYNC_WRITE,
}

ARRIVES_ONLY: Final = 1
"""Form of BAR.ARV."""

COUNT_IN_REGISTER: Final = 2
"""Operands of a BAR that are in registers: its count, and not its number."""


@dataclass(frozen=True, slots=True)
class SharedInstructions:
    """
    The instructions of a kernel.

    Attributes:
        effect: Effect on shared memory, or ``NO_ACCESS``.
        size: Bytes that a lane accesses.
        matrix: Whether it is an ldmatrix.
        lanes: Mask of the lanes whose addresses an ldmatrix reads, whether they execute it or not.
        generic: Whether the address is generic, so that it may lie in another memory.
        copies: Whether the trace has two rows of addresses, the second in shared memory.
        role: Role in the order of warps.
        pending: Commit groups that may still be in flight after a DEPBAR.
        barriers: Event of each BAR; None if its barrier or its count is in a register.
        granule: Bytes of the smallest access. All others are multiples of it.
    """

    effect: IntArray
    size: IntArray
    matrix: BoolArray
    lanes: IntArray
    generic: BoolArray
    copies: BoolArray
    role: IntArray
    pending: IntArray
    barriers: dict[int, Arrive | Sync | None]
    granule: int


def shared_instructions(rows: IntArray, code: Sequence[Sass | None]) -> SharedInstructions:
    """
    Return the effects of a kernel's instructions.

    Args:
        rows: Rows of the instructions (``KernelExecution.rows``).
        code: The instructions.
    """
    table = rows.reshape(-1, core.ROW)
    kind, space = table[:, core.KIND], table[:, core.SPACE]
    matrix, copies = kind == core.LOAD_MATRIX, kind == core.COPY
    effect = np.full(len(table), NO_ACCESS)
    for one, found in EFFECT_OF_KIND.items():
        effect[kind == one] = found
    generic = (space == core.GENERIC_SPACE) & ~copies & ~matrix
    effect[~((space == core.SHARED_SPACE) | generic | copies)] = NO_ACCESS
    size = np.where(matrix, MATRIX_ROW_BYTES, table[:, core.SIZE])
    lanes = np.where(matrix, (1 << MATRIX_ROWS * np.where(matrix, table[:, core.SIZE], 0)) - 1, core.ALL)
    role, pending = np.full(len(table), NOTHING), np.zeros(len(table), np.int64)
    role[kind == core.MEET_BARRIER] = MEETS
    for at, sass in enumerate(code):
        if sass is not None and sass.name in ("LDGDEPBAR", "DEPBAR"):
            role[at] = COMMITS if sass.name == "LDGDEPBAR" else AWAITS
            count = sass.operands.get("k")
            pending[at] = count.value if isinstance(count, Immediate) else 0
    barriers = _barriers({int(at): table[at] for at in np.flatnonzero(role == MEETS)})
    used = size[effect != NO_ACCESS]
    return SharedInstructions(
        effect, size, matrix, lanes, generic, copies, role, pending, barriers, int(used.min()) if len(used) else 1
    )


def _barriers(rows: Mapping[int, IntArray]) -> dict[int, Arrive | Sync | None]:
    """
    Return the event of each BAR.

    For diverged warps, compilers put a second BAR out of line, with the count in a register. It has the count of the
    others at its barrier.
    """
    counts: dict[int, set[int]] = {}
    for row in rows.values():
        if not row[core.FORM_4]:
            counts.setdefault(int(row[core.FORM]), set()).add(-(-int(row[core.FORM_2]) // WARP_SIZE))
    found: dict[int, Arrive | Sync | None] = {}
    for at, row in rows.items():
        number, own = int(row[core.FORM]), {-(-int(row[core.FORM_2]) // WARP_SIZE)}
        known = counts.get(number, set()) if row[core.FORM_4] == COUNT_IN_REGISTER else own
        event = Arrive if row[core.FORM_3] == ARRIVES_ONLY else Sync
        unknown = row[core.FORM_4] not in (0, COUNT_IN_REGISTER) or len(known) != 1
        found[at] = None if unknown else event(number, min(known))
    return found
