"""Chooses which shared accesses of a kernel a picture of bank conflicts shows."""

from collections.abc import Collection, Sequence
from typing import Any

from gpusim.report.bank_grid import BankPicture, PassKind, access_title
from gpusim.schedule.counts import CountedKernel
from gpusim.schedule.worst_access import WorstAccess, worst_accesses

_FEWEST, _MOST = 3, 6


def bank_pictures(
    kernel: CountedKernel[Any], typical: Sequence[tuple[str, str]], transposed: Collection[str] = ()
) -> tuple[BankPicture, ...]:
    """
    Return the worst access of each kind that conflicts, the worst first; with typical kinds if they are under three.

    Args:
        kernel: The kernel.
        typical: Op and operand of the kinds to show where nothing conflicts, in this order.
        transposed: Operands that ldmatrix loads transposed.
    """
    accesses = worst_accesses(kernel)
    conflicting = [access for access in accesses if access.conflicts][:_MOST]
    kinds = {(access.row.op, access.row.operand): access for access in accesses if not access.conflicts}
    others = [kinds[kind] for kind in typical if kind in kinds][: max(0, _FEWEST - len(conflicting))]
    return tuple(_picture(access, transposed) for access in (*conflicting, *others))


def _picture(access: WorstAccess, transposed: Collection[str]) -> BankPicture:
    row, table = access.row, access.table
    turned = row.op == "ldmatrix" and row.operand in transposed
    plain: PassKind = "load" if table.loads else "store"
    kind: PassKind = "atomic" if row.op == "atoms" else "ldmatrix" if table.matrices else plain
    return BankPicture(
        access_title(row.op, row.operand, transposed=turned),
        access.addresses,
        table.width,
        kind=kind,
        matrices=table.matrices or 1,
        active=access.active,
        banks=table.banks,
    )
