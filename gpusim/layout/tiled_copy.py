"""CuTe's tiled copies: the element of a tile that each lane of each warp accesses, instruction by instruction."""

import re
from dataclasses import dataclass
from typing import Final

import numpy as np

from gpusim.arrays import IntArray
from gpusim.errors import BadInput
from gpusim.layout.accesses import AccessOp, LaneAccess
from gpusim.layout.atoms import CopyAtom, MmaSide, copy_atom, mma_atom
from gpusim.layout.banks import MATRIX_ROW_BYTES, MATRIX_ROWS
from gpusim.layout.congruous import CongruousLayout
from gpusim.layout.cute import Layout, SwizzledLayout
from gpusim.layout.printed import parse_layout, parse_shape
from gpusim.layout.shared import SharedLayout
from gpusim.units import WARP_SIZE

COPY_FORMS: Final = (
    "a TiledCopy as CuTe prints it (Tiler_MN, TiledLayout_TV, ValLayoutSrc, ValLayoutDst, ValLayoutRef), or "
    "ATOM, THREADS, VALUES as make_tiled_copy takes them, as 'UniversalCopy<uint128_t>, (16,8):(8,1), (1,8)', or "
    "ATOM, MMA.A [WARPSxWARPS] as make_tiled_copy_A does, as 'SM75_U32x4_LDSM_N, SM80_16x8x16_F32F16F16F32_TN.A 2x2'"
)

_MOST_VALUES: Final = 1 << 20
"""Most values that a TiledCopy may have, over all its threads."""


@dataclass(frozen=True, slots=True)
class TiledCopy:
    """
    A copy of a tile by a group of threads.

    Attributes:
        name: Name for a reader: the atom, and the MMA operand if the copy follows one.
        loads: Atom for reading from shared memory.
        stores: Atom for writing to shared memory.
        coordinates: Element (m, n) of each thread and value. Shape (threads, values, 2).
        tile: Extents (M, N) of the tile that all threads cover once.
    """

    name: str
    loads: CopyAtom
    stores: CopyAtom
    coordinates: IntArray
    tile: tuple[int, int]


def parse_tiled_copy(text: str, element_bits: int) -> TiledCopy:
    """
    Parse a tiled copy, in one of ``COPY_FORMS``.

    Args:
        text: The copy.
        element_bits: Width of one element.

    Raises:
        BadInput: Names the text and the forms, or the part that is wrong.
    """
    if "TiledLayout_TV" in text:
        return _printed(text, element_bits)
    parts = [part.strip() for part in _outside_brackets(text)]
    if len(parts) == _OPERAND_PARTS and (match := _OPERAND.fullmatch(parts[1])):
        m, n = int(match[3] or 1), int(match[4] or 1)
        return operand_copy(parts[0], match[1], _SIDES[match[2].lower()], element_bits, warps=(m, n))
    if len(parts) == _THREAD_PARTS:
        values = parse_layout(parts[2]) if ":" in parts[2] else _compact(parts[2])
        return raked_copy(parts[0], parse_layout(parts[1]), values, element_bits)
    raise BadInput(f"tiled copy must be {COPY_FORMS}, got {text!r}")


_OPERAND = re.compile(r"([\w.]+)\.([abcABC])(?:\s+(\d{1,2})x(\d{1,2}))?")
_OPERAND_PARTS, _THREAD_PARTS = 2, 3
_SIDES: Final[dict[str, MmaSide]] = {"a": "a", "b": "b", "c": "c"}


def _outside_brackets(text: str) -> list[str]:
    """Split at commas outside brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "(<") - (letter in ")>")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _compact(shape: str) -> Layout:
    """Return the compact layout of a shape, with the first mode fastest, as CuTe's make_layout does."""
    extents = parse_shape(shape)
    flat = Layout(extents, extents).flat_modes
    strides = np.cumprod([1, *(extent for extent, _ in flat)])[:-1].tolist()
    if isinstance(extents, int):
        return Layout(extents, 1)
    if any(not isinstance(extent, int) for extent in extents):
        raise BadInput(f"layout must read SHAPE:STRIDE where its shape is nested, got {shape!r}")
    return Layout(extents, tuple(strides))


_FIELD = re.compile(r"(Tiler_MN|TiledLayout_TV|ThrID|ValLayoutSrc|ValLayoutDst|ValLayoutRef|ValueType)\s*:\s*(\S+)")
_VALUE_TYPE = re.compile(r"(\d{1,9})b")


