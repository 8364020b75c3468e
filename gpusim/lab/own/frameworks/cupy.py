"""Kernels of CuPy's authors with launches as cupyx makes them, and answers; knows no CuPy."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Final

import numpy as np

from gpusim.lab.own.contents import OWN_SEED, exactly, output, uniform, zeros
from gpusim.lab.own.frameworks.trees import node_of_each, split_of_each, tree_of
from gpusim.lab.own.kernel import (
    Argument,
    ArrayArgument,
    Contents,
    Given,
    Limit,
    Oracle,
    OwnKernel,
    OwnLaunch,
    ScalarArgument,
    Stored,
)

_THREADS: Final = 128
_BLOCK: Final = 128
"""Samples of a block of the recursive filters."""


def _ctas(threads: int) -> tuple[int, int, int]:
    return (-(-threads // _THREADS), 1, 1)


def _ints(**values: int) -> dict[str, Argument]:
    return {name: ScalarArgument("int32", value) for name, value in values.items()}


def _floats(**values: float) -> dict[str, Argument]:
    return {name: ScalarArgument("float64", value) for name, value in values.items()}


def _normal(generator: np.random.Generator, shape: tuple[int, ...]) -> Stored:
    return generator.normal(size=shape)


def _array(dtype: str, *shape: int, contents: Contents = _normal) -> ArrayArgument:
    return ArrayArgument(dtype, shape, contents)


def _made(make: Callable[[], Stored]) -> Contents:
    """Return contents that are computed when they are needed."""
    return lambda _, shape: make().reshape(shape)


def _drawn(seed: int) -> np.random.Generator:
    return np.random.default_rng((OWN_SEED, 1000 + seed))


def _kernel(
    name: str,
    source: str,
    entry: str,
    bound: Limit,
    *,
    small: OwnLaunch,
    large: OwnLaunch,
    oracle: Oracle,
    tolerance: float = 0.0,
) -> OwnKernel:
    """Return a kernel whose machine code is that of CuPy's module ``source``."""
    return OwnKernel(
        name=f"cupy_{name}",
        source=source,
        entry=entry,
        bound=bound,
        small=small,
        large=large,
        oracle=oracle,
        tolerance=tolerance,
        needs=90,
        kept=f"cupy_{source}",
    )


def _resampled(x: Stored, taps: Stored, up: int, down: int) -> Stored:
    spread = np.zeros((len(x) - 1) * up + 1, x.dtype)
    spread[::up] = x
    filtered: Stored = np.convolve(spread, taps)[::down]
    return filtered


def _taps(stored: Stored, up: int) -> Stored:
    """Return the coefficients of a filter, which upfirdn stores phase by phase, each from the last to the first."""
    taps: Stored = stored.reshape(up, -1)[:, ::-1].T.ravel()
    return taps


def _upfirdn(n: int, ctas: int) -> OwnLaunch:
    """Return a launch on a vector, with 24 taps, between upsampling by 3 and downsampling by 2."""
    phase = 8
    across = ((n - 1) * 3 + 24 - 1) // 2 + 1
    return OwnLaunch(
        (ctas, 1, 1),
        (512, 1, 1),
        {
            "x": _array("float32", n),
            "x_stride": ScalarArgument("int64", 1),
            "taps": _array("float32", 24),
            **_ints(up=3, down=2, axis=0, x_shape=n, phase=phase, padded=n + phase - 1),
            "out": output("float32", across),
            **_ints(across=across),
        },
    )


