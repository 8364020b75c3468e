"""Own kernels on neighbours in lines, planes and volumes: stencils, convolutions, the game of life."""

import numpy as np

from gpusim.lab.own.contents import integers, output, uniform, zeros
from gpusim.lab.own.kernel import (
    Argument,
    ArrayArgument,
    Given,
    OwnLaunch,
    ScalarArgument,
    Stored,
    named_alike,
)

_BINOMIAL = np.outer([1, 4, 6, 4, 1], [1, 4, 6, 4, 1]) / 256


def _line(n: int) -> OwnLaunch:
    return OwnLaunch(
        (-(-n // 256), 1, 1),
        (256, 1, 1),
        {
            "in": ArrayArgument("float32", (n,), uniform()),
            "out": output("float32", n),
            "n": ScalarArgument("int32", n),
        },
    )


def _weighted_line(given: Given) -> dict[str, Stored]:
    padded = np.pad(given["in"].astype(np.float64), 3)
    return {"out": np.sum([padded[k : k + given["n"]] / (1 + k) for k in range(7)], axis=0)}


def _plane(
    height: int, width: int, block: tuple[int, int] = (32, 8), dtype: str = "float32", *, filtered: bool = False
) -> OwnLaunch:
    """Return a launch on a plane, with a filter of 5 x 5 as its second argument or without."""
    drawn = integers(0, 2) if dtype == "uint8" else uniform()
    middle: dict[str, Argument] = {"filter": ArrayArgument("float32", (5, 5), uniform())} if filtered else {}
    return OwnLaunch(
        (-(-width // block[0]), -(-height // block[1]), 1),
        (*block, 1),
        {
            "in": ArrayArgument(dtype, (height, width), drawn),
            **middle,
            "out": output(dtype, height, width),
            "height": ScalarArgument("int32", height),
            "width": ScalarArgument("int32", width),
        },
    )


def _jacobi(given: Given) -> dict[str, Stored]:
    before = given["in"].astype(np.float64)
    out = before.copy()
    out[1:-1, 1:-1] = (before[1:-1, :-2] + before[1:-1, 2:] + before[:-2, 1:-1] + before[2:, 1:-1]) / 4
    return {"out": out}


def _convolved(given: Given) -> dict[str, Stored]:
    weights = given.get("filter", _BINOMIAL)
    height, width = given["in"].shape
    padded = np.pad(given["in"].astype(np.float64), 2)
    return {
        "out": sum(weights[dy, dx] * padded[dy : dy + height, dx : dx + width] for dy in range(5) for dx in range(5))
    }


def _next_generation(given: Given) -> dict[str, Stored]:
    cells = given["in"].astype(np.int64)
    around = [(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if (dy, dx) != (0, 0)]
    alive = sum(np.roll(cells, step, axis=(0, 1)) for step in around)
    return {"out": (alive == 3) | ((alive == 2) & (cells == 1))}


def _volume(depth: int, height: int, width: int) -> OwnLaunch:
    shape = (depth, height, width)
    return OwnLaunch(
        (-(-(width - 2) // 32), -(-(height - 2) // 4), 1),
        (32, 4, 1),
        {
            "in": ArrayArgument("float32", shape, uniform()),
            "out": ArrayArgument("float32", shape, zeros),
            "depth": ScalarArgument("int32", depth),
            "height": ScalarArgument("int32", height),
            "width": ScalarArgument("int32", width),
        },
    )


def _seven_points(given: Given) -> dict[str, Stored]:
    before = given["in"].astype(np.float64)
    inner = slice(1, -1)
    out = np.zeros_like(before)
    out[inner, inner, inner] = 0.4 * before[inner, inner, inner] + 0.1 * (
        before[:-2, inner, inner]
        + before[2:, inner, inner]
        + before[inner, :-2, inner]
        + before[inner, 2:, inner]
        + before[inner, inner, :-2]
        + before[inner, inner, 2:]
    )
    return {"out": out}


GRID_KERNELS = (
    named_alike(
        "stencil_line", "memory", small=_line(3000), large=_line(1 << 23), oracle=_weighted_line, tolerance=1e-5
    ),
    named_alike(
        "stencil_plane", "memory", small=_plane(40, 70), large=_plane(2048, 4096), oracle=_jacobi, tolerance=1e-5
    ),
    named_alike(
        "stencil_plane_shared", "memory", small=_plane(40, 70), large=_plane(2048, 4096), oracle=_jacobi, tolerance=1e-5
    ),
    named_alike(
        "stencil_volume",
        "memory",
        small=_volume(10, 14, 50),
        large=_volume(128, 256, 256),
        oracle=_seven_points,
        tolerance=1e-5,
    ),
    named_alike(
        "conv2d_naive",
        "compute",
        small=_plane(16, 40, filtered=True),
        large=_plane(1024, 2048, filtered=True),
        oracle=_convolved,
        tolerance=1e-5,
    ),
    named_alike(
        "conv2d_shared",
        "shared",
        small=_plane(40, 50, (16, 16)),
        large=_plane(2048, 2048, (16, 16)),
        oracle=_convolved,
        tolerance=1e-5,
    ),
    named_alike(
        "life",
        "compute",
        small=_plane(30, 50, dtype="uint8"),
        large=_plane(2048, 2048, dtype="uint8"),
        oracle=_next_generation,
    ),
)
"""Kernels on neighbours in a grid."""