def _printed(text: str, element_bits: int) -> TiledCopy:
    fields = dict(_FIELD.findall(text))
    needed = ("Tiler_MN", "TiledLayout_TV", "ValLayoutSrc", "ValLayoutDst", "ValLayoutRef")
    missing = [name for name in needed if name not in fields]
    if missing:
        raise BadInput(f"tiled copy as CuTe prints it must have {', '.join(needed)}; {', '.join(missing)} is missing")
    value = _VALUE_TYPE.fullmatch(fields.get("ValueType", ""))
    if value and int(value[1]) != element_bits:
        raise BadInput(f"tiled copy: ValueType must be that of the layout, {element_bits}b, got {value[0]}")
    tile = parse_shape(fields["Tiler_MN"])
    if isinstance(tile, int) or len(tile) != _RANK or not all(isinstance(extent, int) for extent in tile):
        raise BadInput(f"tiled copy: Tiler_MN must be a pair of extents, got {fields['Tiler_MN']}")
    source, target, reference = (parse_layout(fields[f"ValLayout{which}"]) for which in ("Src", "Dst", "Ref"))
    kind = _printed_kind(source, target, element_bits)
    layout = parse_layout(fields["TiledLayout_TV"])
    extents = (int(tile[0]), int(tile[1]))  # type: ignore[arg-type] # a pair of integers, as just checked
    return TiledCopy(
        "TiledCopy" if kind is None else f"TiledCopy of {kind}",
        CopyAtom("as printed", "ldmatrix" if kind == "ldmatrix" else None, source, reference),
        CopyAtom("as printed", "stmatrix" if kind == "stmatrix" else None, target, reference),
        _thread_values(layout, extents),
        extents,
    )


def _printed_kind(source: Layout, target: Layout, element_bits: int) -> AccessOp | None:
    """Recognise a matrix instruction: each of its 32 lanes has a row of 16 bytes on the shared-memory side."""
    lanes = source.modes[0].size
    if lanes != WARP_SIZE or source == target:
        return None
    row = MATRIX_ROW_BYTES * 8 // element_bits
    return (
        "ldmatrix" if source.modes[1] == Layout(row, 1) else "stmatrix" if target.modes[1] == Layout(row, 1) else None
    )


_RANK = 2