def _upfirdn_rows(rows: int, n: int) -> OwnLaunch:
    """Return a launch on each row of a matrix, with 8 taps, after upsampling by 2."""
    phase = 4
    across = (n - 1) * 2 + 8
    return OwnLaunch(
        (-(-rows // 8), -(-across // 8), 1),
        (8, 8, 1),
        {
            "x": _array("float64", rows, n),
            **{name: ScalarArgument("int64", value) for name, value in (("along", 1), ("between", n))},
            "taps": _array("float64", 8),
            **_ints(up=2, down=1, axis=1, x_shape=n, phase=phase, padded=n + phase - 1),
            "out": output("float64", rows, across),
            **_ints(rows=rows, across=across),
        },
    )


def _upfirdned(given: Given) -> dict[str, Stored]:
    up, down = int(given["up"]), int(given["down"])
    taps = _taps(given["taps"].astype(np.float64), up)
    rows = np.atleast_2d(given["x"].astype(np.float64))
    return {"out": np.array([_resampled(row, taps, up, down) for row in rows])}


def _lombscargle(dtype: str, samples: int, frequencies: int) -> OwnLaunch:
    return OwnLaunch(
        _ctas(frequencies),
        (_THREADS, 1, 1),
        {
            **_ints(samples=samples, frequencies=frequencies),
            "x": _array(dtype, samples, contents=uniform(0, 20)),
            "y": _array(dtype, samples),
            "at": _array(dtype, frequencies, contents=_made(lambda: np.linspace(0.5, 6, frequencies))),
            "out": output(dtype, frequencies),
            "y_dot": _array(dtype, 1, contents=zeros),
        },
    )


def _periodogram(given: Given) -> dict[str, Stored]:
    x, y, at = (given[name].astype(np.float64) for name in ("x", "y", "at"))
    angles = np.outer(at, x)
    tau = np.arctan2(np.sin(2 * angles).sum(1), np.cos(2 * angles).sum(1)) / 2
    c, s = np.cos(angles - tau[:, None]), np.sin(angles - tau[:, None])
    return {"out": ((c @ y) ** 2 / (c**2).sum(1) + (s @ y) ** 2 / (s**2).sum(1)) / 2}


def _local_maxima(n: int) -> OwnLaunch:
    return OwnLaunch(
        _ctas(n - 2),
        (_THREADS, 1, 1),
        {
            **_ints(n=n),
            "x": _array("float64", n),
            **{name: output("int64", n - 2) for name in ("middle", "left", "right")},
        },
    )


def _maxima(given: Given) -> dict[str, Stored]:
    x = given["x"]
    at = np.where((x[1:-1] > x[:-2]) & (x[1:-1] > x[2:]), np.arange(1, len(x) - 1), -1)
    return {"middle": at, "left": at, "right": at}


@cache
def _noise(n: int) -> Stored:
    return _drawn(0).normal(size=n)


def _prominences(n: int, peaks: int, window: int) -> OwnLaunch:
    """Return a launch on the first peaks of noise, which has one in three samples."""

    def found() -> Stored:
        x = _noise(n)
        return np.flatnonzero((x[1:-1] > x[:-2]) & (x[1:-1] > x[2:]))[:peaks] + 1

    return OwnLaunch(
        _ctas(peaks),
        (_THREADS, 1, 1),
        {
            **_ints(n=n, count=peaks),
            "x": _array("float64", n, contents=_made(lambda: _noise(n))),
            "peaks": _array("int64", peaks, contents=_made(found)),
            "window": ScalarArgument("int64", window),
            "heights": output("float64", peaks),
            "left": output("int64", peaks),
            "right": output("int64", peaks),
        },
    )


def _stood_out(given: Given) -> dict[str, Stored]:
    """Return the heights: each peak over the higher of the two lowest samples before a higher one, left and right."""
    x, half = given["x"], int(given["window"]) // 2
    padded = np.pad(x, half, constant_values=np.inf)
    heights = []
    for peaks in np.array_split(given["peaks"], 1 + len(given["peaks"]) // 20000):
        top, bases = x[peaks], []
        for step in (-1, 1):
            beside = padded[peaks[:, None] + half + step * np.arange(1, half + 1)]
            behind = np.logical_or.accumulate(beside > top[:, None], axis=1)
            bases.append(np.minimum(np.where(behind, np.inf, beside).min(axis=1), top))
        heights.append(top - np.maximum(*bases))
    return {"heights": np.concatenate(heights)}


def _knots(count: int) -> Stored:
    """Return knots from 0 to 10 of cubic splines, the ends four times."""
    return np.concatenate([np.zeros(4), np.sort(_drawn(1).uniform(0, 10, count)), np.full(4, 10.0)])


def _interval(points: int, knots: int) -> OwnLaunch:
    return OwnLaunch(
        _ctas(points),
        (_THREADS, 1, 1),
        {
            "knots": _array("float64", knots + 8, contents=_made(lambda: _knots(knots))),
            "x": _array("float64", points, contents=uniform(0, 10)),
            "out": output("int64", points),
            **_ints(k=3, n=knots + 4),
            "extrapolate": ScalarArgument("bool", 0),
            **_ints(count=points),
        },
    )


def _intervals(given: Given) -> dict[str, Stored]:
    above = np.searchsorted(given["knots"], given["x"], side="right")
    return {"out": np.asarray(above) - 1}


def _bspline(points: int) -> OwnLaunch:
    knots = 20

    @cache
    def x() -> Stored:
        return _drawn(2).uniform(0, 10, points)

    return OwnLaunch(
        _ctas(points),
        (_THREADS, 1, 1),
        {
            "knots": _array("float64", knots + 8, contents=_made(lambda: _knots(knots))),
            "coefficients": _array("float64", knots + 4, 2),
            **_ints(k=3, derivative=0),
            "x": _array("float64", points, contents=_made(x)),
            "intervals": _array(
                "int64", points, contents=_made(lambda: np.searchsorted(_knots(knots), x(), side="right") - 1)
            ),
            "out": output("float64", points, 2),
            "work": _array("float64", points, 7, contents=zeros),
            **_ints(columns=2, mode=1, count=points),
        },
    )


def _basis(knots: Stored, i: int, k: int, x: Stored) -> Stored:
    """Return the B-spline of degree k on the knots from i on, by Cox and de Boor."""
    if k == 0:
        within: Stored = ((knots[i] <= x) & (x < knots[i + 1])).astype(np.float64)
        return within
    value = np.zeros_like(x)
    if knots[i + k] > knots[i]:
        value += (x - knots[i]) / (knots[i + k] - knots[i]) * _basis(knots, i, k - 1, x)
    if knots[i + k + 1] > knots[i + 1]:
        value += (knots[i + k + 1] - x) / (knots[i + k + 1] - knots[i + 1]) * _basis(knots, i + 1, k - 1, x)
    return value


def _spline(given: Given) -> dict[str, Stored]:
    out = np.zeros(given["out"].shape)
    for i, coefficients in enumerate(given["coefficients"]):
        inside = np.flatnonzero((given["x"] >= given["knots"][i]) & (given["x"] < given["knots"][i + 4]))
        out[inside] += np.outer(_basis(given["knots"], i, 3, given["x"][inside]), coefficients)
    return {"out": out}


_FACTORS: Final = (0.6, -0.3, 0.1)


def _corrections() -> Stored:
    """Return how each of three samples before a block continues in it, samples before and block."""
    order = len(_FACTORS)
    rows = np.hstack([np.eye(order)[::-1], np.zeros((order, _BLOCK))])
    for at in range(order, order + _BLOCK):
        rows[:, at] = sum(factor * rows[:, at - 1 - back] for back, factor in enumerate(_FACTORS))
    return rows


def _iir_first(rows: int, blocks: int) -> OwnLaunch:
    """Return a launch that filters each block by itself."""
    order = len(_FACTORS)
    return OwnLaunch(
        (rows * blocks, 1, 1),
        (_BLOCK // 2, 1, 1),
        {
            **_ints(block=_BLOCK, order=order, n=_BLOCK * blocks, blocks=blocks, stride=order * blocks),
            "corrections": _array("float64", order, order + _BLOCK, contents=_made(_corrections)),
            "out": _array("float64", rows, _BLOCK * blocks),
            "carries": output("float64", rows, blocks, order),
        },
    )


def _filtered_blocks(given: Given) -> dict[str, Stored]:
    y = given["out"].reshape(-1, _BLOCK).copy()
    for at in range(_BLOCK):
        for back, factor in enumerate(_FACTORS[:at]):
            y[:, at] += factor * y[:, at - 1 - back]
    return {"out": y.reshape(given["out"].shape), "carries": y[:, -len(_FACTORS) :].reshape(given["carries"].shape)}


def _iir_second(rows: int, blocks: int) -> OwnLaunch:
    """Return a launch that continues the samples before each block, but for a row's first, in it."""
    order = len(_FACTORS)
    return OwnLaunch(
        (rows * (blocks - 1), 1, 1),
        (_BLOCK, 1, 1),
        {
            **_ints(block=_BLOCK, order=order, n=_BLOCK * blocks, stride=order * blocks, blocks=blocks - 1, offset=1),
            "corrections": _array("float64", order, order + _BLOCK, contents=_made(_corrections)),
            "carries": _array("float64", rows, blocks, order),
            "out": _array("float64", rows, _BLOCK * blocks),
        },
    )


def _continued(given: Given) -> dict[str, Stored]:
    order = len(_FACTORS)
    before = given["carries"][:, :-1, ::-1]  # the last sample continues as the first row of the corrections
    out = given["out"].copy()
    out[:, _BLOCK:] += (before @ given["corrections"][:, order:]).reshape(len(out), -1)
    return {"out": out}


def _sections(rows: int, blocks: int) -> OwnLaunch:
    """Return a launch of the three coefficients in front of a section's recursion."""
    return OwnLaunch(
        (rows * blocks, 1, 1),
        (_BLOCK, 1, 1),
        {
            **_ints(block=_BLOCK, n=_BLOCK * blocks, stride=blocks * 2, blocks=blocks, offset=1),
            "section": _array("float64", 6),
            "carries": _array("float64", rows, blocks, 2),
            "out": _array("float64", rows, _BLOCK * blocks),
        },
    )


def _sections_of(given: Given) -> dict[str, Stored]:
    x = given["out"].reshape(*given["carries"].shape[:2], _BLOCK)
    before = np.roll(given["carries"], 1, axis=1)
    before[:, 0] = 0
    along = np.concatenate([before, x], axis=2)
    b = given["section"]
    y = b[0] * along[:, :, 2:] + b[1] * along[:, :, 1:-1] + b[2] * along[:, :, :-2]
    return {"out": y.reshape(given["out"].shape)}


def _update_tags(n: int, level: int) -> OwnLaunch:
    return OwnLaunch(
        _ctas(n),
        (_THREADS, 1, 1),
        {**_ints(n=n, level=level), "tags": _array("int64", n, contents=_made(lambda: node_of_each(n, level)))},
    )


def _split(given: Given) -> dict[str, Stored]:
    return {"tags": split_of_each(int(given["n"]), int(given["level"]))}


def _compute_bounds(levels: int) -> OwnLaunch:
    """Return a launch for the level over the last one of a full tree."""
    n, level = (1 << levels) - 1, levels - 2
    return OwnLaunch(
        _ctas(1 << level),
        (_THREADS, 1, 1),
        {
            **_ints(n=n, dims=3, level=level, nodes=1 << level),
            "tree": _array("float64", n, 3),
            "bounds": _array("float64", n, 3, 2),
        },
    )


def _bounds(given: Given) -> dict[str, Stored]:
    bounds, first, many = given["bounds"].copy(), int(given["nodes"]) - 1, int(given["nodes"])
    children = bounds[2 * first + 1 : 2 * (first + many) + 1].reshape(many, 2, 3, 2)
    bounds[first : first + many] = np.stack([children[..., 0].min(1), children[..., 1].max(1)], -1)
    return {"bounds": bounds}


def _tree(points: int) -> Mapping[str, Argument]:
    """Return the arrays of a k-d tree of random points."""

    @cache
    def made() -> tuple[Stored, Stored, Stored]:
        return tree_of(_drawn(3).uniform(size=(points, 3)))

    return {
        "tree": _array("float64", points, 3, contents=_made(lambda: made()[0])),
        "index": _array("int64", points, contents=_made(lambda: made()[1])),
        "box": _array("float64", 3, contents=zeros),
        "bounds": _array("float64", points, 3, 2, contents=_made(lambda: made()[2])),
    }


def _knn(points: int, queries: int, near: int) -> OwnLaunch:
    return OwnLaunch(
        _ctas(queries),
        (_THREADS, 1, 1),
        {
            **_ints(near=near, n=points, count=queries, dims=3),
            **_floats(eps=0, p=2, bound=np.inf),
            "queries": _array("float64", queries, 3, contents=uniform(0, 1)),
            **_tree(points),
            "distances": _array("float64", queries, near, contents=exactly(np.full((queries, near), np.inf))),
            "nodes": _array("int64", queries, near, contents=exactly(np.full((queries, near), points))),
        },
    )


def _squares(given: Given) -> Stored:
    """Return the squared distance of each query from each point, points in the order of their indices."""
    points = np.empty_like(given["tree"])
    points[given["index"]] = given["tree"]
    squares: Stored = sum(
        (given["queries"][:, None, axis] - points[None, :, axis]) ** 2 for axis in range(points.shape[1])
    )
    return squares


def _nearest(given: Given) -> dict[str, Stored]:
    squares, near = _squares(given), int(given["near"])
    some = np.argpartition(squares, near, axis=1)[:, :near]
    order = np.argsort(np.take_along_axis(squares, some, 1), axis=1)
    nodes = np.take_along_axis(some, order, 1)
    return {"nodes": nodes, "distances": np.take_along_axis(squares, nodes, 1)}


def _query_ball(points: int, queries: int, radius: float) -> OwnLaunch:
    return OwnLaunch(
        _ctas(queries),
        (_THREADS, 1, 1),
        {
            **_ints(n=points, count=queries, dims=3),
            **_floats(radius=radius, eps=0, p=2),
            **_ints(sort=1),
            "queries": _array("float64", queries, 3, contents=uniform(0, 1)),
            **_tree(points),
            "inside": output("int64", queries, points),
            "counts": output("int64", queries),
        },
    )


def _inside(given: Given) -> dict[str, Stored]:
    return {"counts": (_squares(given) <= float(given["radius"]) ** 2).sum(1)}


CUPY_KERNELS: Final = (
    _kernel(
        "upfirdn",
        "upfirdn",
        "_cupy_upfirdn1D_float32",
        "compute",
        small=_upfirdn(300, 1),
        large=_upfirdn(1 << 20, 2640),
        oracle=_upfirdned,
        tolerance=1e-5,
    ),
    _kernel(
        "upfirdn_rows",
        "upfirdn",
        "_cupy_upfirdn2D_float64",
        "memory",
        small=_upfirdn_rows(20, 31),
        large=_upfirdn_rows(1024, 512),
        oracle=_upfirdned,
        tolerance=1e-13,
    ),
    _kernel(
        "lombscargle",
        "lombscargle",
        "_cupy_lombscargle_float32",
        "compute",
        small=_lombscargle("float32", 40, 90),
        large=_lombscargle("float32", 256, 67584),
        oracle=_periodogram,
        tolerance=1e-3,
    ),
    _kernel(
        "lombscargle64",
        "lombscargle",
        "_cupy_lombscargle_float64",
        "compute",
        small=_lombscargle("float64", 20, 90),
        large=_lombscargle("float64", 128, 67584),
        oracle=_periodogram,
        tolerance=1e-10,
    ),
    _kernel(
        "local_maxima",
        "peaks",
        "_Z15local_maxima_1dIdEviPKT_PxS3_S3_",
        "memory",
        small=_local_maxima(500),
        large=_local_maxima(1 << 21),
        oracle=_maxima,
    ),
    _kernel(
        "peak_prominences",
        "peaks",
        "_Z16peak_prominencesIdEviiPKT_PKxxPS0_PxS6_",
        "latency",
        small=_prominences(900, 200, 64),
        large=_prominences(1 << 20, 300000, 128),
        oracle=_stood_out,
        tolerance=1e-15,
    ),
    _kernel(
        "find_interval",
        "interval",
        "find_interval",
        "latency",
        small=_interval(200, 20),
        large=_interval(1 << 21, 1000),
        oracle=_intervals,
    ),
    _kernel(
        "bspline",
        "bspline",
        "_Z6d_boorIdEvPKdPKT_iiS1_PKxPS2_Pdiii",
        "memory",
        small=_bspline(200),
        large=_bspline(1 << 19),
        oracle=_spline,
        tolerance=1e-12,
    ),
    _kernel(
        "iir_first",
        "iir",
        "_Z14first_pass_iirIdEviiiiiPKT_PS0_S3_",
        "compute",
        small=_iir_first(2, 3),
        large=_iir_first(32, 256),
        oracle=_filtered_blocks,
        tolerance=1e-12,
    ),
    _kernel(
        "iir_second",
        "iir",
        "_Z15second_pass_iirIdEviiiiiiPKT_PS0_S3_",
        "memory",
        small=_iir_second(2, 3),
        large=_iir_second(32, 1024),
        oracle=_continued,
        tolerance=1e-12,
    ),
    _kernel(
        "fir_sos",
        "sosfilt",
        "_Z7fir_sosIdEviiiiiPKT_PS0_S3_",
        "memory",
        small=_sections(2, 3),
        large=_sections(32, 1024),
        oracle=_sections_of,
        tolerance=1e-12,
    ),
    _kernel(
        "update_tags",
        "kdtree",
        "_Z11update_tagsiiPx",
        "memory",
        small=_update_tags(900, 3),
        large=_update_tags(3_000_000, 10),
        oracle=_split,
    ),
    _kernel(
        "compute_bounds",
        "kdtree",
        "_Z14compute_boundsIdEviiiiPKT_PS0_",
        "memory",
        small=_compute_bounds(9),
        large=_compute_bounds(20),
        oracle=_bounds,
    ),
    _kernel(
        "knn",
        "kdtree_query",
        "_Z3knnIdEviiiidddPKT_S2_PKxPKdS2_PdPx",
        "latency",
        small=_knn(30, 20, 4),
        large=_knn(500, 33792, 4),
        oracle=_nearest,
        tolerance=1e-14,
    ),
    _kernel(
        "query_ball",
        "kdtree_query",
        "_Z10query_ballIdEviiidddiPKT_S2_PKxPKdS2_PxS7_",
        "latency",
        small=_query_ball(30, 20, 0.3),
        large=_query_ball(250, 33792, 0.2),
        oracle=_inside,
    ),
)
"""Kernels of CuPy, compiled from its sources for sm_90."""
