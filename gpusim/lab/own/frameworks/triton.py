"""Launches and answers of the Triton functions of tests/own/triton/kernels.py; knows no Triton."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import numpy as np

from gpusim.lab.own.contents import exactly, integers, output, uniform
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
from gpusim.units import WARP_SIZE

TRITON_CONSTANTS: Final[Mapping[str, Mapping[str, int]]] = MappingProxyType(
    {
        "triton_add": {"BLOCK": 1024, "num_warps": 4},
        "triton_softmax": {"BLOCK": 1024, "num_warps": 4},
        "triton_softmax_wide": {"BLOCK": 4096, "num_warps": 8},
        "triton_layernorm": {"BLOCK": 512, "num_warps": 4},
        "triton_dropout": {"BLOCK": 1024, "num_warps": 4},
        "triton_matmul": {
            "BLOCK_M": 128,
            "BLOCK_N": 128,
            "BLOCK_K": 32,
            "GROUP": 8,
            "num_warps": 8,
            "num_stages": 3,
        },
        "triton_matmul_64": {
            "BLOCK_M": 64,
            "BLOCK_N": 64,
            "BLOCK_K": 32,
            "GROUP": 4,
            "num_warps": 4,
            "num_stages": 4,
        },
        "triton_attention": {"DIM": 64, "BLOCK_M": 64, "BLOCK_N": 64, "num_warps": 4, "num_stages": 2},
        "triton_attention_128": {"DIM": 128, "BLOCK_M": 128, "BLOCK_N": 64, "num_warps": 8, "num_stages": 2},
        "triton_grouped": {
            "BLOCK_M": 64,
            "BLOCK_N": 64,
            "BLOCK_K": 32,
            "PROGRAMS": 264,
            "num_warps": 4,
            "num_stages": 3,
        },
        "triton_dequantise": {
            "BLOCK_M": 16,
            "BLOCK_N": 64,
            "BLOCK_K": 32,
            "GROUP": 32,
            "num_warps": 4,
            "num_stages": 3,
        },
        "triton_narrow": {"BLOCK": 1024, "num_warps": 4},
        "triton_narrow8": {"BLOCK": 1024, "num_warps": 4},
    }
)
"""Compile-time constants of each kernel, and Triton's options."""

_SCRATCH: Final[Mapping[str, Argument]] = MappingProxyType(
    {name: ScalarArgument("uint64", 0) for name in ("global_scratch", "profile_scratch")}
)
"""Two pointers that Triton appends to the parameters; these kernels use neither."""


def _normal(generator: np.random.Generator, shape: tuple[int, ...]) -> Stored:
    return generator.normal(size=shape)


def _array(dtype: str, *shape: int, contents: Contents = _normal) -> ArrayArgument:
    return ArrayArgument(dtype, shape, contents)


def _count(value: int) -> ScalarArgument:
    return ScalarArgument("int32", value)


def _kernel(
    name: str,
    bound: Limit,
    small: tuple[tuple[int, ...], Mapping[str, Argument]],
    large: tuple[tuple[int, ...], Mapping[str, Argument]],
    oracle: Oracle,
    *,
    tolerance: float = 0.0,
    shared_bytes: int = 0,
) -> OwnKernel:
    """
    Return a kernel.

    Args:
        name: Its name: "triton_", its function, and more where one function is compiled in several ways.
        bound: What limits it.
        small, large: Grid and arguments of both launches, which have one specialisation.
        oracle: Its answer.
        tolerance: Largest accepted error.
        shared_bytes: Shared memory that Triton's compiler asks for.
    """
    function = name.split("_")[1]
    block = (WARP_SIZE * TRITON_CONSTANTS[name]["num_warps"], 1, 1)
    launches = []
    for grid, arguments in (small, large):
        x, y, z = (*grid, 1, 1)[:3]
        launches.append(OwnLaunch((x, y, z), block, {**arguments, **_SCRATCH}, shared_bytes))
    return OwnKernel(
        name=name,
        source=function,
        entry=function,
        bound=bound,
        small=launches[0],
        large=launches[1],
        oracle=oracle,
        tolerance=tolerance,
        needs=90,
        kept=name,
    )