def _thread_values(layout: Layout, tile: tuple[int, int]) -> IntArray:
    """Return the element (m, n) of each thread and value of a layout (thread, value) -> element of the tile."""
    if len(layout.modes) != _RANK:
        raise BadInput(f"layout of threads and values must have two modes, got {layout}")
    threads, values = (mode.size for mode in layout.modes)
    if threads * values > _MOST_VALUES:
        raise BadInput(f"{layout}: must have at most {_MOST_VALUES} values over all threads, got {threads * values}")
    index = layout.offset((np.arange(threads)[:, np.newaxis], np.arange(values)))
    if index.max() >= tile[0] * tile[1]:
        raise BadInput(f"{layout}: reaches outside the tile of {tile[0]}x{tile[1]}")
    return np.stack([index % tile[0], index // tile[0]], axis=-1)


def raked_copy(atom: str, threads: Layout, values: Layout, element_bits: int) -> TiledCopy:
    """
    Return the copy that CuTe's ``make_tiled_copy(atom, threads, values)`` makes.

    Args:
        atom: Name of the copy atom.
        threads: Layout (m, n) -> thread.
        values: Layout (m, n) -> value of one thread; neighbours in the tile.
        element_bits: Width of one element.

    Raises:
        BadInput: A layout does not have two modes, or is not a bijection.
    """
    for what, layout in (("threads", threads), ("values", values)):
        if len(layout.modes) != _RANK:
            raise BadInput(f"layout of {what} must have two modes, got {layout}")
        numbers = layout.offset(np.arange(layout.size))
        if not np.array_equal(np.sort(numbers), np.arange(layout.size)):
            raise BadInput(f"layout of {what} must number its {layout.size} coordinates from 0, got {layout}")
    (tm, tn), (vm, vn) = ([mode.size for mode in layout.modes] for layout in (threads, values))
    if threads.size * values.size > _MOST_VALUES:
        raise BadInput(f"tiled copy must have at most {_MOST_VALUES} values over all threads")
    coordinates = np.empty((threads.size, values.size, _RANK), dtype=np.int64)
    thread_m, thread_n, value_m, value_n = np.ogrid[:tm, :tn, :vm, :vn]
    thread, value = threads.offset((thread_m, thread_n)), values.offset((value_m, value_n))
    coordinates[thread, value, 0] = thread_m * vm + value_m
    coordinates[thread, value, 1] = thread_n * vn + value_n
    found = copy_atom(atom, element_bits)
    return TiledCopy(atom, found, found, coordinates, (tm * vm, tn * vn))


def operand_copy(
    atom: str, mma: str, side: MmaSide, element_bits: int, *, warps: tuple[int, int] = (1, 1)
) -> TiledCopy:
    """
    Return the copy that CuTe's ``make_tiled_copy_A``, ``_B`` or ``_C`` makes for an MMA atom repeated over warps.

    The MMA atom is repeated along M or N until the copy atom has all of its values, as with ``Tile<_32,_32,_16>`` for
    an ldmatrix.x4 of B.

    Args:
        atom: Name of the copy atom.
        mma: Name of the MMA atom.
        side: Operand.
        element_bits: Width of one element of the layout; for "a" and "b", the atom's own.
        warps: Warps along M and N.

    Raises:
        BadInput: A name is unknown, or the element width is not the atom's.
    """
    found, copied = mma_atom(mma), copy_atom(atom, element_bits)
    if side != "c" and found.bits != element_bits:
        raise BadInput(f"{mma}: elements must have {found.bits} bits, got {element_bits}")
    if min(warps) < 1:
        raise BadInput(f"{mma}: warps must be at least 1x1, got {warps[0]}x{warps[1]}")
    rows, columns = found.extents(side)
    base = _thread_values(found.layouts[side], (rows, columns))
    repeats = -(-copied.values // base.shape[1])
    m_warps, n_warps = warps
    across = {"a": m_warps, "b": n_warps, "c": m_warps}[side]
    warp = np.arange(m_warps * n_warps)
    place = warp // m_warps if side == "b" else warp % m_warps
    repeat = np.arange(repeats)
    shift = (repeat[:, np.newaxis] * across + place) * rows
    # [repeats, warps, lanes, values, 2] -> [warps * lanes, repeats * values, 2]
    moved = np.broadcast_to(base, (repeats, len(warp), *base.shape)).copy()
    moved[..., 0] += shift[..., np.newaxis, np.newaxis]
    extent = columns
    if side == "c":
        moved[..., 1] += (warp // m_warps * columns)[:, np.newaxis, np.newaxis]
        extent = columns * n_warps
    coordinates = np.moveaxis(moved, 0, 2).reshape(len(warp) * WARP_SIZE, -1, _RANK)
    name = f"{atom} of {mma}.{side.upper()}"
    return TiledCopy(name, copied, copied, coordinates, (rows * across * repeats, extent))


def tiled_copy_access(label: str, copy: TiledCopy, layout: SharedLayout, *, stores: bool) -> LaneAccess:
    """
    Return every instruction of a tiled copy over the whole tile of a layout, by warp, then by place in the tile.

    The first mode of the copy is the first mode of a stated CuTe layout. For other layouts it is the strided dimension,
    or the contiguous one of a congruous layout.

    Args:
        label: Name of the access.
        copy: The copy.
        layout: Layout of the tile in shared memory.
        stores: Whether the copy writes to shared memory.

    Raises:
        BadInput: The copy does not divide the tile, or the values of one lane are not contiguous.
    """
    atom = copy.stores if stores else copy.loads
    op: AccessOp = atom.op or ("store" if stores else "load")
    if op in ("ldmatrix", "cp.async", "stmatrix") and stores != (op != "ldmatrix"):
        raise BadInput(f"{label}: {op} does not {'write to' if stores else 'read from'} shared memory")
    along_first = _first_is_contiguous(layout)
    m, n = (layout.contiguous, layout.strided) if along_first else (layout.strided, layout.contiguous)
    if m % copy.tile[0] or n % copy.tile[1]:
        raise BadInput(f"{label}: copies tiles of {copy.tile[0]}x{copy.tile[1]}, which must divide {m}x{n}")
    asked = _asked_by_lane(label, copy, atom)
    corners = np.stack(np.meshgrid(np.arange(0, m, copy.tile[0]), np.arange(0, n, copy.tile[1])), axis=-1)
    first = asked[:, np.newaxis, :, :, 0] + corners.reshape(1, -1, 1, 1, _RANK)
    return _from_modes(label, op, first.reshape(-1, WARP_SIZE, _RANK), asked, layout, along_first=along_first)


def _asked_by_lane(label: str, copy: TiledCopy, atom: CopyAtom) -> IntArray:
    """Return the elements that each lane accesses in each instruction. Shape (warps, instructions, 32, elements, 2)."""
    threads, values = copy.coordinates.shape[:2]
    if threads % WARP_SIZE:
        raise BadInput(f"{label}: must have whole warps of {WARP_SIZE} threads, got {threads}")
    if values % atom.values:
        raise BadInput(f"{label}: an instruction takes {atom.values} values of a thread, which must divide {values}")
    lanes, each = atom.lanes, atom.values
    numbers = atom.reference.offset((np.arange(lanes)[:, np.newaxis], np.arange(each)))
    holder = np.zeros(int(numbers.max()) + 1, dtype=np.int64)
    holder[numbers] = np.arange(lanes)[:, np.newaxis] * each + np.arange(each)
    asked = atom.memory.offset((np.arange(lanes)[:, np.newaxis], np.arange(atom.memory.modes[1].size)))
    lane, value = np.divmod(holder[asked], each)
    grouped = copy.coordinates.reshape(threads // lanes, lanes, values // each, each, _RANK)
    found = grouped[:, lane, :, value]  # (lanes, elements, groups, instructions, 2)
    warps = threads // WARP_SIZE
    found = np.moveaxis(found, (2, 3, 0, 1), (0, 1, 2, 3))  # (groups, instructions, lanes, elements, 2)
    by_warp = found.reshape(warps, WARP_SIZE // lanes, values // each, lanes, -1, _RANK)
    return np.moveaxis(by_warp, 2, 1).reshape(warps, values // each, WARP_SIZE, -1, _RANK)


def _from_modes(
    label: str, op: AccessOp, first: IntArray, asked: IntArray, layout: SharedLayout, *, along_first: bool
) -> LaneAccess:
    """Return an access from the first element (m, n) of each lane, after a check that its elements are contiguous."""
    run, row = (0, 1) if along_first else (1, 0)
    steps = np.diff(asked, axis=-2)
    if np.any(steps[..., run] != 1) or np.any(steps[..., row]):
        raise BadInput(f"{label}: the values of one lane must lie side by side along the contiguous dimension")
    width, rest = divmod(asked.shape[-2] * layout.element_bits, 8)
    if rest or not width:
        raise BadInput(f"{label}: {asked.shape[-2]} elements of {layout.element_bits} bits fill no whole byte")
    contiguous, strided = first[..., run], first[..., row]
    active = np.ones(contiguous.shape, dtype=np.bool_)
    if op in ("ldmatrix", "stmatrix"):
        # Lanes that repeat a row of the first matrices supply no new address.
        pairs = np.stack([contiguous, strided], axis=-1)
        for matrices in (1, 2):
            suppliers = matrices * MATRIX_ROWS
            if np.array_equal(pairs[:, :suppliers], pairs[:, suppliers : 2 * suppliers]):
                active[:, suppliers:] = False
                break
    return LaneAccess(label, op, width, contiguous, strided, active)


def fragment_access(
    label: str,
    op: AccessOp,
    mma: str,
    side: str,
    layout: SharedLayout,
    *,
    along_first: bool | None = None,
    corner: tuple[int, int] = (0, 0),
) -> LaneAccess:
    """
    Return the loads or stores of one MMA fragment, one instruction for each register, or for each element of it.

    Elements of a register that are neighbours in shared memory move together: 32 bits a lane. If the operand is
    contiguous along M or N and narrower than 32 bits, every element moves separately.

    Args:
        label: Name of the access.
        op: ``load`` or ``store``.
        mma: Name of the MMA atom, in CuTe's form or as ``m16n8k8.tf32``.
        side: Operand: a, b or c.
        layout: Layout of the operand's tile.
        along_first: Whether M (of B: N) runs along the contiguous dimension; None to derive it from the layout.
        corner: Contiguous and strided coordinate of the fragment's first element.

    Raises:
        BadInput: The atom is unknown, or its elements are not those of the layout.
    """
    found, which = mma_atom(mma), _SIDES[side]
    if which != "c" and found.bits != layout.element_bits:
        raise BadInput(f"{label}: elements must have {found.bits} bits, got {layout.element_bits}")
    turned = _first_is_contiguous(layout) if along_first is None else along_first
    values = _thread_values(found.layouts[which], found.extents(which))
    run, row = (0, 1) if turned else (1, 0)
    together = max(1, _REGISTER_BITS // layout.element_bits)
    count = values.shape[1]
    grouped = values.reshape(WARP_SIZE, -1, min(together, count), _RANK)
    steps = np.diff(grouped, axis=2)
    if np.any(steps[..., run] != 1) or np.any(steps[..., row]):
        grouped = values[:, :, np.newaxis]
    if grouped.shape[2] * layout.element_bits < 2 * 8:
        raise BadInput(f"{label}: single elements of {layout.element_bits} bits are not counted")
    first = np.moveaxis(grouped[:, :, 0], 0, 1)
    width = grouped.shape[2] * layout.element_bits // 8
    active = np.ones(first.shape[:2], dtype=np.bool_)
    return LaneAccess(label, op, width, corner[0] + first[..., run], corner[1] + first[..., row], active)


_REGISTER_BITS: Final = 32


def _first_is_contiguous(layout: SharedLayout) -> bool:
    """Return whether the first mode of an operand (M or N) runs along the contiguous dimension of its layout."""
    if isinstance(layout, SwizzledLayout):
        return layout.first_is_contiguous
    return isinstance(layout, CongruousLayout)
