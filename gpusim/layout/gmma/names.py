"""CuTe's names of GMMA atoms and of tiles made of them, as on the command line."""

import re
from dataclasses import dataclass
from typing import Final

from gpusim.element_types import element_bits
from gpusim.errors import BadInput
from gpusim.layout.gmma.atom import GMMA_SWIZZLES, MAJORS, GmmaAtom
from gpusim.layout.gmma.tile import ALONG_MN, GMMA_STEPS, GmmaStep

_TYPES: Final = {
    "f16": ("half_t", "__half"),
    "bf16": ("bfloat16_t", "__nv_bfloat16"),
    "tf32": ("tfloat32_t",),
    "f32": ("float",),
    "e4m3": ("float_e4m3_t",),
    "e5m2": ("float_e5m2_t",),
    "s8": ("int8_t",),
    "u8": ("uint8_t",),
    "s4": ("int4b_t", "int4_t"),
    "u4": ("uint4b_t", "uint4_t"),
    "s32": ("int32_t", "int"),
}
"""Element types, and the names that C++ has for them."""

_SHORT: Final = {name: short for short, names in _TYPES.items() for name in (short, *names)}

_ATOM: Final = re.compile(
    r"(?:(?:::)?(?:\w+::)*GMMA::)?Layout_([A-Z]+)_([A-Z]+\d*)_Atom\s*<\s*([\w:]+)\s*>(?:\s*\{\s*\})?"
)
_TILED: Final = re.compile(r"(?:(?:::)?cute::)?tile_to_shape\((.*)\)")
_SHAPE: Final = re.compile(
    r"\s*,\s*Shape\s*<\s*_?(\d{1,9})\s*,\s*_?(\d{1,9})\s*(?:,\s*_?(\d{1,9})\s*)?>(?:\s*\{\s*\})?"
)
_STEP: Final = re.compile(r"\s*,\s*Step\s*<\s*_?([12])\s*,\s*_?([12])\s*(?:,\s*_?3\s*)?>(?:\s*\{\s*\})?")


@dataclass(frozen=True, slots=True)
class GmmaSpec:
    """
    A GMMA atom by name, with what the name says of the tile.

    Attributes:
        atom: The atom.
        step: Order of the atoms; None for that of CUTLASS's mainloops.
        shape: Extents along M or N and along K, and stages; None if the name states none.
    """

    atom: GmmaAtom
    step: GmmaStep | None = None
    shape: tuple[int, int, int] | None = None


def is_gmma(text: str) -> bool:
    """Return whether a text looks like the name of a GMMA atom, or of a tile made of one."""
    return "GMMA::" in text or "tile_to_shape(" in text or bool(_ATOM.match(text))


def parse_gmma(text: str) -> GmmaSpec:
    """
    Parse the name of a GMMA atom, or of a tile made of one.

    These are understood: ``GMMA::Layout_K_SW128_Atom<f16>``, with CUTLASS's names of types, too
    (``cutlass::half_t``); the same with the order of atoms, ``GMMA::Layout_K_SW128_Atom<f16>, Step<2,1,3>``; and
    ``tile_to_shape(GMMA::Layout_K_SW128_Atom<f16>{}, Shape<_128,_64,_4>{}, Step<_1,_2,_3>{})``. As in CuTe, the atoms
    of ``tile_to_shape`` without a Step lie along M or N first.

    Raises:
        BadInput: Names the text and what is allowed.
    """
    tiled = _TILED.fullmatch(text.strip())
    inside = tiled[1].strip() if tiled else text.strip()
    found = _ATOM.match(inside)
    major = next((one for one in MAJORS if found and one == found[1]), None)
    swizzle = next((one for one in GMMA_SWIZZLES if found and one == found[2]), None)
    if found is None or major is None or swizzle is None:
        raise BadInput(
            f"GMMA atoms are GMMA::Layout_{{{','.join(MAJORS)}}}_{{{','.join(GMMA_SWIZZLES)}}}_Atom<type>, got {text!r}"
        )
    atom = GmmaAtom(major, swizzle, type_bits(text, found[3]))
    place = found.end()
    if shaped := _SHAPE.match(inside, place):
        place = shaped.end()
    if stepped := _STEP.match(inside, place):
        place = stepped.end()
    step = (int(stepped[1]), int(stepped[2]), 3) if stepped else ALONG_MN if tiled else None
    if place != len(inside) or (tiled and not shaped) or step not in (None, *GMMA_STEPS):
        raise BadInput(
            f"a tile of GMMA atoms must read tile_to_shape(ATOM, Shape<MN,K,STAGES>, Step<1,2,3>) or Step<2,1,3>, "
            f"got {text!r}"
        )
    return GmmaSpec(atom, step, (int(shaped[1]), int(shaped[2]), int(shaped[3] or 1)) if shaped else None)


def type_bits(text: str, name: str) -> int:
    """
    Return the width of an element type.

    Args:
        text: The name of which the type is a part, for the error.
        name: A type's name: ``f16``, ``half_t``, ``cutlass::half_t``.

    Raises:
        BadInput: Names the types there are.
    """
    short = _SHORT.get(name.rpartition("::")[2])
    if short is None:
        raise BadInput(f"{text}: type must be one of {', '.join(_TYPES)}, or CUTLASS's name of one, got {name!r}")
    return element_bits(short)
