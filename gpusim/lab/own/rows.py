"""Own kernels that normalise each row of a matrix: softmax in three ways, layer and root-mean-square normalisation."""

import numpy as np

from gpusim.lab.own.contents import output, uniform
from gpusim.lab.own.kernel import (
    Argument,
    ArrayArgument,
    Given,
    OwnLaunch,
    ScalarArgument,
    Stored,
    named_alike,
)


def _softmax(rows: int, columns: int, ctas: int, threads: int, extents: str) -> OwnLaunch:
    """Return a launch whose scalars are the extents named, "rows columns" or one of them."""
    values = {"rows": rows, "columns": columns}
    scalars: dict[str, Argument] = {name: ScalarArgument("int32", values[name]) for name in extents.split()}
    return OwnLaunch(
        (ctas, 1, 1),
        (threads, 1, 1),
        {
            "in": ArrayArgument("float32", (rows, columns), uniform(-4, 4)),
            "out": output("float32", rows, columns),
            **scalars,
        },
    )


def _softmax_of_rows(given: Given) -> dict[str, Stored]:
    values = given["in"].astype(np.float64)
    powers = np.exp(values - values.max(axis=1, keepdims=True))
    return {"out": powers / powers.sum(axis=1, keepdims=True)}


def _layernorm(rows: int, columns: int) -> OwnLaunch:
    return OwnLaunch(
        (rows, 1, 1),
        (256, 1, 1),
        {
            "in": ArrayArgument("float32", (rows, columns), uniform(-1, 3)),
            "scale": ArrayArgument("float32", (columns,), uniform(0.5, 1.5)),
            "shift": ArrayArgument("float32", (columns,), uniform()),
            "out": output("float32", rows, columns),
            "columns": ScalarArgument("int32", columns),
        },
    )


def _layer_normalised(given: Given) -> dict[str, Stored]:
    values = given["in"].astype(np.float64)
    about = values - values.mean(axis=1, keepdims=True)
    inverse = 1 / np.sqrt((about**2).mean(axis=1, keepdims=True) + 1e-5)
    return {"out": about * inverse * given["scale"] + given["shift"]}


def _rmsnorm(rows: int, columns: int) -> OwnLaunch:
    return OwnLaunch(
        (-(-rows // 4), 1, 1),
        (128, 1, 1),
        {
            "in": ArrayArgument("float32", (rows, columns), uniform()),
            "scale": ArrayArgument("float32", (columns,), uniform(0.5, 1.5)),
            "out": output("float32", rows, columns),
            "rows": ScalarArgument("int32", rows),
            "columns": ScalarArgument("int32", columns),
        },
    )


def _root_mean_square_normalised(given: Given) -> dict[str, Stored]:
    values = given["in"].astype(np.float64)
    return {"out": values / np.sqrt((values**2).mean(axis=1, keepdims=True) + 1e-6) * given["scale"]}


def _quantised(rows: int) -> OwnLaunch:
    return OwnLaunch(
        (-(-rows // 8), 1, 1),
        (256, 1, 1),
        {
            "in": ArrayArgument("float32", (rows, 128), uniform(-3, 3)),
            "out": output("int8", rows, 128),
            "scales": output("float32", rows),
            "rows": ScalarArgument("int32", rows),
        },
    )


def _bytes_of_rows(given: Given) -> dict[str, Stored]:
    most = np.abs(given["in"]).max(axis=1)
    scale = np.exp2(7 - np.frexp(most)[1]).astype(np.float32)  # frexp's fraction is 1/2 to less than 1
    rounded = np.clip(np.rint(given["in"] * scale[:, None]), -127, 127)
    return {"out": rounded.astype(np.int8), "scales": np.floor(most) + scale}


def _deviation(rows: int, columns: int) -> OwnLaunch:
    return OwnLaunch(
        (rows, 1, 1),
        (128, 1, 1),
        {
            "in": ArrayArgument("float32", (rows, columns), uniform(-1, 2)),
            "means": output("float64", rows),
            "deviations": output("float32", rows),
            "columns": ScalarArgument("int32", columns),
        },
    )


def _moments(given: Given) -> dict[str, Stored]:
    values = given["in"].astype(np.float64)
    return {"means": values.mean(axis=1), "deviations": values.std(axis=1)}


ROW_KERNELS = (
    named_alike("quantise", "memory", small=_quantised(60), large=_quantised(1 << 17), oracle=_bytes_of_rows),
    named_alike(
        "deviation",
        "compute",
        small=_deviation(4, 700),
        large=_deviation(8192, 1024),
        oracle=_moments,
        tolerance=1e-6,
    ),
    named_alike(
        "softmax_rows",
        "memory",
        small=_softmax(70, 24, 2, 64, "rows columns"),
        large=_softmax(16384, 256, 256, 64, "rows columns"),
        oracle=_softmax_of_rows,
        tolerance=1e-5,
    ),
    named_alike(
        "softmax_online",
        "compute",
        small=_softmax(5, 300, 5, 128, "columns"),
        large=_softmax(8192, 1024, 8192, 128, "columns"),
        oracle=_softmax_of_rows,
        tolerance=1e-5,
    ),
    named_alike(
        "softmax_warp",
        "memory",
        small=_softmax(14, 256, 4, 128, "rows"),
        large=_softmax(32768, 256, 8192, 128, "rows"),
        oracle=_softmax_of_rows,
        tolerance=1e-5,
    ),
    named_alike(
        "layernorm",
        "memory",
        small=_layernorm(5, 700),
        large=_layernorm(8192, 1024),
        oracle=_layer_normalised,
        tolerance=1e-5,
    ),
    named_alike(
        "rmsnorm",
        "memory",
        small=_rmsnorm(14, 512),
        large=_rmsnorm(8192, 1024),
        oracle=_root_mean_square_normalised,
        tolerance=1e-5,
    ),
)
"""Kernels that normalise rows."""
