"""Own kernels that reduce, scan, count and select: reductions in six steps, prefix sums, histograms, argmax."""

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gpusim.lab.own.contents import exactly, integers, output, uniform, zeros
from gpusim.lab.own.kernel import (
    Argument,
    ArrayArgument,
    Given,
    Limit,
    OwnKernel,
    OwnLaunch,
    ScalarArgument,
    Stored,
    named_alike,
)

_BLOCK = (256, 1, 1)


def _padded(values: Stored, each: int) -> Stored:
    """Return values as rows of ``each``, the last one filled with zeros."""
    rows = np.zeros((-(-len(values) // each), each), values.dtype)
    rows.reshape(-1)[: len(values)] = values
    return rows


class _Reduction(NamedTuple):
    """A step of the series: elements of a CTA, 0 for a loop over the grid, and what limits it."""

    elements: int
    bound: Limit


_REDUCTIONS = {
    "reduce_divergent": _Reduction(256, "compute"),
    "reduce_strided": _Reduction(256, "shared"),
    "reduce_sequential": _Reduction(256, "shared"),
    "reduce_first_add": _Reduction(512, "shared"),
    "reduce_shuffle": _Reduction(512, "memory"),
    "reduce_grid_stride": _Reduction(0, "memory"),
}


def _reduce(dtype: str, n: int, elements: int, ctas: int) -> OwnLaunch:
    drawn = integers(-1000, 1000) if dtype == "int32" else uniform(0, 1)
    out = output(dtype, ctas) if elements else ArrayArgument(dtype, (1,), zeros)
    arguments: Mapping[str, Argument] = {
        "in": ArrayArgument(dtype, (n,), drawn),
        "out": out,
        "n": ScalarArgument("int32", n),
    }
    return OwnLaunch((ctas, 1, 1), _BLOCK, arguments)


def _sums(given: Given, elements: int) -> dict[str, Stored]:
    values = given["in"].astype(np.int64 if given["in"].dtype.kind == "i" else np.float64)
    return {"out": _padded(values, elements).sum(axis=1) if elements else values.sum(keepdims=True)}


def _reductions() -> tuple[OwnKernel, ...]:
    return tuple(
        OwnKernel(
            f"{source}_{number}",
            source,
            f"{source}_{number}",
            step.bound,
            small=_reduce(dtype, 2000, step.elements, -(-2000 // step.elements) if step.elements else 3),
            large=_reduce(dtype, 1 << 23, step.elements, (1 << 23) // step.elements if step.elements else 1056),
            oracle=partial(_sums, elements=step.elements),
            tolerance=0.0 if number == "int" else 1e-5 if step.elements else 1e-4,
        )
        for source, step in _REDUCTIONS.items()
        for number, dtype in (("int", "int32"), ("float", "float32"))
    )


def _scan(elements: int, n: int) -> OwnLaunch:
    return OwnLaunch(
        (-(-n // elements), 1, 1),
        _BLOCK,
        {
            "in": ArrayArgument("int32", (n,), integers(-100, 100)),
            "out": output("int32", n),
            "n": ScalarArgument("int32", n),
        },
    )


def _scanned(given: Given, elements: int, *, inclusive: bool) -> dict[str, Stored]:
    rows = _padded(given["in"], elements)
    summed = np.cumsum(rows, axis=1)
    return {"out": (summed if inclusive else summed - rows).reshape(-1)[: len(given["in"])]}


def _scans() -> tuple[OwnKernel, ...]:
    scans: dict[str, tuple[int, Limit]] = {
        "scan_hillis_steele": (256, "shared"),
        "scan_blelloch": (512, "shared"),
        "scan_shuffle": (256, "memory"),
    }
    return tuple(
        named_alike(
            name,
            bound,
            small=_scan(elements, 1500),
            large=_scan(elements, 1 << 22),
            oracle=partial(_scanned, elements=elements, inclusive=name != "scan_blelloch"),
        )
        for name, (elements, bound) in scans.items()
    )


def _histogram(dtype: str, n: int, ctas: int, bins: int = 256) -> OwnLaunch:
    """Return a launch on ``n`` bytes, or on words of four of them, or on numbers of bins."""
    drawn = integers(0, 1 << 32) if dtype == "uint32" else integers(0, bins)
    return OwnLaunch(
        (ctas, 1, 1),
        _BLOCK,
        {
            "in": ArrayArgument(dtype, (n,), drawn),
            "bins": ArrayArgument("uint32", (bins,), zeros),
            "n": ScalarArgument("int32", n),
        },
    )


def _counted(given: Given) -> dict[str, Stored]:
    numbers = given["in"].view(np.uint8) if given["in"].dtype == np.uint32 else given["in"]
    return {"bins": np.bincount(numbers, minlength=len(given["bins"]))}


def _argmax(rows: int, columns: int) -> OwnLaunch:
    return OwnLaunch(
        (-(-rows // 8), 1, 1),
        _BLOCK,
        {
            "in": ArrayArgument("float32", (rows, columns), integers(-500, 500)),
            "out": output("int32", rows),
            "rows": ScalarArgument("int32", rows),
            "columns": ScalarArgument("int32", columns),
        },
    )


def _first_largest(given: Given) -> dict[str, Stored]:
    return {"out": given["in"].argmax(axis=1)}


def _compact(n: int) -> OwnLaunch:
    ctas = -(-n // 256)
    return OwnLaunch(
        (ctas, 1, 1),
        _BLOCK,
        {
            "in": ArrayArgument("int32", (n,), integers(-50, 50)),
            "out": ArrayArgument("int32", (ctas * 256,), zeros),
            "counts": output("int32", ctas),
            "n": ScalarArgument("int32", n),
        },
    )


def _kept(given: Given) -> dict[str, Stored]:
    rows = _padded(given["in"], 256)
    kept = rows > 0
    row, column = np.nonzero(kept)
    out = np.zeros_like(rows)
    out[row, (np.cumsum(kept, axis=1) - 1)[row, column]] = rows[kept]
    return {"out": out.reshape(-1), "counts": kept.sum(axis=1)}


def _single_bits(generator: np.random.Generator, shape: tuple[int, ...]) -> Stored:
    return np.left_shift(1, generator.integers(0, 25, shape))


def _redux(n: int) -> OwnLaunch:
    return OwnLaunch(
        (-(-n // 256), 1, 1),
        _BLOCK,
        {
            "in": ArrayArgument("int32", (n,), _single_bits),
            "sums": output("int32", n // 32),
            "largest": output("int32", n // 32),
            "bits": output("uint32", n // 32),
            "n": ScalarArgument("int32", n),
        },
    )


def _of_warps(given: Given) -> dict[str, Stored]:
    rows = given["in"].reshape(-1, 32)
    bits = np.bitwise_or.reduce(rows, axis=1).view(np.uint32)
    return {"sums": rows.sum(axis=1), "largest": rows.max(axis=1), "bits": bits}


def _named(blocks: int, ctas: int) -> OwnLaunch:
    return OwnLaunch(
        (ctas, 1, 1),
        (128, 1, 1),
        {
            "in": ArrayArgument("int32", (ctas, blocks, 128), integers(-1000, 1000)),
            "out": output("int32", ctas, 64),
            "blocks": ScalarArgument("int32", blocks),
        },
        shared_bytes=2 * 128 * 4,
    )


def _differences(given: Given) -> dict[str, Stored]:
    values = given["in"]
    return {"out": (values[:, :, 0::2] - 3 * values[:, :, 1::2]).sum(axis=1)}


def _kinds(n: int) -> OwnLaunch:
    def each(dtype: str, value: int) -> ArrayArgument:
        return ArrayArgument(dtype, (32,), exactly(np.full(32, value)))

    return OwnLaunch(
        (-(-n // 256), 1, 1),
        _BLOCK,
        {
            "in": ArrayArgument("int32", (n,), integers(-(1 << 20), 1 << 20)),
            "smallest": each("int32", (1 << 31) - 1),
            "largest": each("int32", -(1 << 31)),
            "bits": each("uint32", 0),
            "common": each("uint32", (1 << 32) - 1),
            "parity": each("uint32", 0),
            "n": ScalarArgument("int32", n),
        },
    )


def _of_groups(given: Given) -> dict[str, Stored]:
    group, bits = given["in"] >> 8 & 31, given["in"].view(np.uint32)
    joins: dict[str, Any] = {"smallest": np.minimum, "largest": np.maximum, "bits": np.bitwise_or}
    joins |= {"common": np.bitwise_and, "parity": np.bitwise_xor}
    found = {name: given[name].copy() for name in joins}
    for name, join in joins.items():
        join.at(found[name], group, given["in"] if found[name].dtype == np.int32 else bits)
    return found


def _teams(ctas: int) -> OwnLaunch:
    return OwnLaunch(
        (ctas, 1, 1),
        _BLOCK,
        {
            "in": ArrayArgument("int32", (ctas, 256), integers(-1000, 1000)),
            "sums": output("int32", ctas),
            "largest": output("int32", ctas),
        },
    )


def _of_teams(given: Given) -> dict[str, Stored]:
    return {"sums": given["in"].sum(axis=1), "largest": given["in"].max(axis=1)}


SUM_KERNELS = (
    named_alike("atomic_kinds", "latency", small=_kinds(2000), large=_kinds(1 << 18), oracle=_of_groups),
    *_reductions(),
    *_scans(),
    named_alike(
        "histogram_global",
        "latency",
        small=_histogram("uint8", 3000, 12),
        large=_histogram("uint8", 1 << 22, 1 << 14),
        oracle=_counted,
    ),
    named_alike(
        "histogram_shared",
        "shared",
        small=_histogram("uint8", 3000, 4),
        large=_histogram("uint8", 1 << 23, 1056),
        oracle=_counted,
    ),
    named_alike(
        "histogram_private",
        "shared",
        small=_histogram("uint32", 1500, 3),
        large=_histogram("uint32", 1 << 22, 528),
        oracle=_counted,
    ),
    named_alike(
        "histogram_matched",
        "latency",
        small=_histogram("int32", 2048, 8, 24),
        large=_histogram("int32", 1 << 20, 1 << 12, 24),
        oracle=_counted,
    ),
    named_alike("argmax_rows", "memory", small=_argmax(30, 300), large=_argmax(16384, 1024), oracle=_first_largest),
    named_alike("compact", "memory", small=_compact(3000), large=_compact(1 << 22), oracle=_kept),
    named_alike("reduce_redux", "memory", small=_redux(3008), large=_redux(1 << 23), oracle=_of_warps, needs=80),
    named_alike("named_barriers", "latency", small=_named(5, 3), large=_named(64, 1056), oracle=_differences),
    named_alike("teams", "latency", small=_teams(4), large=_teams(8192), oracle=_of_teams),
)
"""Kernels that reduce, scan, count and select."""
