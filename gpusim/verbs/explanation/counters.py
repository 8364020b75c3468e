"""
The counters of ncu that show a kernel's bank conflicts, with their values, and those that count something else.

Source: docs/machine/data_stage.md, D9, and docs/cross-checking.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from gpusim.results.result import BankConflicts

_WAVEFRONTS: Final = "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
_CONFLICTS: Final = "sm__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum"

_EXACT: Final = {"ldmatrix": ("ldsm", "ldmatrix"), "lds": ("ld", "loads"), "sts": ("st", "stores")}
"""Name in ncu's metrics, and in words, of each operation whose wavefronts follow from its addresses."""


@dataclass(frozen=True, slots=True)
class ExpectedCounter:
    """
    The expected value of a counter of ncu.

    Attributes:
        metric: Full name of the metric.
        value: The expected value; None if the addresses do not determine it.
        kind: "exact": the counter equals the count of the address pattern. "artefact": it counts more than conflicts.
        meaning: The counted events, in words.
    """

    metric: str
    value: int | None
    kind: Literal["exact", "artefact"]
    meaning: str


def expected_counters(rows: Sequence[BankConflicts]) -> tuple[ExpectedCounter, ...]:
    """Return the counters that are read as bank conflicts, the exact ones first."""
    found = []
    for op, (name, words) in _EXACT.items():
        own = [row for row in rows if row.op == op]
        if own:
            conflicts, wavefronts = sum(row.conflicts for row in own), sum(row.wavefronts for row in own)
            found.append(
                ExpectedCounter(
                    _CONFLICTS.format(name), conflicts, "exact", f"conflicts of {words}, by address pattern"
                )
            )
            found.append(
                ExpectedCounter(_WAVEFRONTS.format(name), wavefronts, "exact", f"wavefronts of {words}, by address")
            )
    copies = [row for row in rows if row.op == "ldgsts"]
    if copies:
        real = sum(row.conflicts for row in copies)
        found.append(
            ExpectedCounter(
                _WAVEFRONTS.format("ldgsts"),
                None,
                "artefact",
                f"a wavefront for each line of global memory that returns by itself, not for banks; the copies' own "
                f"addresses make {sum(row.wavefronts for row in copies):,} wavefronts and {real:,} conflicts (D9)",
            )
        )
        found.append(
            ExpectedCounter(
                "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts.sum",
                None,
                "artefact",
                "how the rows of global memory return, which differs from run to run (D9)",
            )
        )
    found.append(
        ExpectedCounter(
            "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
            None,
            "artefact",
            "also arbitration between the data stage's clients; not zero for accesses without a conflict (D9)",
        )
    )
    return tuple(found)
