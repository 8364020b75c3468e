"""
A layout seen as shared-memory banks: its offsets, the bank of each vector and the cost of accesses, as data or text.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from gpusim.arrays import IntArray
from gpusim.errors import BadInput
from gpusim.layout.accesses import LaneAccess, parse_access
from gpusim.layout.banks import BANK_BYTES, BANKS, ConflictGroup, access_ideal, access_wavefronts, conflict_groups
from gpusim.layout.named import shared_layout
from gpusim.layout.shared import SharedLayout


@dataclass(frozen=True, slots=True)
class AccessReport:
    """
    The cost of one warp-wide access.

    Attributes:
        access: The access, in coordinates.
        addresses: Byte address of each lane; None for lanes that take no part.
        wavefronts: Wavefronts the access needs.
        ideal_wavefronts: Fewest wavefronts for these lanes and this width.
        groups: Every bank that needs more than one wavefront in a phase, with its lanes.
    """

    access: LaneAccess
    addresses: tuple[int | None, ...]
    wavefronts: int
    ideal_wavefronts: int
    groups: tuple[ConflictGroup, ...]

    @property
    def conflicts(self) -> int:
        """Wavefronts beyond the ideal, that is the bank conflicts."""
        return self.wavefronts - self.ideal_wavefronts

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON. In a conflict group, ``lanes[i]`` are the lanes that want word ``words[i]``."""
        return {
            "access": self.access.label,
            "width_bytes": self.access.width_bytes,
            "addresses": list(self.addresses),
            "wavefronts": self.wavefronts,
            "ideal_wavefronts": self.ideal_wavefronts,
            "conflicts": self.conflicts,
            "conflict_groups": [
                {
                    "phase": group.phase,
                    "bank": group.bank,
                    "words": list(group.lanes_of_word),
                    "lanes": [list(lanes) for lanes in group.lanes_of_word.values()],
                }
                for group in self.groups
            ],
        }


@dataclass(frozen=True, slots=True)
class LayoutReport:
    """
    A layout of one operand, and the accesses to it that were asked about.

    Attributes:
        name: Name of the layout, as the user gave it.
        layout: The layout.
        accesses: One report for each access.
    """

    name: str
    layout: SharedLayout
    accesses: tuple[AccessReport, ...]

    def offsets(self, stage: int = 0) -> IntArray:
        """Return the element offset of each coordinate of one stage. Shape (strided, contiguous)."""
        return self.layout.offset(
            np.arange(self.layout.contiguous), np.arange(self.layout.strided)[:, np.newaxis], stage
        )

    def vector_bytes(self) -> int:
        """
        Return the widest vector, 16, 8, 4, 2 or 1 bytes, that this layout keeps contiguous and aligned in stage 0.

        Raises:
            BadInput: Not even single bytes are contiguous, as with permuted 4-bit elements.
        """
        layout, offsets = self.layout, self.offsets()
        for width in (16, 8, 4, 2, 1):
            vector, rest = divmod(width * 8, layout.element_bits)
            if not vector or rest or layout.contiguous % vector:
                continue
            vectors = offsets.reshape(-1, vector)
            if not np.any(vectors[:, 0] % vector) and np.all(np.diff(vectors) == 1):
                return width
        raise BadInput(f"{self.name}: elements of {layout.element_bits} bits do not fill whole bytes in this layout")

    def bank_table(self) -> IntArray:
        """
        Return the first bank of each vector of ``vector_bytes()`` bytes in stage 0. Shape (strided, vectors in a row).
        """
        vector = self.vector_bytes() * 8 // self.layout.element_bits
        return self.offsets()[:, ::vector] * self.layout.element_bits // 8 // BANK_BYTES % BANKS

    def as_dict(self) -> dict[str, Any]:
        """
        Return plain data for JSON: the extents, the offsets, the bank table and the accesses.

        ``offsets[strided][contiguous]`` counts elements in stage 0. With several stages,
        ``stage_offsets[stage][strided][contiguous]`` has them all.
        """
        layout = self.layout
        data: dict[str, Any] = {
            "layout": self.name,
            "element_bits": layout.element_bits,
            "contiguous": layout.contiguous,
            "strided": layout.strided,
            "stages": layout.stages,
            "elements": layout.elements,
            "shared_bytes": layout.shared_bytes,
            "offsets": self.offsets().tolist(),
        }
        if layout.stages > 1:
            data["stage_offsets"] = [self.offsets(stage).tolist() for stage in range(layout.stages)]
        data["vector_bytes"] = self.vector_bytes()
        data["banks"] = self.bank_table().tolist()
        data["accesses"] = [access.as_dict() for access in self.accesses]
        return data

    def to_json(self) -> str:
        """Return ``as_dict()`` as one line of JSON."""
        return json.dumps(self.as_dict()) + "\n"


