"""The bank map of a layout: its offsets, the bank of each vector and the cost of accesses, as data or text."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from gpusim.arguments import integer, refusal, text, whole_number
from gpusim.arrays import IntArray
from gpusim.errors import BadInput
from gpusim.layout.access_cost import AccessReport, access_report
from gpusim.layout.banks import BANK_BYTES, BANKS, ConflictGroup
from gpusim.layout.gmma.names import GmmaSpec
from gpusim.layout.gmma.tile import tile_to_shape
from gpusim.layout.named import CuteSpec, Extents, parse_layout_spec, shared_layout, stated_extents
from gpusim.layout.patterns import parse_access
from gpusim.layout.shared import SharedLayout

MOST_TILE_ELEMENTS = 1 << 20
"""Most elements of a tile with all its stages: more than shared memory holds."""

MOST_BASE = 1_000_000
"""Greatest address of a tile, larger than any shared memory."""


@dataclass(frozen=True, slots=True)
class LayoutReport:
    """
    A layout of one operand, with reports on accesses to it.

    Attributes:
        name: Name of the layout, as the user gave it.
        layout: The layout.
        accesses: One report for each access.
        base: Byte address of the tile in shared memory.
    """

    name: str
    layout: SharedLayout
    accesses: tuple[AccessReport, ...]
    base: int = 0

    def __hash__(self) -> int:
        """Return a hash that is equal for equal reports."""
        return hash((self.name, self.base, self.layout.elements, len(self.accesses)))

    def offsets(self, stage: int = 0) -> IntArray:
        """Return the element offset of each coordinate of one stage. Shape (strided, contiguous)."""
        return self.layout.offset(
            np.arange(self.layout.contiguous), np.arange(self.layout.strided)[:, np.newaxis], stage
        )

    def cute_offsets(self, spec: GmmaSpec, stage: int) -> IntArray:
        """Return what CuTe's layout of GMMA atoms returns for each coordinate of one stage, as ``offsets``."""
        contiguous, strided = np.ogrid[: self.layout.contiguous, : self.layout.strided]
        along_k = spec.atom.major == "K"
        shape = (strided.size, contiguous.size) if along_k else (contiguous.size, strided.size)
        tile = tile_to_shape(spec.atom, (*shape, self.layout.stages), spec.step)
        row, column = (strided, contiguous) if along_k else (contiguous, strided)
        found = tile.unset_offset(row, column, stage)
        return found.T

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
        return (self.base + self.offsets()[:, ::vector] * self.layout.element_bits // 8) // BANK_BYTES % BANKS

    def as_dict(self) -> dict[str, Any]:
        """
        Return plain data for JSON: the extents, the offsets, the bank table and the accesses.

        ``offsets[strided][contiguous]`` counts elements in stage 0. With several stages,
        ``stage_offsets[stage][strided][contiguous]`` has them all. Of GMMA atoms these are the numbers that CuTe's
        layout returns, and ``addresses[stage][strided][contiguous]`` has the bytes in shared memory, from the base.
        """
        layout, spec = self.layout, parse_layout_spec(self.name)
        stages = [self.offsets(stage) for stage in range(layout.stages)]
        shown = (
            [self.cute_offsets(spec, stage) for stage in range(layout.stages)] if isinstance(spec, GmmaSpec) else stages
        )
        data: dict[str, Any] = {
            "layout": self.name,
            "element_bits": layout.element_bits,
            "contiguous": layout.contiguous,
            "strided": layout.strided,
            "stages": layout.stages,
            "elements": layout.elements,
            "shared_bytes": layout.shared_bytes,
            "offsets": shown[0].tolist(),
        }
        if self.base:
            data["base"] = self.base
        if layout.stages > 1:
            data["stage_offsets"] = [offsets.tolist() for offsets in shown]
        if isinstance(spec, GmmaSpec):
            data["addresses"] = [(offsets * layout.element_bits // 8).tolist() for offsets in stages]
        data["vector_bytes"] = self.vector_bytes()
        data["banks"] = self.bank_table().tolist()
        data["accesses"] = [access.as_dict() for access in self.accesses]
        return data

    def to_json(self) -> str:
        """Return ``as_dict()`` as one line of JSON."""
        return json.dumps(self.as_dict()) + "\n"


def describe_layout(
    name: str,
    bits: int,
    contiguous: int | None = None,
    strided: int | None = None,
    stages: int | None = None,
    *,
    accesses: Sequence[tuple[str, str]] = (),
    base: int = 0,
) -> LayoutReport:
    """
    Lay out a tile and count the wavefronts of accesses to it.

    Layouts that split 16-byte vectors are allowed here; an access whose bytes are not contiguous is refused instead.

    Args:
        name: A layout's name, read by ``gpusim.layout.named.parse_layout_spec``.
        bits: Width of one element.
        contiguous: Extent of one stage along the contiguous dimension, in elements. A layout that states its extents,
            such as ``(8,64):(64,1)``, gives the default.
        strided: Extent along the other dimension, in elements.
        stages: Stages of the shared-memory ring. The accesses are to stage 0.
        accesses: Pairs of a kind and its argument (``gpusim.layout.patterns.parse_access``).
        base: Byte address of the tile in shared memory.

    Raises:
        BadInput: Names the value and what is allowed.
        MisalignedAccess: Names the first offending lane and address.
    """
    layout = tile_layout(name, bits, contiguous, strided, stages)
    check_base(name, layout, base)
    base = int(base)
    reports = tuple(access_report(parse_access(*each, layout), layout, base) for each in pairs_of(accesses))
    return LayoutReport(name, layout, reports, base)


def tile_layout(
    name: str, bits: int, contiguous: int | None = None, strided: int | None = None, stages: int | None = None
) -> SharedLayout:
    """
    Lay out a tile. Extents that are not given come from the layout's name.

    The arguments are those of ``describe_layout``.

    Raises:
        BadInput: The name is not a layout's, or there are no extents.
    """
    stated = stated_extents(text("name", name))
    for extent, value in {"contiguous": contiguous, "strided": strided, "stages": stages}.items():
        if value is not None:
            whole_number(extent, value, 1, MOST_TILE_ELEMENTS)
    if stated is None and (contiguous is None or strided is None):
        raise BadInput(f"{name}: needs the extents of a tile, which this name does not state")
    own = stated or Extents(0, 0, 1)
    extents = (own.contiguous if contiguous is None else contiguous, own.strided if strided is None else strided)
    slots = own.stages if stages is None else stages
    if extents[0] * extents[1] * slots > MOST_TILE_ELEMENTS:
        raise BadInput(
            f"{name}: a tile must have at most {MOST_TILE_ELEMENTS} elements, got {extents[0]} x {extents[1]} x {slots}"
        )
    return shared_layout(name, bits, *extents, slots, vector_bits=max(8, integer("bits", bits)))


def pairs_of(accesses: object) -> tuple[tuple[str, str], ...]:
    """
    Return pairs of the kind of an access and its argument.

    Raises:
        BadInput: ``accesses`` has another form.
    """
    listed = isinstance(accesses, Iterable) and not isinstance(accesses, str | bytes | Mapping)
    found = tuple(accesses) if isinstance(accesses, Iterable) and listed else None
    if found is None or not all(
        isinstance(one, tuple | list) and len(one) == 2 and all(isinstance(part, str) for part in one) for one in found
    ):
        raise refusal("accesses", 'pairs of a kind and its argument, such as [("load", "16B")]', accesses)
    return tuple((kind, argument) for kind, argument in found)


def check_base(name: str, layout: SharedLayout, base: int) -> None:
    """
    Check the byte address of a tile.

    CuTe applies a swizzle over ``smem_ptr[16b]`` to the address itself. If the base is not a multiple of the permuted
    block, the swizzle reaches outside the tile. A tile of GMMA atoms starts where an atom may start.

    Raises:
        BadInput: The base is not an address, or not a multiple of the swizzle's block.
    """
    whole_number("base", base, 0, MOST_BASE)
    spec = parse_layout_spec(name)
    if isinstance(spec, GmmaSpec) and base % spec.atom.alignment:
        raise BadInput(f"{name}: the base must be a multiple of {spec.atom.alignment} bytes, got {base}")
    if isinstance(spec, CuteSpec) and spec.pointer_bits is not None:
        whole = max(1, spec.swizzle.reach * layout.element_bits // 8)
        if base % whole:
            raise BadInput(
                f"{name}: acts on addresses and reads their bits up to {whole} bytes, so the base must be a multiple "
                f"of {whole}, got {base}"
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
    at = f" at byte {report.base}" if report.base else ""
    lines = [
        f"{report.name}: {layout.element_bits}-bit elements, {tile}, {stages}, {layout.shared_bytes} bytes{at}",
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
        lines += ["", *access_lines(access)]
    return "\n".join(lines) + "\n"


def _row_period(table: IntArray) -> int:
    rows = len(table)
    return next(p for p in range(1, rows + 1) if rows % p == 0 and np.array_equal(table[p:], table[: rows - p]))


def access_lines(report: AccessReport) -> list[str]:
    """Return the verdict on an access as a line of text, and a line for each conflict of its worst instruction."""
    verdict = f"{report.conflicts or 'no'} bank conflict{'s' * (report.conflicts > 1)}"
    taken = f"{report.wavefronts} wavefront{'s' * (report.wavefronts != 1)}"
    many = report.access.instructions
    counted = f"{many} instructions, {taken}" if many > 1 else taken
    lines = [f"{report.access.label}: {counted}, ideal {report.ideal_wavefronts}: {verdict}"]
    if many > 1 and report.groups:
        lines.append(f"  worst instruction: {report.worst}, {report.ways}-way")
    for (phase, lanes), groups in groupby(report.groups, key=_same_lanes):
        banks = [group.bank for group in groups]
        named = " | ".join(" ".join(map(str, of_word)) for of_word in lanes)
        lines.append(f"  phase {phase}, {_bank_ranges(banks)}: {len(lanes)} words, lanes {named}")
    extra = (report.counter_wavefronts or 0) - report.wavefronts
    if extra > 0:
        lines.append(
            f"  the counter of LDGSTS shows {report.counter_wavefronts}: {extra} more, because every 128-byte line of "
            "global memory returns by itself; no layout of shared memory changes that"
        )
    if report.counters:
        lines.append(f"  counted by {' and '.join(report.counters)}")
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
