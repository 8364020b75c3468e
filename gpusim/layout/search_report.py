"""The search of ``gpusim layout --search``: from a named layout's tile and accesses to the answer as text."""

from collections.abc import Sequence

from gpusim.layout.address_bits import render_address_bits
from gpusim.layout.bank_map import check_base, pairs_of, tile_layout
from gpusim.layout.cute import SwizzledLayout
from gpusim.layout.gmma.names import GmmaSpec
from gpusim.layout.named import CuteSpec, parse_layout_spec
from gpusim.layout.patterns import parse_access
from gpusim.layout.search import Candidate, Search, find_conflict_free

_MOST_LISTED = 6


def search_layout(
    name: str,
    bits: int,
    contiguous: int | None = None,
    strided: int | None = None,
    *,
    accesses: Sequence[tuple[str, str]],
    base: int = 0,
) -> Search:
    """
    Search for swizzles and paddings of a layout under which accesses have no bank conflicts.

    Args:
        name: The layout. For a stated CuTe layout and for GMMA atoms, the search starts from the layout without its
            swizzle. For every other name, only the extents count, and the search starts from a row-major tile.
        bits: Width of one element.
        contiguous: Contiguous extent in elements, if the name states none.
        strided: Extent along the other dimension.
        accesses: Pairs of a kind and its argument (``gpusim.layout.patterns.parse_access``).
        base: Byte address of the tile.

    Raises:
        BadInput: Names the value and what is allowed.
        MisalignedAccess: Names the first offending lane and address.
    """
    layout = tile_layout(name, bits, contiguous, strided)
    check_base(name, layout, base)
    asked = [parse_access(*each, layout) for each in pairs_of(accesses)]
    extents = (layout.contiguous, layout.strided)
    spec = parse_layout_spec(name)
    stated = isinstance(spec, GmmaSpec) or (isinstance(spec, CuteSpec) and spec.layout is not None)
    if stated and isinstance(layout, SwizzledLayout):
        turned = layout.first_is_contiguous
        return find_conflict_free(asked, extents, bits, layout=layout.layout, first_is_contiguous=turned, base=base)
    return find_conflict_free(asked, extents, bits, base=base)


def render_search(search: Search, bits: int, extents: tuple[int, int]) -> str:
    """
    Return the answer of a search as text, with the address bits of the cheapest layout.

    Args:
        search: The answer.
        bits: Width of one element.
        extents: Contiguous and strided extent of the tile.
    """
    plain = search.plain
    lines = [f"Search: {search.tried} layouts tried; {plain.name} has {_counted(plain)}"]
    if not search.found:
        lines += _why_none(search)
        return "\n".join(lines) + "\n"
    first, *others = search.found
    lines.append(f"No conflict, cheapest: {first.name} ({_price(first)})")
    if others:
        rest = f" and {len(others) - _MOST_LISTED} more" if len(others) > _MOST_LISTED else ""
        listed = ", ".join(f"{each.name} ({_price(each)})" for each in others[:_MOST_LISTED])
        lines.append(f"also: {listed}{rest}")
    lines.append("")
    return "\n".join(lines) + "\n" + render_address_bits(tile_layout(first.name, bits, *extents, 1))


def _counted(candidate: Candidate) -> str:
    return f"{candidate.conflicts} conflicts in {candidate.wavefronts} wavefronts" if candidate.conflicts else "none"


def _price(candidate: Candidate) -> str:
    return f"+{candidate.extra_bytes} bytes" if candidate.extra_bytes else "no more memory"


def _why_none(search: Search) -> list[str]:
    """Explain why nothing was found: a bound that holds for all layouts, or accesses that exclude each other."""
    best = search.best
    lines = [f"None without conflicts. Fewest: {best.name} ({_price(best)}), {_counted(best)}"]
    if search.lower_bound > search.ideal_wavefronts:
        words = search.vector_bytes // 4
        lines.append(
            f"No layout can: vectors of {search.vector_bytes} bytes stay whole, so each of their {words} words has "
            f"{32 // words} of the 32 banks, and these accesses need at least {search.lower_bound} wavefronts "
            f"(ideal {search.ideal_wavefronts})"
        )
    else:
        lines.append(
            "The bound of whole vectors does not exclude one: a layout that is no Swizzle<B,M,S> and no padding may do"
        )
    lines += [f"alone, {label}: {name or 'none'}" for label, name in search.alone]
    return lines