def _add(n: int) -> tuple[tuple[int, ...], Mapping[str, Argument]]:
    x, y = _array("float32", n), _array("float32", n)
    return (-(-n // 1024),), {"x": x, "y": y, "out": output("float32", n), "n": _count(n)}


def _added(given: Given) -> dict[str, Stored]:
    return {"out": given["x"] + given["y"]}


def _softmax(rows: int, columns: int) -> tuple[tuple[int, ...], Mapping[str, Argument]]:
    return (rows,), {
        "x": _array("float32", rows, columns),
        "out": output("float32", rows, columns),
        "columns": _count(columns),
        "stride": _count(columns),
    }


def _softmax_of(values: Stored) -> Stored:
    powers: Stored = np.exp(values - values.max(-1, keepdims=True))
    powers /= powers.sum(-1, keepdims=True)
    return powers


def _softmax_of_rows(given: Given) -> dict[str, Stored]:
    return {"out": _softmax_of(given["x"].astype(np.float64))}


def _layernorm(rows: int, columns: int) -> tuple[tuple[int, ...], Mapping[str, Argument]]:
    return (rows,), {
        "x": _array("float32", rows, columns),
        "weight": _array("float32", columns),
        "bias": _array("float32", columns),
        "out": output("float32", rows, columns),
        "columns": _count(columns),
        "eps": ScalarArgument("float32", 1e-5),
    }


def _layer_normalised(given: Given) -> dict[str, Stored]:
    values = given["x"].astype(np.float64)
    about = values - values.mean(1, keepdims=True)
    normal = about / np.sqrt((about**2).mean(1, keepdims=True) + given["eps"])
    return {"out": normal * given["weight"] + given["bias"]}


def _dropout(n: int) -> tuple[tuple[int, ...], Mapping[str, Argument]]:
    return (-(-n // 1024),), {
        "x": _array("float32", n),
        "out": output("float32", n),
        "n": _count(n),
        "p": ScalarArgument("float32", 0.5),
        "seed": _count(123),
    }


def _philox(counters: Stored, seed: int) -> Stored:
    """Return the first word of Philox 4x32-10 for counters (c, 0, 0, 0) and key (seed, 0)."""
    c = [counters.astype(np.uint64), *(np.zeros(len(counters), np.uint64) for _ in range(3))]
    key, word, half = [np.uint64(seed), np.uint64(0)], np.uint64(0xFFFFFFFF), np.uint64(32)
    for _ in range(10):
        high = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [high[1] >> half ^ c[1] ^ key[0], high[1] & word, high[0] >> half ^ c[3] ^ key[1], high[0] & word]
        key = [key[0] + np.uint64(0x9E3779B9) & word, key[1] + np.uint64(0xBB67AE85) & word]
    return c[0].astype(np.uint32)


def _dropped(given: Given) -> dict[str, Stored]:
    bits = _philox(np.arange(given["n"]), int(given["seed"])).view(np.int32)
    drawn = np.where(bits < 0, -bits - 1, bits).astype(np.float32) * np.float32(4.6566127342e-10)
    return {"out": np.where(drawn > given["p"], given["x"] / (1 - given["p"]), np.float32(0))}


def _matmul(m: int, n: int, k: int, tile: int) -> tuple[tuple[int, ...], Mapping[str, Argument]]:
    return (-(-m // tile) * -(-n // tile),), {
        "a": _array("float16", m, k),
        "b": _array("float16", k, n),
        "c": output("float16", m, n),
        **{name: _count(value) for name, value in (("m", m), ("n", n), ("k", k))},
        **{name: _count(value) for name, value in (("stride_am", k), ("stride_bk", n), ("stride_cm", n))},
    }


def _product(given: Given) -> dict[str, Stored]:
    return {"c": given["a"].astype(np.float64) @ given["b"].astype(np.float64)}


def _attention(heads: int, length: int, dim: int, tile: int) -> tuple[tuple[int, ...], Mapping[str, Argument]]:
    """Return causal attention; Triton's scores are exponents of two, so the scale has the logarithm."""
    return (length // tile, heads), {
        **{name: _array("float16", heads, length, dim) for name in "qkv"},
        "out": output("float16", heads, length, dim),
        "length": _count(length),
        "scale": ScalarArgument("float32", float(np.log2(np.e) / np.sqrt(dim))),
    }


def _attended(given: Given) -> dict[str, Stored]:
    out = np.empty(given["q"].shape)
    beyond = np.triu_indices(out.shape[1], 1)
    for head, (q, k, v) in enumerate(zip(*(given[name].astype(np.float64) for name in "qkv"), strict=True)):
        scores = q @ k.T * (float(given["scale"]) * np.log(2))
        scores[beyond] = -np.inf
        out[head] = _softmax_of(scores) @ v
    return {"out": out}


def _grouped(heights: tuple[int, ...], programs: int, n: int, k: int) -> tuple[tuple[int, ...], Mapping[str, Argument]]:
    sizes = np.array(heights, np.int32)
    return (programs,), {
        "a": _array("float16", sum(heights), k),
        "b": _array("float16", len(heights), k, n),
        "c": output("float16", sum(heights), n),
        "sizes": ArrayArgument("int32", sizes.shape, exactly(sizes)),
        **{name: _count(value) for name, value in (("groups", len(heights)), ("n", n), ("k", k))},
    }


def _group_products(given: Given) -> dict[str, Stored]:
    parts = np.split(given["a"].astype(np.float64), np.cumsum(given["sizes"])[:-1])
    return {"c": np.concatenate([part @ b.astype(np.float64) for part, b in zip(parts, given["b"], strict=True)])}


def _dequantise(m: int, n: int, k: int) -> tuple[tuple[int, ...], Mapping[str, Argument]]:
    return (m // 16, n // 64), {
        "a": _array("float16", m, k),
        "weights": _array("int32", k // 8, n, contents=integers(-(2**31), 2**31)),
        "scales": _array("float16", k // 32, n, contents=uniform(0.05, 0.2)),
        "c": output("float16", m, n),
        "n": _count(n),
        "k": _count(k),
    }


def _dequantised(given: Given) -> dict[str, Stored]:
    digits = given["weights"][:, None, :] >> (4 * np.arange(8, dtype=np.int32))[None, :, None] & 15
    right = (digits.reshape(int(given["k"]), -1) - 8).astype(np.float16) * np.repeat(given["scales"], 32, axis=0)
    return {"c": given["a"].astype(np.float64) @ right.astype(np.float64)}


def _narrow(ctas: int) -> tuple[tuple[int, ...], Mapping[str, Argument]]:
    n = ctas * 1024
    return (ctas,), {"x": _array("float32", n, contents=uniform(0.5, 6)), "out": output("float32", n)}


def _rounded(bits: int) -> Oracle:
    def oracle(given: Given) -> dict[str, Stored]:
        """Return f32 rounded to some bits behind the point, ties to even."""
        unit = np.exp2(np.floor(np.log2(given["x"])) - bits)
        return {"out": np.round(given["x"] / unit) * unit}

    return oracle


_HEIGHTS: Final = (700, 1111, 64, 333, 1500, 900, 1024, 5, 256, 777, 600, 1200)

TRITON_KERNELS: Final = (
    _kernel("triton_add", "memory", _add(1040), _add((1 << 24) - 16), _added),
    _kernel(
        "triton_softmax",
        "memory",
        _softmax(4, 904),
        _softmax(16384, 1000),
        _softmax_of_rows,
        tolerance=1e-5,
        shared_bytes=16,
    ),
    _kernel(
        "triton_softmax_wide",
        "memory",
        _softmax(2, 4080),
        _softmax(4096, 4096),
        _softmax_of_rows,
        tolerance=1e-5,
        shared_bytes=32,
    ),
    _kernel(
        "triton_layernorm",
        "memory",
        _layernorm(3, 624),
        _layernorm(8192, 2000),
        _layer_normalised,
        tolerance=1e-5,
        shared_bytes=16,
    ),
    _kernel("triton_dropout", "compute", _dropout(1040), _dropout(1 << 22), _dropped),
    _kernel(
        "triton_matmul",
        "compute",
        _matmul(144, 160, 64, 128),
        _matmul(2048, 4096, 1024, 128),
        _product,
        tolerance=1e-3,
        shared_bytes=32768,
    ),
    _kernel(
        "triton_matmul_64",
        "compute",
        _matmul(80, 96, 80, 64),
        _matmul(2048, 2048, 1008, 64),
        _product,
        tolerance=1e-3,
        shared_bytes=24576,
    ),
    _kernel(
        "triton_attention",
        "compute",
        _attention(2, 128, 64, 64),
        _attention(16, 2048, 64, 64),
        _attended,
        tolerance=5e-3,
        shared_bytes=24576,
    ),
    _kernel(
        "triton_attention_128",
        "compute",
        _attention(1, 256, 128, 128),
        _attention(16, 2048, 128, 128),
        _attended,
        tolerance=5e-3,
        shared_bytes=65536,
    ),
    _kernel(
        "triton_grouped",
        "compute",
        _grouped((33, 16, 5, 70), 8, 64, 64),
        _grouped(_HEIGHTS, 264, 1024, 512),
        _group_products,
        tolerance=1e-3,
        shared_bytes=16384,
    ),
    _kernel(
        "triton_dequantise",
        "compute",
        _dequantise(32, 128, 128),
        _dequantise(256, 4096, 2048),
        _dequantised,
        tolerance=1e-3,
        shared_bytes=22784,
    ),
    _kernel("triton_narrow", "memory", _narrow(2), _narrow(16384), _rounded(2)),
    _kernel("triton_narrow8", "memory", _narrow(2), _narrow(16384), _rounded(3)),
)
"""Kernels that Triton compiles, for sm_90 with mma.sync."""