def describe_layout(
    name: str, bits: int, contiguous: int, strided: int, stages: int = 1, *, accesses: Sequence[tuple[str, str]] = ()
) -> LayoutReport:
    """
    Lay out a tile and count the wavefronts of accesses to it.

    Layouts that split 16-byte vectors are allowed here; an access whose bytes are not contiguous is refused instead.

    Args:
        name: A layout's name, read by ``gpusim.layout.named.parse_layout_spec``.
        bits: Width of one element.
        contiguous: Extent of one stage along the contiguous dimension, in elements.
        strided: Extent along the other dimension, in elements.
        stages: Stages of the shared-memory ring. The accesses are to stage 0.
        accesses: Pairs of a kind (``store``, ``ldmatrix`` or ``access``) and its argument (``gpusim.layout.accesses``).

    Raises:
        BadInput: Names the value and what is allowed.
        MisalignedAccess: Names the first offending lane and address.
    """
    layout = shared_layout(name, bits, contiguous, strided, stages, vector_bits=max(8, bits))
    return LayoutReport(
        name, layout, tuple(_report(parse_access(kind, argument, layout), layout) for kind, argument in accesses)
    )


def _report(access: LaneAccess, layout: SharedLayout) -> AccessReport:
    addresses = access.addresses(layout)
    return AccessReport(
        access=access,
        addresses=tuple(
            address if active else None
            for address, active in zip(addresses.tolist(), access.active.tolist(), strict=True)
        ),
        wavefronts=int(access_wavefronts(addresses, access.width_bytes, access.active)),
        ideal_wavefronts=int(access_ideal(access.width_bytes, access.active)),
        groups=conflict_groups(addresses, access.width_bytes, access.active),
    )


def render_text(report: LayoutReport) -> str:
    """
    Return the bank map and the conflicts as text for a terminal.

    Rows that repeat with a period are printed once, and the text says so. The words of a conflict are separated by
    ``|``, and lanes that share a word are listed together.
    """
    layout, table, width = report.layout, report.bank_table(), report.vector_bytes()
    vector = width * 8 // layout.element_bits
    period = _row_period(table)
    per_vector = max(1, width // BANK_BYTES)
    tile = f"tile {layout.contiguous}x{layout.strided} (contiguous x strided)"
    stages = f"{layout.stages} stage{'s' * (layout.stages > 1)}"
    bank = f"First of the {per_vector} banks" if per_vector > 1 else "Bank"
    lines = [
        f"{report.name}: {layout.element_bits}-bit elements, {tile}, {stages}, {layout.shared_bytes} bytes",
        "",
        f"{bank} of each {width}-byte vector, by row and first element (stage 0):",
        "",
    ]
    cell = len(str(layout.contiguous)) + 1
    label = len(str(layout.strided)) + 1
    lines.append(" " * label + " |" + "".join(f"{c:{cell}d}" for c in range(0, layout.contiguous, vector)))
    lines.append("-" * (label + 1) + "+" + "-" * (cell * table.shape[1]))
    lines += [f"{row:{label}d} |" + "".join(f"{first:{cell}d}" for first in table[row]) for row in range(period)]
    if period < layout.strided:
        lines.append(f"{'...':>{label}} | rows repeat every {period}, to row {layout.strided - 1}")
    for access in report.accesses:
        lines += ["", *_access_lines(access)]
    return "\n".join(lines) + "\n"


def _row_period(table: IntArray) -> int:
    rows = len(table)
    return next(p for p in range(1, rows + 1) if rows % p == 0 and np.array_equal(table[p:], table[: rows - p]))


def _access_lines(report: AccessReport) -> list[str]:
    verdict = f"{report.conflicts or 'no'} bank conflict{'s' * (report.conflicts > 1)}"
    taken = f"{report.wavefronts} wavefront{'s' * (report.wavefronts != 1)}"
    lines = [f"{report.access.label}: {taken}, ideal {report.ideal_wavefronts}: {verdict}"]
    for (phase, lanes), groups in groupby(report.groups, key=_same_lanes):
        banks = [group.bank for group in groups]
        named = " | ".join(" ".join(map(str, of_word)) for of_word in lanes)
        lines.append(f"  phase {phase}, {_bank_ranges(banks)}: {len(lanes)} words, lanes {named}")
    return lines


def _same_lanes(group: ConflictGroup) -> tuple[int, tuple[tuple[int, ...], ...]]:
    return group.phase, tuple(group.lanes_of_word.values())


def _bank_ranges(banks: Sequence[int]) -> str:
    """Name the banks of one run of groups, given in ascending order: ``bank 3``, ``banks 0-3``, ``banks 0 2-3``."""
    runs: list[list[int]] = []
    for bank in banks:
        if runs and bank == runs[-1][-1] + 1:
            runs[-1].append(bank)
        else:
            runs.append([bank])
    named = " ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
    return f"bank{'s' * (len(banks) > 1)} {named}"
