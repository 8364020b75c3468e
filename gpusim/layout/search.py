"""
Searches for swizzles and paddings under which given accesses of a tile have no bank conflicts, the cheapest first.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from gpusim.arguments import flag, refusal, whole_number
from gpusim.arrays import IntArray
from gpusim.errors import BadInput
from gpusim.layout.accesses import LaneAccess
from gpusim.layout.banks import BANK_BYTES, BANKS, access_ideal, access_wavefronts, shares_in_pairs
from gpusim.layout.cute import Layout, Swizzle, SwizzledLayout, row_major
from gpusim.layout.shared import ELEMENT_BITS
from gpusim.units import WARP_SIZE

CandidateKind: TypeAlias = Literal["plain", "swizzle", "padding"]

_LINE_PLACE: Final = (BANKS * BANK_BYTES).bit_length() - 1
"""Number of the lowest address bit above those that select a bank."""

_WORD_PLACE: Final = BANK_BYTES.bit_length() - 1
"""Number of the lowest address bit that selects a bank."""

IDENTITY: Final = Swizzle(bits=0, base=0, shift=0)


@dataclass(frozen=True, slots=True)
class Candidate:
    """
    A layout that was tried.

    Attributes:
        name: The layout's name for ``gpusim layout`` and ``gpusim.layout.describe_layout``.
        kind: ``plain``, ``swizzle`` or ``padding``.
        swizzle: Swizzle of element offsets; the identity unless the kind is ``swizzle``.
        padding: Elements added to every row.
        extra_bytes: Shared memory of one stage beyond that of the plain layout.
        wavefronts: Wavefronts of all accesses.
        ideal_wavefronts: Fewest wavefronts of all accesses.
    """

    name: str
    kind: CandidateKind
    swizzle: Swizzle
    padding: int
    extra_bytes: int
    wavefronts: int
    ideal_wavefronts: int

    @property
    def conflicts(self) -> int:
        """Wavefronts beyond the ideal."""
        return self.wavefronts - self.ideal_wavefronts

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "layout": self.name,
            "kind": self.kind,
            "swizzle": [self.swizzle.bits, self.swizzle.base, self.swizzle.shift] if self.kind == "swizzle" else None,
            "padding": self.padding,
            "extra_bytes": self.extra_bytes,
            "wavefronts": self.wavefronts,
            "ideal_wavefronts": self.ideal_wavefronts,
            "conflicts": self.conflicts,
        }


@dataclass(frozen=True, slots=True)
class Search:
    """
    The answer of a search.

    Attributes:
        found: Layouts without conflicts, cheapest first: fewest extra bytes, then no swizzle, then by rising B.
        plain: The layout without swizzle and padding.
        best: The layout with the fewest conflicts, the cheapest of them.
        tried: Number of layouts tried.
        vector_bytes: Bytes that stay contiguous and aligned, because one lane accesses them at once.
        lower_bound: Fewest wavefronts of any layout that keeps these vectors whole.
        ideal_wavefronts: Wavefronts without conflicts.
        alone: The label of each access, with the cheapest layout without conflicts for that access alone, or None.
            Empty unless nothing was found.
    """

    found: tuple[Candidate, ...]
    plain: Candidate
    best: Candidate
    tried: int
    vector_bytes: int
    lower_bound: int
    ideal_wavefronts: int
    alone: tuple[tuple[str, str | None], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "found": [candidate.to_dict() for candidate in self.found],
            "plain": self.plain.to_dict(),
            "best": self.best.to_dict(),
            "tried": self.tried,
            "vector_bytes": self.vector_bytes,
            "lower_bound": self.lower_bound,
            "ideal_wavefronts": self.ideal_wavefronts,
            "alone": [{"access": label, "layout": name} for label, name in self.alone],
        }


def find_conflict_free(
    accesses: Sequence[LaneAccess],
    extents: tuple[int, int],
    bits: int,
    *,
    layout: Layout | None = None,
    first_is_contiguous: bool = False,
    base: int = 0,
) -> Search:
    """
    Search for layouts under which a set of accesses, stores and loads together, has no bank conflicts.

    All swizzles ``Swizzle<B,M,S>`` that can differ in conflicts are tried, with S above and below 0, and every padding
    of rows up to 128 bytes, after which the banks repeat. A swizzle never splits the widest vector that an access
    takes.

    Args:
        accesses: The accesses, in coordinates of the tile.
        extents: Contiguous and strided extent of one stage, in elements.
        bits: Width of one element.
        layout: Layout to swizzle or pad, with modes (strided, contiguous); row-major by default.
        first_is_contiguous: Whether names are written with the contiguous mode first.
        base: Byte address of the tile.

    Raises:
        BadInput: There are no accesses, a lane reaches outside the tile, or its bytes are not contiguous.
        MisalignedAccess: Names the first offending lane and address.
    """
    _check_question(accesses, extents, layout)
    bits, base = whole_number("bits", bits, 1, max(ELEMENT_BITS)), whole_number("base", base, 0, 1_000_000)
    contiguous, strided = extents
    first_is_contiguous = flag("first_is_contiguous", first_is_contiguous)
    stage = layout or row_major(strided, contiguous)
    space = _Space(accesses, extents, bits, stage, base)
    names = _Names(stage, stated=layout is not None, turned=first_is_contiguous)
    candidates = sorted(_candidates(space, names), key=_cost)
    found = tuple(candidate for candidate in candidates if not candidate.conflicts)
    return Search(
        found=found,
        plain=next(candidate for candidate in candidates if candidate.kind == "plain"),
        best=min(candidates, key=lambda candidate: candidate.conflicts),
        tried=len(candidates),
        vector_bytes=space.vector_bytes,
        lower_bound=space.lower_bound(),
        ideal_wavefronts=space.ideal,
        alone=() if found or len(accesses) == 1 else tuple(_alone(accesses, space, names)),
    )


def _check_question(accesses: object, extents: object, layout: object) -> None:
    if not isinstance(accesses, Sequence) or not all(isinstance(access, LaneAccess) for access in accesses):
        raise refusal("accesses", "accesses of gpusim.layout.accesses", accesses)
    if not accesses:
        raise BadInput("a search needs at least one access")
    if not isinstance(extents, tuple | list) or len(extents) != 2:
        raise refusal("extents", "a pair of contiguous and strided extent", extents)
    for extent in extents:
        whole_number("an extent", extent, 1, 1 << 20)
    if layout is not None and not isinstance(layout, Layout):
        raise refusal("layout", "a Layout of gpusim.layout.cute", layout)


def _cost(candidate: Candidate) -> tuple[int, ...]:
    """Return the sort key: extra bytes, then B, then the distance that the swizzle reaches."""
    swizzle = candidate.swizzle
    return candidate.extra_bytes, swizzle.bits, abs(swizzle.shift), swizzle.shift < 0, swizzle.base


class _Space:
    """The accesses' offsets in the plain layout, and their cost under a changed layout."""

    def __init__(
        self, accesses: Sequence[LaneAccess], extents: tuple[int, int], bits: int, stage: Layout, base: int
    ) -> None:
        contiguous, strided = extents
        plain = SwizzledLayout(bits, contiguous, strided, 1, swizzle=IDENTITY, layout=stage)
        self.extents, self.bits, self.stage, self.base = extents, bits, stage, base
        self.accesses = accesses
        self.addresses = [access.addresses(plain, base) for access in accesses]
        self.vector_bytes = max(access.width_bytes for access in accesses)
        self.vector = max(access.elements(bits) for access in accesses)
        self.ideal = sum(
            int(access_ideal(one.width_bytes, one.active, loaded=addresses if one.op == "load" else None).sum())
            for one, addresses in zip(accesses, self.addresses, strict=True)
        )

    def wavefronts(self, stage: Layout, swizzle: Swizzle) -> int:
        """Count the wavefronts of all accesses under a swizzle of a layout."""
        total = 0
        for access in self.accesses:
            strided = np.where(access.active, access.strided, 0)
            run = np.where(access.active, access.contiguous, 0)
            offsets = swizzle.apply(stage.offset((strided, run)))
            addresses = self.base + offsets * self.bits // 8
            loads = access.op == "load"
            total += int(access_wavefronts(addresses, access.width_bytes, access.active, loads=loads).sum())
        return total

    def lower_bound(self) -> int:
        """
        Count the fewest wavefronts of any layout that keeps vectors contiguous and aligned.

        A word's place in its vector then fixes its bank modulo the vector's words, so words of one place share few
        banks: 8 of 32 for vectors of 16 bytes.
        """
        places = max(1, self.vector_bytes // BANK_BYTES)
        total = 0
        for access, addresses in zip(self.accesses, self.addresses, strict=True):
            words = max(1, access.width_bytes // BANK_BYTES)
            lanes = min(WARP_SIZE, BANKS * BANK_BYTES // access.width_bytes)
            wanted = addresses[..., np.newaxis] // BANK_BYTES + np.arange(words)
            wanted = np.where(access.active[..., np.newaxis], wanted, -1)
            # A layout does not change which lanes share an address, so sharing determines the phases here, too.
            pairs = shares_in_pairs(addresses, access.active) & (access.op == "load") & (lanes < WARP_SIZE)
            total += _fewest_wavefronts(wanted[~pairs].reshape(-1, lanes * words), places)
            total += _fewest_wavefronts(wanted[pairs].reshape(-1, 2 * lanes * words), places)
        return total


def _fewest_wavefronts(wanted: IntArray, places: int) -> int:
    """
    Return the fewest wavefronts of phases in which words of the same place in a vector share banks.

    Args:
        wanted: Words that the lanes of a phase access, -1 for none. Shape (phases, words).
        places: Words of a vector.
    """
    ordered = np.sort(wanted, axis=-1)
    distinct = ordered >= 0
    distinct[:, 1:] &= ordered[:, 1:] != ordered[:, :-1]
    row, column = np.nonzero(distinct)
    counts = np.bincount(row * places + ordered[row, column] % places, minlength=len(ordered) * places)
    each = -(-counts.reshape(-1, places) // (BANKS // places))
    return int(each.max(axis=-1, initial=0).sum())


class _Names:
    """The names of candidates: only the swizzle or padding over a row-major tile, else with the layout."""

    def __init__(self, stage: Layout, *, stated: bool, turned: bool) -> None:
        self.stage, self.stated, self.turned = stage, stated, turned

    def swizzled(self, swizzle: Swizzle) -> str:
        """Return the name of a swizzle of the layout; for the identity, the layout's own name."""
        if not self.stated:
            return str(swizzle) if swizzle.bits else "row_major"
        return f"{swizzle} o {self.written(self.stage)}" if swizzle.bits else self.written(self.stage)

    def padded(self, stage: Layout, padding: int) -> str:
        """Return the name of a layout with padded rows."""
        return self.written(stage) if self.stated else f"padded<{padding}>"

    def written(self, stage: Layout) -> str:
        """Return a layout in CuTe's form, with its modes in the given order."""
        rows, run = stage.modes
        first, second = (run, rows) if self.turned else (rows, run)
        return str(Layout((first.shape, second.shape), (first.stride, second.stride)))


def _candidates(space: _Space, names: _Names) -> Iterator[Candidate]:
    cosize = space.stage.cosize
    for swizzle in (IDENTITY, *swizzles(cosize, space.vector, space.bits)):
        extra = -cosize % swizzle.span * space.bits // 8
        count = space.wavefronts(space.stage, swizzle)
        kind: CandidateKind = "swizzle" if swizzle.bits else "plain"
        yield Candidate(names.swizzled(swizzle), kind, swizzle, 0, extra, count, space.ideal)
    for padding, stage in _paddings(space):
        extra = padding * space.extents[1] * space.bits // 8
        count = space.wavefronts(stage, IDENTITY)
        yield Candidate(names.padded(stage, padding), "padding", IDENTITY, padding, extra, count, space.ideal)


def swizzles(elements: int, vector: int, bits: int) -> Iterator[Swizzle]:
    """
    Yield every swizzle of a tile that can differ from the others in bank conflicts.

    A swizzle is left out only if one with fewer bits has the same conflicts: because it changes address bits that
    select no bank, or because it reads bits above the tile, which are 0.

    Args:
        elements: Elements of the tile.
        vector: Elements that must stay contiguous, a power of two.
        bits: Width of one element.
    """
    per_byte = bits.bit_length() - 4  # log2 of the bytes of an element
    low = max(vector.bit_length() - 1, 0)
    lowest, beyond = max(low, _WORD_PLACE - per_byte), _LINE_PLACE - per_byte
    top = (elements - 1).bit_length()
    for count in range(1, beyond - lowest + 1):
        for changed in range(lowest, beyond - count + 1):
            for read in range(low, top - count + 1):
                apart = read - changed
                if abs(apart) >= count and 1 << (changed + count) <= elements:
                    yield Swizzle(count, min(changed, read), apart)


def _paddings(space: _Space) -> Iterator[tuple[int, Layout]]:
    """Yield the elements and the layout of every padding of rows; a row is one run of the contiguous mode."""
    rows, run = space.stage.modes
    if not isinstance(rows.shape, int) or not isinstance(run.shape, int):
        return
    stride = rows.stride
    if not isinstance(stride, int) or run.cosize > stride:
        return
    line = BANKS * BANK_BYTES * 8 // space.bits
    for padding in range(space.vector, line + 1, space.vector):
        yield padding, Layout((rows.shape, run.shape), (stride + padding, run.stride))


def _alone(accesses: Sequence[LaneAccess], space: _Space, names: _Names) -> Iterator[tuple[str, str | None]]:
    """Yield each access with the cheapest layout without conflicts for it alone, given the vectors of all accesses."""
    for access in accesses:
        single = _Space([access], space.extents, space.bits, space.stage, space.base)
        single.vector, single.vector_bytes = space.vector, space.vector_bytes
        found = [candidate for candidate in sorted(_candidates(single, names), key=_cost) if not candidate.conflicts]
        yield access.label, found[0].name if found else None
