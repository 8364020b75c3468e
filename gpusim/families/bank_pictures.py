"""Chooses which shared accesses of a kernel a picture of bank conflicts shows."""

from collections.abc import Collection
from typing import Any

from gpusim.report.bank_grid import PassKind, BankPicture, access_title
from gpusim.schedule.counts import CountedKernel
from gpusim.schedule.worst_access import WorstAccess, worst_accesses

_FEWEST, _MOST = 3, 6


def bank_pictures(kernel: CountedKernel[Any], transposed: Collection[str] = ()) -> tuple[BankPicture, ...]:
    """
    Return the worst access of each kind that conflicts, the worst first; with further kinds if they are under three.

    Args:
        kernel: The kernel.
        transposed: Operands that ldmatrix loads transposed.
    """
    accesses = worst_accesses(kernel)
    conflicting = sum(1 for access in accesses if access.conflicts)
    shown = accesses[: max(_FEWEST, min(_MOST, conflicting))]
    return tuple(_picture(access, transposed) for access in shown)


def _picture(access: WorstAccess, transposed: Collection[str]) -> BankPicture:
    row, table = access.row, access.table
    turned = row.op == "ldmatrix" and row.operand in transposed
    kind: PassKind = "atomic" if row.op == "atoms" else "ldmatrix" if table.matrices else "load"
    return BankPicture(
        access_title(row.op, row.operand, transposed=turned),
        access.addresses,
        table.width,
        kind=kind,
        matrices=table.matrices or 1,
        active=access.active,
    )
