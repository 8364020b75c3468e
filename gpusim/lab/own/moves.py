"""Own kernels that move data: transposes, copies, gathers, and sums of vectors in three precisions."""

from collections.abc import Callable
from functools import partial

import numpy as np

from gpusim.lab.own.contents import integers, output, permutation, ring, uniform, zeros
from gpusim.lab.own.kernel import ArrayArgument, Given, Limit, OwnKernel, OwnLaunch, ScalarArgument, Stored, named_alike

_BLOCK = (256, 1, 1)


def _line(count: int, each: int = 256) -> tuple[int, int, int]:
    return (-(-count // each), 1, 1)


def _transpose(block: tuple[int, int, int], rows: int, columns: int, tile_rows: int = 32) -> OwnLaunch:
    return OwnLaunch(
        (-(-columns // 32), -(-rows // tile_rows), 1),
        block,
        {
            "in": ArrayArgument("float32", (rows, columns), uniform()),
            "out": output("float32", columns, rows),
            "rows": ScalarArgument("int32", rows),
            "columns": ScalarArgument("int32", columns),
        },
    )


def _transposed(given: Given) -> dict[str, Stored]:
    return {"out": given["in"].T}


def _transposes() -> tuple[OwnKernel, ...]:
    launches: dict[str, tuple[Limit, Callable[[int, int], OwnLaunch]]] = {
        "transpose_naive": ("memory", partial(_transpose, (32, 8, 1), tile_rows=8)),
        "transpose_tile": ("shared", partial(_transpose, (32, 8, 1))),
        "transpose_padded": ("memory", partial(_transpose, (32, 8, 1))),
        "transpose_swizzled": ("memory", partial(_transpose, (32, 8, 1))),
        "transpose_float4": ("memory", partial(_transpose, (256, 1, 1))),
    }
    return tuple(
        named_alike(
            name,
            bound,
            small=launch(64, 96) if name == "transpose_float4" else launch(50, 91),
            large=launch(4096, 2048),
            oracle=_transposed,
        )
        for name, (bound, launch) in launches.items()
    )


def _saxpy(n: int) -> OwnLaunch:
    return OwnLaunch(
        _line(n),
        _BLOCK,
        {
            "x": ArrayArgument("float32", (n,), uniform()),
            "y": ArrayArgument("float32", (n,), uniform()),
            "a": ScalarArgument("float32", 1.25),
            "n": ScalarArgument("int32", n),
        },
    )


def _axpy(given: Given) -> dict[str, Stored]:
    return {"y": np.float64(given["a"]) * given["x"].astype(np.float64) + given["y"].astype(np.float64)}


def _daxpy(vectors: int) -> OwnLaunch:
    return OwnLaunch(
        _line(vectors),
        _BLOCK,
        {
            "x": ArrayArgument("float64", (2 * vectors,), uniform()),
            "y": ArrayArgument("float64", (2 * vectors,), uniform()),
            "a": ScalarArgument("float64", 0.7),
            "vectors": ScalarArgument("int32", vectors),
        },
    )


def _haxpy(vectors: int) -> OwnLaunch:
    return OwnLaunch(
        _line(vectors),
        _BLOCK,
        {
            "x": ArrayArgument("float16", (8 * vectors,), uniform()),
            "y": ArrayArgument("float16", (8 * vectors,), uniform()),
            "a": ScalarArgument("float32", 0.75),
            "vectors": ScalarArgument("int32", vectors),
        },
    )


def _half_axpy(given: Given) -> dict[str, Stored]:
    return {"y": _axpy(given)["y"].astype(np.float16)}


def _copy(vectors: int, ctas: int) -> OwnLaunch:
    return OwnLaunch(
        (ctas, 1, 1),
        _BLOCK,
        {
            "in": ArrayArgument("float32", (4 * vectors,), uniform()),
            "out": output("float32", 4 * vectors),
            "vectors": ScalarArgument("int32", vectors),
        },
    )


def _copied(given: Given) -> dict[str, Stored]:
    return {"out": given["in"]}


def _strided(n: int, stride: int) -> OwnLaunch:
    return OwnLaunch(
        _line(n),
        _BLOCK,
        {
            "in": ArrayArgument("float32", (n * stride,), uniform()),
            "out": output("float32", n),
            "n": ScalarArgument("int32", n),
            "stride": ScalarArgument("int32", stride),
        },
    )


def _every(given: Given) -> dict[str, Stored]:
    return {"out": given["in"][:: given["stride"]]}


def _indexed(n: int, *, permuted: bool) -> OwnLaunch:
    return OwnLaunch(
        _line(n),
        _BLOCK,
        {
            "in": ArrayArgument("float32", (n,), uniform()),
            "index": ArrayArgument("int32", (n,), permutation if permuted else integers(0, n)),
            "out": output("float32", n),
            "n": ScalarArgument("int32", n),
        },
    )


def _gathered(given: Given) -> dict[str, Stored]:
    return {"out": given["in"][given["index"]]}


def _scattered(given: Given) -> dict[str, Stored]:
    out = np.empty_like(given["in"])
    out[given["index"]] = given["in"]
    return {"out": out}


def _chase(warps: int, elements: int, steps: int) -> OwnLaunch:
    return OwnLaunch(
        (warps, 1, 1),
        (32, 1, 1),
        {
            "next": ArrayArgument("int32", (elements,), ring),
            "out": output("int32", warps),
            "steps": ScalarArgument("int32", steps),
        },
    )


def _chased(given: Given) -> dict[str, Stored]:
    at = np.arange(len(given["out"])) * 97
    for _ in range(given["steps"]):
        at = given["next"][at]
    return {"out": at}


def _embedding(count: int, words: int, columns: int) -> OwnLaunch:
    return OwnLaunch(
        _line(count, 8),
        _BLOCK,
        {
            "tokens": ArrayArgument("int32", (count,), integers(-1, words)),
            "table": ArrayArgument("float32", (words, columns), uniform()),
            "out": output("float32", count, columns),
            "count": ScalarArgument("int32", count),
            "vectors": ScalarArgument("int32", columns // 4),
        },
    )


def _looked_up(given: Given) -> dict[str, Stored]:
    tokens = given["tokens"]
    return {"out": np.where(tokens[:, None] < 0, np.float32(0), given["table"][tokens])}


def _volume(depth: int, height: int, width: int) -> OwnLaunch:
    return OwnLaunch(
        (-(-width // 16), -(-height // 4), -(-depth // 2)),
        (16, 4, 2),
        {
            "in": ArrayArgument("float32", (2 * depth, 2 * height, 2 * width), uniform()),
            "out": output("float32", depth, height, width),
            "depth": ScalarArgument("int32", depth),
            "height": ScalarArgument("int32", height),
            "width": ScalarArgument("int32", width),
        },
    )


def _halved(given: Given) -> dict[str, Stored]:
    depth, height, width = given["out"].shape
    return {"out": given["in"].astype(np.float64).reshape(depth, 2, height, 2, width, 2).mean(axis=(1, 3, 5))}


def _through_pointers(n: int) -> OwnLaunch:
    return OwnLaunch(
        _line(n),
        _BLOCK,
        {
            "in": ArrayArgument("float32", (n,), uniform()),
            "out": ArrayArgument("float32", (n,), zeros),
            "n": ScalarArgument("int32", n),
        },
    )


def _followed(given: Given) -> dict[str, Stored]:
    n, values = int(given["n"]), given["in"].astype(np.float64)
    out = np.zeros(n)
    thread = np.arange(n - 8) % 256
    for i in range(7):
        out[:-8] = np.where(i < 4 + thread % 4, out[:-8] * 0.5 + values[i : n - 8 + i], out[:-8])
    out[:-8] *= np.where(thread % 64 < 40, 2, 1)  # what lies in shared memory is doubled
    return {"out": out}


MOVE_KERNELS = (
    named_alike(
        "generic_pointer",
        "latency",
        small=_through_pointers(2000),
        large=_through_pointers(1 << 22),
        oracle=_followed,
        tolerance=1e-6,
    ),
    *_transposes(),
    named_alike("saxpy", "memory", small=_saxpy(5000), large=_saxpy(1 << 23), oracle=_axpy, tolerance=1e-6),
    named_alike("daxpy", "memory", small=_daxpy(2000), large=_daxpy(1 << 21), oracle=_axpy, tolerance=1e-15),
    named_alike("haxpy", "memory", small=_haxpy(2000), large=_haxpy(1 << 21), oracle=_half_axpy),
    named_alike(
        "copy_float4",
        "memory",
        small=_copy(3000, 5),
        large=_copy(1 << 22, 1056),
        oracle=_copied,
    ),
    *(
        OwnKernel(
            f"copy_stride_{stride}",
            "copy_strided",
            "copy_strided",
            "memory",
            small=_strided(3000, stride),
            large=_strided((1 << 25) // stride, stride),
            oracle=_every,
        )
        for stride in (2, 8, 32)
    ),
    named_alike(
        "gather",
        "memory",
        small=_indexed(4000, permuted=False),
        large=_indexed(1 << 22, permuted=False),
        oracle=_gathered,
    ),
    named_alike(
        "scatter",
        "memory",
        small=_indexed(4000, permuted=True),
        large=_indexed(1 << 22, permuted=True),
        oracle=_scattered,
    ),
    named_alike(
        "pointer_chase",
        "latency",
        small=_chase(4, 4096, 50),
        large=_chase(8, 1 << 22, 200),
        oracle=_chased,
    ),
    named_alike(
        "embedding",
        "memory",
        small=_embedding(60, 100, 256),
        large=_embedding(16384, 32000, 1024),
        oracle=_looked_up,
    ),
    named_alike(
        "grid_3d",
        "memory",
        small=_volume(5, 9, 33),
        large=_volume(128, 128, 256),
        oracle=_halved,
        tolerance=1e-6,
    ),
)
"""Kernels that move data."""
