"""Own kernels whose path depends on data: sparse rows, sorts, an interpreter, escapes, distances of sequences."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from gpusim.lab.own.contents import any_bits, exactly, integers, output, uniform, zeros
from gpusim.lab.own.kernel import ArrayArgument, Given, OwnLaunch, ScalarArgument, Stored, named_alike

_BLOCK = (256, 1, 1)

_U32 = 0xFFFFFFFF


def _sparse(rows: int, threads_per_row: int) -> OwnLaunch:
    """Return a launch on a sparse matrix whose rows have 1 to 37 elements."""
    offsets = np.concatenate([[0], np.cumsum(np.arange(rows) * 13 % 37 + 1)])
    elements = int(offsets[-1])
    return OwnLaunch(
        (-(-rows * threads_per_row // 256), 1, 1),
        _BLOCK,
        {
            "first": ArrayArgument("int32", (rows + 1,), exactly(offsets)),
            "columns": ArrayArgument("int32", (elements,), integers(0, rows)),
            "values": ArrayArgument("float32", (elements,), uniform()),
            "x": ArrayArgument("float32", (rows,), uniform()),
            "y": output("float32", rows),
            "rows": ScalarArgument("int32", rows),
        },
    )


def _sparse_product(given: Given) -> dict[str, Stored]:
    products = given["values"].astype(np.float64) * given["x"][given["columns"]]
    return {"y": np.add.reduceat(products, given["first"][:-1])}


def _sort(blocks: int) -> OwnLaunch:
    return OwnLaunch(
        (blocks, 1, 1),
        _BLOCK,
        {"in": ArrayArgument("uint32", (blocks, 512), any_bits), "out": output("uint32", blocks, 512)},
    )


def _sorted(given: Given) -> dict[str, Stored]:
    return {"out": np.sort(given["in"], axis=1)}


def _medians(n: int) -> OwnLaunch:
    return OwnLaunch(
        (-(-n // 128), 1, 1),
        (128, 1, 1),
        {
            "in": ArrayArgument("int32", (15, n), integers(-1000, 1000)),
            "out": output("int32", n),
            "n": ScalarArgument("int32", n),
        },
    )


def _medians_of_columns(given: Given) -> dict[str, Stored]:
    return {"out": np.sort(given["in"], axis=0)[7]}


def _plane(width: int, height: int, most: int) -> OwnLaunch:
    return OwnLaunch(
        (-(-width // 16), -(-height // 16), 1),
        (16, 16, 1),
        {
            "out": output("int32", height, width),
            "width": ScalarArgument("int32", width),
            "height": ScalarArgument("int32", height),
            "most": ScalarArgument("int32", most),
        },
    )


def _escapes(given: Given) -> dict[str, Stored]:
    width, height, single = int(given["width"]), int(given["height"]), np.float32
    cx = np.arange(width, dtype=single) * (single(3) / single(width)) + single(-2)
    cy = np.arange(height, dtype=single) * (single(2) / single(height)) + single(-1)
    cx, cy = (part.reshape(-1) for part in np.meshgrid(cx, cy))
    x, y, at = np.zeros_like(cx), np.zeros_like(cy), np.arange(cx.size)
    count = np.zeros(cx.size, np.int32)
    for _ in range(given["most"]):
        xx, yy = x * x, y * y
        inside = ~(xx + yy > single(4))
        x, y, xx, yy, cx, cy, at = (part[inside] for part in (x, y, xx, yy, cx, cy, at))
        xy = x * y
        x, y = xx + -yy + cx, xy + xy + cy
        count[at] += 1
    return {"out": count.reshape(height, width)}


def _interpreted(length: int, n: int) -> OwnLaunch:
    numbers = np.random.default_rng(length)
    programs = np.stack([numbers.integers(0, most, (4, length)) for most in (16, 1 << 20)], axis=-1)
    return OwnLaunch(
        (-(-n // 128), 1, 1),
        (128, 1, 1),
        {
            "programs": ArrayArgument("int32", (4, length, 2), exactly(programs)),
            "in": ArrayArgument("uint32", (n,), any_bits),
            "out": output("uint32", n),
            "length": ScalarArgument("int32", length),
            "n": ScalarArgument("int32", n),
        },
    )


def _reversed_bits(values: Stored) -> Stored:
    result = np.zeros_like(values)
    for bit in range(32):
        result |= (values >> bit & 1) << (31 - bit)
    return result


class _Interpreter(NamedTuple):
    """What an instruction sees: its operand, and the two registers of every thread as 64-bit integers below 2^32."""

    operand: int
    value: Stored
    other: Stored


def _squared(at: _Interpreter) -> Stored:
    whole = at.value.astype(np.uint64)
    return (whole * whole & np.uint64(_U32)).astype(np.int64) + at.other


_OPERATIONS: tuple[Callable[[_Interpreter], tuple[Stored, Stored]], ...] = (
    lambda at: (at.value + at.operand, at.other),
    lambda at: (at.value - at.operand, at.other),
    lambda at: (at.value * (at.operand | 1), at.other),
    lambda at: (at.value ^ at.operand, at.other),
    lambda at: (at.value << (at.operand & 31), at.other),
    lambda at: (at.value >> (at.operand & 31), at.other),
    lambda at: (~at.value, at.other),
    lambda at: (_squared(at), at.other),
    lambda at: (at.value, at.value),
    lambda at: (at.value + at.other, at.other),
    lambda at: (np.where(at.value > at.other, at.value - at.other, at.other), at.other),
    lambda at: (_reversed_bits(at.value), at.other),
    lambda at: (np.bitwise_count(at.value).astype(np.int64) + at.operand, at.other),
    lambda at: (at.value, at.other * 1664525 + 1013904223),
    lambda at: (at.value // (at.operand | 1), at.other),
    lambda at: (at.value ^ at.value >> 15, at.other + 1),
)
"""The interpreter's operations by number: both registers after one, to be cut to 32 bits."""


