"""Launches of the Triton functions, and what numpy says that they write; knows no Triton."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class TritonCase:
    """
    One launch of a Triton function.

    Attributes:
        function: Its name in kernels.py.
        grid: Programs.
        arguments: Arrays and numbers by parameter.
        constants: Compile-time constants by parameter, ``num_warps`` and ``num_stages``.
        oracle: Computes the arrays that are written, by name, from the arguments before the launch.
        tolerance: Largest accepted error, relative to the larger of an element and the array's root mean square.
        types: Triton's types of arrays of bits.
        needs: Lowest compute capability that has all instructions.
    """

    function: str
    grid: tuple[int, ...]
    arguments: Mapping[str, Any]
    constants: Mapping[str, int]
    oracle: Callable[[Mapping[str, Any]], dict[str, Any]]
    tolerance: float = 0.0
    types: Mapping[str, str] = field(default_factory=dict)
    needs: int = 80


def normal(*shape, dtype="float16", seed=0):
    return np.random.default_rng((20261128, seed)).normal(size=shape).astype(dtype)


def garbage(*shape, dtype="float16"):
    return np.full(shape, -7, dtype=dtype)


def softmax_of(x):
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def layernorm_of(given):
    x = given["x"].astype(np.float64)
    apart = x - x.mean(1, keepdims=True)
    return apart / np.sqrt((apart**2).mean(1, keepdims=True) + given["eps"]) * given["weight"] + given["bias"]


def philox(counters, seed):
    """Return the first word of Philox 4x32-10 for counters (c, 0, 0, 0) and key (seed, 0)."""
    c = [counters.astype(np.uint64), *(np.zeros(len(counters), np.uint64) for _ in range(3))]
    key, word = [np.uint64(seed & 0xFFFFFFFF), np.uint64(seed >> 32)], np.uint64(0xFFFFFFFF)
    for _ in range(10):
        high = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [high[1] >> 32 ^ c[1] ^ key[0], high[1] & word, high[0] >> 32 ^ c[3] ^ key[1], high[0] & word]
        key = [key[0] + np.uint64(0x9E3779B9) & word, key[1] + np.uint64(0xBB67AE85) & word]
    return c[0].astype(np.uint32)


def dropout_of(given):
    bits = philox(np.arange(given["n"]), given["seed"]).view(np.int32)
    uniform = np.where(bits < 0, -bits - 1, bits).astype(np.float32) * np.float32(4.6566127342e-10)
    return np.where(uniform > np.float32(given["p"]), given["x"] / np.float32(1 - np.float32(given["p"])), 0)


def attention_of(given):
    q, k, v = (given[name].astype(np.float64) for name in "qkv")
    scores = q @ k.swapaxes(1, 2) * given["scale"] * np.log(2)
    scores[:, *np.triu_indices(q.shape[1], 1)] = -np.inf
    return softmax_of(scores) @ v


def product(given):
    return given["a"].astype(np.float64) @ given["b"].astype(np.float64)


def grouped_of(given):
    ends = np.cumsum(given["sizes"])
    parts = np.split(given["a"].astype(np.float64), ends[:-1])
    return np.concatenate([part @ b.astype(np.float64) for part, b in zip(parts, given["b"], strict=True)])


def dequantised(given):
    digits = (given["weights"][:, None, :] >> (4 * np.arange(8))[None, :, None] & 15).reshape(given["k"], given["n"])
    right = (digits - 8).astype(np.float16) * np.repeat(given["scales"], 32, axis=0)
    return given["a"].astype(np.float64) @ right.astype(np.float64)


def rounded(bits):
    def oracle(given):
        """Return f32 rounded to some bits behind the point, ties to even."""
        unit = np.exp2(np.floor(np.log2(np.abs(given["x"]))) - bits)
        return np.round(given["x"] / unit) * unit

    return oracle


def eights(codes, bits):
    """Return the numbers of eight bits with some bits behind the point, no subnormals and NaN among them."""
    bias = (1 << 6 - bits) - 1
    exponent, mantissa = codes >> bits & (1 << 7 - bits) - 1, codes & (1 << bits) - 1
    return np.where(codes >> 7, -1.0, 1.0) * np.exp2(exponent.astype(int) - bias) * (1 + mantissa / (1 << bits))


def codes(low, high, *, seed):
    """Return random codes of eight bits, of either sign."""
    generator = np.random.default_rng((20261128, seed))
    return (generator.integers(low, high, (64, 64)) | generator.integers(0, 2, (64, 64)) << 7).astype(np.uint8)


def writes(name, oracle):
    return lambda given: {name: oracle(given)}


def words(*shape):
    return np.random.default_rng(20261128).integers(-(2**31), 2**31, shape, dtype=np.int32)


SIZES = np.array([33, 16, 5, 40], dtype=np.int32)

TRITON_CASES = (
    TritonCase(
        "add",
        (8,),
        {
            "x": normal(1000, dtype="float32"),
            "y": normal(1000, dtype="float32", seed=1),
            "out": garbage(1000, dtype="float32"),
            "n": 1000,
        },
        {"BLOCK": 128, "num_warps": 2},
        writes("out", lambda given: given["x"] + given["y"]),
    ),
    TritonCase(
        "softmax",
        (5,),
        {"x": normal(5, 781, dtype="float32"), "out": garbage(5, 781, dtype="float32"), "columns": 781, "stride": 781},
        {"BLOCK": 1024, "num_warps": 4},
        writes("out", lambda given: softmax_of(given["x"].astype(np.float64))),
        1e-5,
    ),
    TritonCase(
        "layernorm",
        (4,),
        {
            "x": normal(4, 600, dtype="float32"),
            "weight": normal(600, dtype="float32", seed=1),
            "bias": normal(600, dtype="float32", seed=2),
            "out": garbage(4, 600, dtype="float32"),
            "columns": 600,
            "eps": 1e-5,
        },
        {"BLOCK": 256, "num_warps": 4},
        writes("out", layernorm_of),
        1e-5,
    ),
    TritonCase(
        "dropout",
        (3,),
        {"x": normal(700, dtype="float32"), "out": garbage(700, dtype="float32"), "n": 700, "p": 0.5, "seed": 123},
        {"BLOCK": 256, "num_warps": 4},
        writes("out", dropout_of),
    ),
    TritonCase(
        "matmul",
        (6,),
        {
            "a": normal(80, 96),
            "b": normal(96, 80, seed=1),
            "c": garbage(80, 80),
            "m": 80,
            "n": 80,
            "k": 96,
            "stride_am": 96,
            "stride_bk": 80,
            "stride_cm": 80,
        },
        {"BLOCK_M": 32, "BLOCK_N": 64, "BLOCK_K": 32, "GROUP": 2, "num_warps": 4, "num_stages": 3},
        writes("c", product),
        1e-3,
    ),
    TritonCase(
        "attention",
        (2, 2),
        {
            "q": normal(2, 128, 32),
            "k": normal(2, 128, 32, seed=1),
            "v": normal(2, 128, 32, seed=2),
            "out": garbage(2, 128, 32),
            "length": 128,
            "scale": float(np.log2(np.e) / np.sqrt(32)),
        },
        {"DIM": 32, "BLOCK_M": 64, "BLOCK_N": 32, "num_warps": 4, "num_stages": 2},
        writes("out", attention_of),
        2e-3,
    ),
    TritonCase(
        "grouped",
        (4,),
        {
            "a": normal(int(SIZES.sum()), 64),
            "b": normal(4, 64, 64, seed=1),
            "c": garbage(int(SIZES.sum()), 64),
            "sizes": SIZES,
            "groups": 4,
            "n": 64,
            "k": 64,
        },
        {"PROGRAMS": 4, "BLOCK_M": 16, "BLOCK_N": 32, "BLOCK_K": 32, "num_warps": 2, "num_stages": 3},
        writes("c", grouped_of),
        1e-3,
    ),
    TritonCase(
        "dequantise",
        (2, 2),
        {
            "a": normal(32, 128),
            "weights": words(16, 64),
            "scales": normal(4, 64, seed=1) / np.float16(8),
            "c": garbage(32, 64),
            "n": 64,
            "k": 128,
        },
        {"BLOCK_M": 16, "BLOCK_N": 32, "BLOCK_K": 32, "GROUP": 32, "num_warps": 2, "num_stages": 3},
        writes("c", dequantised),
        1e-3,
    ),
    TritonCase(
        "product64",
        (1,),
        {
            "a": normal(16, 16, dtype="float64"),
            "b": normal(16, 16, dtype="float64", seed=1),
            "c": garbage(16, 16, dtype="float64"),
        },
        {"SIZE": 16, "num_warps": 1},
        writes("c", product),
        1e-14,
    ),
    TritonCase(
        "narrow",
        (2,),
        {"x": normal(256, dtype="float32"), "out": garbage(256, dtype="float32")},
        {"BLOCK": 128, "num_warps": 1},
        writes("out", rounded(2)),
    ),
    TritonCase(
        "narrow8",
        (2,),
        {"x": normal(256, dtype="float32") + 3, "out": garbage(256, dtype="float32")},
        {"BLOCK": 128, "num_warps": 1},
        writes("out", rounded(3)),
        needs=89,
    ),
    TritonCase(
        "product8",
        (1,),
        {"a": codes(0x20, 0x50, seed=0), "b": codes(0x34, 0x44, seed=1), "c": garbage(64, 64, dtype="float32")},
        {"SIZE": 64, "num_warps": 4},
        writes("c", lambda given: eights(given["a"], 3) @ eights(given["b"], 2)),
        1e-6,
        {"a": "fp8e4nv", "b": "fp8e5"},
        needs=89,
    ),
)
"""All launches."""
