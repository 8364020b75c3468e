"""
A text picture of a tile's address bits: the coordinate in each bit, and the bits that a swizzle XORs into the bank.
"""

from gpusim.layout.banks import BANK_BYTES, BANKS
from gpusim.layout.cute import Layout, SwizzledLayout
from gpusim.layout.linear import PaddedLayout
from gpusim.layout.shared import SharedLayout

_LOW = BANK_BYTES.bit_length() - 1
_HIGH = (BANKS * BANK_BYTES).bit_length() - 1


def bit_sources(layout: Layout) -> tuple[str, ...] | None:
    """
    Return the coordinate bit in each bit of a layout's offset, from bit 0.

    Args:
        layout: Layout with the modes (strided, contiguous).

    Returns:
        ``s0`` is the lowest bit of the strided coordinate, ``c3`` bit 3 of the contiguous one, ``-`` a bit that is
        always 0. None if offsets are not a concatenation of bits, as with padded rows.
    """
    bits = ["-"] * (layout.cosize - 1).bit_length()
    for letter, mode in zip("sc", layout.modes, strict=True):
        number = 0
        for extent, stride in mode.flat_modes:
            if extent == 1:
                continue
            if extent & (extent - 1) or stride & (stride - 1) or not stride:
                return None
            for bit in range(extent.bit_length() - 1):
                place = stride.bit_length() - 1 + bit
                if bits[place] != "-":
                    return None
                bits[place] = f"{letter}{number}"
                number += 1
    return tuple(bits)


def render_address_bits(layout: SharedLayout) -> str:
    """
    Return a picture of the address bits of one stage: the coordinate bit in each, and the bit XORed into it.

    If a layout's offsets are not a concatenation of coordinate bits, the picture shows the banks at which rows start.
    """
    stage = _stage(layout)
    sources = bit_sources(stage) if stage is not None else None
    if stage is None or sources is None:
        return _row_starts(layout)
    shift = layout.element_bits.bit_length() - 4
    within = ["."] * max(0, shift)
    held = [*within, *sources[max(0, -shift) :]]
    mixed = [""] * len(held)
    if isinstance(layout, SwizzledLayout) and layout.swizzle.bits:
        swizzle = layout.swizzle
        changed = swizzle.base + max(0, -swizzle.shift) + shift
        for bit in range(swizzle.bits):
            source = changed + bit + swizzle.shift
            if 0 <= changed + bit < len(mixed):
                mixed[changed + bit] = held[source] if 0 <= source < len(held) else "0"
    order = range(max(len(held), _HIGH) - 1, -1, -1)
    held += ["-"] * (_HIGH - len(held))
    mixed += [""] * (_HIGH - len(mixed))
    rows = [
        ("address bit", [str(bit) for bit in order]),
        ("holds", [held[bit] for bit in order]),
        ("XOR with", [mixed[bit] for bit in order]),
    ]
    width = 1 + max(len(cell) for _, cells in rows for cell in cells)
    lines = []
    for label, cells in rows:
        groups = (cells[:-_HIGH], cells[-_HIGH:-_LOW], cells[-_LOW:])
        lines.append(
            f"{label:<12}" + " |".join("".join(f"{cell:>{width}}" for cell in group) for group in groups).rstrip()
        )
    bank = " ".join(held[bit] + (f"^{mixed[bit]}" if mixed[bit] else "") for bit in range(_HIGH - 1, _LOW - 1, -1))
    lines.append(f"bank = bits {_HIGH - 1}-{_LOW} = {bank}")
    lines.append("s: strided coordinate (row), c: contiguous coordinate, -: always 0, .: byte within an element")
    return "\n".join(lines) + "\n"


def _stage(layout: SharedLayout) -> Layout | None:
    """Return the layout of one stage before its swizzle, if it has one."""
    if isinstance(layout, SwizzledLayout):
        return layout.layout
    if isinstance(layout, PaddedLayout):
        return Layout((layout.strided, layout.contiguous), (layout.row_stride, 1))
    return None


def _row_starts(layout: SharedLayout) -> str:
    """Describe a layout by the banks at which its first rows start."""
    rows = range(min(layout.strided, 16))
    starts = [int(layout.byte_address(0, row)) // BANK_BYTES % BANKS for row in rows]
    listed = " ".join(f"{bank}" for bank in starts)
    return f"rows 0 to {rows[-1]} start at banks {listed}\n"