def _interpret(given: Given) -> dict[str, Stored]:
    out = np.empty(len(given["in"]), np.int64)
    which = np.arange(len(out)) // 8 % 4
    for number, program in enumerate(given["programs"].tolist()):
        mine = which == number
        value = given["in"][mine].astype(np.int64)
        other = np.ones_like(value)
        for operation, operand in program:
            value, other = _OPERATIONS[operation](_Interpreter(operand, value, other))
            value, other = value & _U32, other & _U32
        out[mine] = value ^ other
    return {"out": out.astype(np.uint32)}


def _groups(n: int) -> OwnLaunch:
    return OwnLaunch(
        (-(-n // 256), 1, 1),
        _BLOCK,
        {
            "in": ArrayArgument("float32", (n,), uniform(0, 1000)),
            "largest": ArrayArgument("uint32", (64,), zeros),
            "n": ScalarArgument("int32", n),
        },
    )


def _largest_of_groups(given: Given) -> dict[str, Stored]:
    largest = np.zeros(64, np.float32)
    np.maximum.at(largest, np.arange(given["n"]) // 32 % 64, given["in"])
    return {"largest": largest.view(np.uint32)}


def _pairs(count: int) -> OwnLaunch:
    letters = ArrayArgument("uint8", (count, 64), integers(0, 4))
    return OwnLaunch(
        (count, 1, 1), (64, 1, 1), {"first": letters, "second": letters, "distances": output("int32", count)}
    )


def _edit_distances(given: Given) -> dict[str, Stored]:
    first, second = given["first"], given["second"]
    pairs, letters = first.shape
    row = np.tile(np.arange(letters + 1), (pairs, 1))
    for i in range(letters):
        following = np.empty_like(row)
        following[:, 0] = i + 1
        replaced = row[:, :-1] + (first[:, i : i + 1] != second)
        for j in range(letters):
            removed = np.minimum(row[:, j + 1], following[:, j]) + 1
            following[:, j + 1] = np.minimum(replaced[:, j], removed)
        row = following
    return {"distances": row[:, -1]}


def _text(lines: int) -> OwnLaunch:
    return OwnLaunch(
        (-(-lines // 64), 1, 1),
        (64, 1, 1),
        {
            "text": ArrayArgument("int8", (lines, 64), integers(28, 45)),
            "counts": output("uint16", lines),
            "lines": ScalarArgument("int32", lines),
        },
    )


def _words(given: Given) -> dict[str, Stored]:
    letters = given["text"] > ord(" ")
    before = np.pad(letters, ((0, 0), (1, 0)))[:, :-1]
    return {"counts": (letters & ~before).sum(axis=1)}


DATA_DRIVEN_KERNELS = (
    named_alike(
        "spmv_scalar",
        "memory",
        small=_sparse(300, 1),
        large=_sparse(1 << 17, 1),
        oracle=_sparse_product,
        tolerance=1e-5,
    ),
    named_alike(
        "spmv_vector",
        "memory",
        small=_sparse(300, 32),
        large=_sparse(1 << 17, 32),
        oracle=_sparse_product,
        tolerance=1e-5,
    ),
    named_alike("bitonic_sort", "shared", small=_sort(1), large=_sort(2048), oracle=_sorted),
    named_alike(
        "local_sort",
        "latency",
        small=_medians(200),
        large=_medians(1 << 17),
        oracle=_medians_of_columns,
    ),
    named_alike(
        "mandelbrot",
        "compute",
        small=_plane(40, 30, 60),
        large=_plane(1024, 768, 256),
        oracle=_escapes,
    ),
    named_alike(
        "interpreter",
        "latency",
        small=_interpreted(40, 300),
        large=_interpreted(96, 1 << 17),
        oracle=_interpret,
    ),
    named_alike(
        "atomic_max_float",
        "latency",
        small=_groups(3000),
        large=_groups(1 << 20),
        oracle=_largest_of_groups,
    ),
    named_alike(
        "align_sequences",
        "latency",
        small=_pairs(1),
        large=_pairs(4096),
        oracle=_edit_distances,
    ),
    named_alike(
        "count_words",
        "latency",
        small=_text(100),
        large=_text(1 << 17),
        oracle=_words,
    ),
)
"""Kernels whose path depends on data."""
