"""Accesses described by a word, as on the command line, and their meaning for a given layout."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Final, Literal, TypeAlias, get_args

import numpy as np

from gpusim.errors import BadInput
from gpusim.layout.accesses import GlobalRows, LaneAccess, matrix_access, one_instruction, rows_access
from gpusim.layout.banks import ACCESS_WIDTHS
from gpusim.layout.lane_expression import LANE_NAME, lane_values
from gpusim.layout.shared import SharedLayout
from gpusim.layout.tiled_copy import fragment_access, parse_tiled_copy, tiled_copy_access
from gpusim.units import WARP_SIZE

AccessKind: TypeAlias = Literal[
    "store", "load", "cp-async", "ldmatrix", "stmatrix", "lds", "sts", "copy-from", "copy-to", "access"
]

STORE_GRAMMAR: Final = "WIDTH[@C:S] with WIDTH 2B, 4B, 8B or 16B, as 16B or 16B@0:32"
COPY_GRAMMAR: Final = (
    "WIDTH[.ca:LEADING or .cg:LEADING][@C:S] with WIDTH 4B, 8B or 16B and the elements between rows of global memory, "
    "as 16B, 16B.cg:4096 or 16B.ca:512@0:32"
)
LDMATRIX_GRAMMAR: Final = "x1, x2 or x4, then .trans and @C:S where wanted, as x4, x2.trans or x4@16:64"
FRAGMENT_GRAMMAR: Final = (
    "SHAPE.TYPE.OPERAND[.mn][@C:S], as m16n8k8.tf32.a, m16n8k16.f16.b or, for an operand contiguous along M or N, "
    "m16n8k8.tf32.b.mn"
)
ACCESS_GRAMMAR: Final = (
    "WIDTH@C:S,C:S,... with WIDTH 2B, 4B, 8B or 16B and one contiguous:strided coordinate a lane, at most 32, "
    "a - for a lane that takes no part, as 16B@0:0,8:0,-,0:1; or WIDTH@C:S with expressions of the lane, as "
    "16B@lane%8*8:lane/8"
)

_ROWS = re.compile(r"(\d{1,9})B(?:@(\d{1,9}):(\d{1,9}))?")
_COPY = re.compile(r"(\d{1,9})B(?:\.(ca|cg):(\d{1,12}))?(?:@(\d{1,9}):(\d{1,9}))?")
_MATRICES = re.compile(r"x([124])(\.trans)?(?:@(\d{1,9}):(\d{1,9}))?")
_FRAGMENT = re.compile(r"(m\d{1,9}n\d{1,9}k\d{1,9})\.(\w+)\.([abc])(\.mn)?(?:@(\d{1,9}):(\d{1,9}))?")
_ACCESS = re.compile(r"(\d{1,9})B@(.+)")
_COORDINATE = re.compile(r"(\d{1,9}):(\d{1,9})")
_ASYNC_WIDTHS: Final = (4, 8, 16)


def access_kinds() -> tuple[str, ...]:
    """Return the kinds of accesses that ``parse_access`` understands."""
    return get_args(AccessKind)


def parse_access(kind: str, argument: str, layout: SharedLayout) -> LaneAccess:
    """
    Parse a word that describes one warp-wide access.

    Args:
        kind: One of ``access_kinds()``.
        argument: Text in the grammar of the kind: ``STORE_GRAMMAR`` of store and load, ``COPY_GRAMMAR`` of cp-async,
            ``LDMATRIX_GRAMMAR`` of ldmatrix and stmatrix, ``FRAGMENT_GRAMMAR`` of lds and sts,
            ``gpusim.layout.tiled_copy.COPY_FORMS`` of copy-from and copy-to, ``ACCESS_GRAMMAR`` of access.
        layout: Layout to access, which gives the extents and the element width.

    Raises:
        BadInput: Names the argument and the grammar.
    """
    parse = _PARSERS.get(kind)
    if parse is None:
        raise BadInput(f"access must be one of {', '.join(access_kinds())}, got {kind!r}")
    return parse(argument.strip(), layout)


def _store(argument: str, layout: SharedLayout) -> LaneAccess:
    width, c, s = _rows("store", STORE_GRAMMAR, argument, ACCESS_WIDTHS)
    return rows_access(f"store {argument}", "store", width, layout, contiguous=c, strided=s)


def _load(argument: str, layout: SharedLayout) -> LaneAccess:
    width, c, s = _rows("load", STORE_GRAMMAR, argument, ACCESS_WIDTHS)
    return rows_access(f"load {argument}", "load", width, layout, contiguous=c, strided=s)


def _cp_async(argument: str, layout: SharedLayout) -> LaneAccess:
    parsed = _COPY.fullmatch(argument)
    width = int(parsed[1]) if parsed else 0
    leading = int(parsed[3] or layout.contiguous) if parsed else 0
    if parsed is None or width not in _ASYNC_WIDTHS or leading < layout.contiguous:
        least = f", at least {layout.contiguous} elements between rows" if leading < layout.contiguous else ""
        raise BadInput(f"cp-async must read {COPY_GRAMMAR}{least}, got {argument!r}")
    c, s = int(parsed[4] or 0), int(parsed[5] or 0)
    copy = rows_access(f"cp.async {argument}", "cp.async", width, layout, contiguous=c, strided=s)
    if parsed[2] is None:
        return copy
    return replace(copy, source=GlobalRows("ca" if parsed[2] == "ca" else "cg", leading))


def _rows(kind: str, grammar: str, argument: str, widths: tuple[int, ...]) -> tuple[int, int, int]:
    parsed = _ROWS.fullmatch(argument)
    if parsed is None or int(parsed[1]) not in widths:
        raise BadInput(f"{kind} must read {grammar}, got {argument!r}")
    return int(parsed[1]), int(parsed[2] or 0), int(parsed[3] or 0)


def _ldmatrix(argument: str, layout: SharedLayout) -> LaneAccess:
    matrices, c, s = _matrices("ldmatrix", argument)
    return matrix_access(f"ldmatrix.{argument}", "ldmatrix", matrices, layout, contiguous=c, strided=s)


def _stmatrix(argument: str, layout: SharedLayout) -> LaneAccess:
    matrices, c, s = _matrices("stmatrix", argument)
    return matrix_access(f"stmatrix.{argument}", "stmatrix", matrices, layout, contiguous=c, strided=s)


def _matrices(kind: str, argument: str) -> tuple[int, int, int]:
    parsed = _MATRICES.fullmatch(argument)
    if parsed is None:
        raise BadInput(f"{kind} must read {LDMATRIX_GRAMMAR}, got {argument!r}")
    return int(parsed[1]), int(parsed[3] or 0), int(parsed[4] or 0)


def _lds(argument: str, layout: SharedLayout) -> LaneAccess:
    return _fragment("lds", argument, layout)


def _sts(argument: str, layout: SharedLayout) -> LaneAccess:
    return _fragment("sts", argument, layout)


def _fragment(kind: Literal["lds", "sts"], argument: str, layout: SharedLayout) -> LaneAccess:
    parsed = _FRAGMENT.fullmatch(argument)
    if parsed is None:
        raise BadInput(f"{kind} must read {FRAGMENT_GRAMMAR}, got {argument!r}")
    shape, dtype, operand, first, c, s = parsed.groups()
    return fragment_access(
        f"{kind} {argument}",
        "load" if kind == "lds" else "store",
        f"{shape}.{dtype}",
        operand,
        layout,
        along_first=True if first else None,
        corner=(int(c or 0), int(s or 0)),
    )


def _copy_from(argument: str, layout: SharedLayout) -> LaneAccess:
    copy = parse_tiled_copy(argument, layout.element_bits)
    return tiled_copy_access(f"copy from: {copy.name}", copy, layout, stores=False)


def _copy_to(argument: str, layout: SharedLayout) -> LaneAccess:
    copy = parse_tiled_copy(argument, layout.element_bits)
    return tiled_copy_access(f"copy to: {copy.name}", copy, layout, stores=True)


def _coordinates(argument: str, _: SharedLayout) -> LaneAccess:
    parsed = _ACCESS.fullmatch(argument)
    if parsed is not None and LANE_NAME in parsed[2] and int(parsed[1]) in ACCESS_WIDTHS:
        return _expressed(argument, int(parsed[1]), parsed[2])
    entries = parsed[2].split(",") if parsed else []
    matches = [_COORDINATE.fullmatch(entry.strip()) for entry in entries]
    legal = all(match or entry.strip() == "-" for match, entry in zip(matches, entries, strict=True))
    if parsed is None or int(parsed[1]) not in ACCESS_WIDTHS or not legal or len(entries) > WARP_SIZE:
        raise BadInput(f"access must read {ACCESS_GRAMMAR}, got {argument!r}")
    coordinates = np.zeros((2, WARP_SIZE), dtype=np.int64)
    active = np.zeros(WARP_SIZE, dtype=np.bool_)
    for lane, match in enumerate(matches):
        if match:
            coordinates[:, lane] = int(match[1]), int(match[2])
            active[lane] = True
    run, row = coordinates
    return one_instruction(f"access {argument}", "load", int(parsed[1]), contiguous=run, strided=row, active=active)


def _expressed(argument: str, width: int, coordinates: str) -> LaneAccess:
    """Return the access of all lanes whose coordinates are two expressions of the lane."""
    expressions = coordinates.split(":")
    if len(expressions) != 2:
        raise BadInput(f"access must read {ACCESS_GRAMMAR}, got {argument!r}")
    found = []
    for which, expression in zip(("contiguous", "strided"), expressions, strict=True):
        try:
            found.append(lane_values(expression))
        except BadInput as error:
            raise BadInput(f"access, {which} coordinate {expression!r}: {error}") from error
    run, row = found
    return one_instruction(f"access {argument}", "load", width, contiguous=run, strided=row)


_PARSERS: dict[str, Callable[[str, SharedLayout], LaneAccess]] = {
    "store": _store,
    "load": _load,
    "cp-async": _cp_async,
    "ldmatrix": _ldmatrix,
    "stmatrix": _stmatrix,
    "lds": _lds,
    "sts": _sts,
    "copy-from": _copy_from,
    "copy-to": _copy_to,
    "access": _coordinates,
}
