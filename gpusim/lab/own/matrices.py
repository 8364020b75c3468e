"""Own kernels that multiply matrices: fp32 in six steps, tensor cores, fp64, 4-bit weights, batches, a vector."""

from collections.abc import Mapping
from functools import partial

import numpy as np

from gpusim.lab.own.contents import any_bits, bf16, integers, output, uniform
from gpusim.lab.own.kernel import (
    Argument,
    ArrayArgument,
    Contents,
    Given,
    OwnLaunch,
    ScalarArgument,
    Stored,
    named_alike,
)
from gpusim.numerics.elements import as_multiplied, decode


def _extents(*values: int) -> dict[str, Argument]:
    return {name: ScalarArgument("int32", value) for name, value in zip("mnk", values, strict=True)}


def _product(given: Given, working: str = "float64") -> dict[str, Stored]:
    return {"c": given["a"].astype(working) @ given["b"].astype(working)}


def _product_transposed(given: Given) -> dict[str, Stored]:
    return {"c": given["a"].astype(np.float64) @ given["b"].astype(np.float64).T}


def _gemm(
    tile: tuple[int, int],
    block: tuple[int, int, int],
    extents: tuple[int, int, int],
    *,
    dtype: str = "float32",
    out: str = "float32",
    contents: Contents | None = None,
    transposed: bool = False,
    shared_bytes: int = 0,
) -> OwnLaunch:
    """
    Return a launch on A [m, k], B [k, n] (or its transpose) and C [m, n], followed by the extents.

    Args:
        tile: Rows and columns of C that a CTA computes. Grid x counts tiles of columns.
        block: blockDim.
        extents: m, n, k.
        dtype, out: Types of A and B, and of C.
        contents: Contents of A and B; None draws floats from -1 to 1.
        transposed: Whether B is stored as [n, k].
        shared_bytes: Dynamic shared memory.
    """
    (m, n, k), drawn = extents, contents or uniform()
    arguments: dict[str, Argument] = {
        "a": ArrayArgument(dtype, (m, k), drawn),
        "b": ArrayArgument(dtype, (n, k) if transposed else (k, n), drawn),
        "c": output(out, m, n),
        **_extents(*extents),
    }
    return OwnLaunch((-(-n // tile[1]), -(-m // tile[0]), 1), block, arguments, shared_bytes)


def _naive(extents: tuple[int, int, int]) -> OwnLaunch:
    """Return a launch whose grid x counts tiles of rows."""
    launch = _gemm((16, 16), (16, 16, 1), extents)
    return OwnLaunch((launch.grid[1], launch.grid[0], 1), launch.block, launch.arguments)


_LARGE = (1024, 1024, 256)
_coalesced = partial(_gemm, (8, 32), (32, 8, 1))
_shared = partial(_gemm, (16, 16), (16, 16, 1))
_thread_column = partial(_gemm, (64, 64), (512, 1, 1))
_thread_tile = partial(_gemm, (64, 64), (256, 1, 1))
_vectorised = partial(_gemm, (128, 128), (256, 1, 1))

_SGEMM = (
    named_alike(
        "sgemm_naive",
        "memory",
        small=_naive((40, 24, 20)),
        large=_naive(_LARGE),
        oracle=_product,
        tolerance=1e-5,
    ),
    named_alike(
        "sgemm_coalesced",
        "memory",
        small=_coalesced((20, 40, 20)),
        large=_coalesced(_LARGE),
        oracle=_product,
        tolerance=1e-5,
    ),
    named_alike(
        "sgemm_shared",
        "shared",
        small=_shared((40, 24, 40)),
        large=_shared(_LARGE),
        oracle=_product,
        tolerance=1e-5,
    ),
    named_alike(
        "sgemm_thread_column",
        "shared",
        small=_thread_column((128, 64, 16)),
        large=_thread_column(_LARGE),
        oracle=_product,
        tolerance=1e-5,
    ),
    named_alike(
        "sgemm_thread_tile",
        "shared",
        small=_thread_tile((64, 128, 24)),
        large=_thread_tile(_LARGE),
        oracle=_product,
        tolerance=1e-5,
    ),
    named_alike(
        "sgemm_vectorised",
        "compute",
        small=_vectorised((128, 128, 16)),
        large=_vectorised((2048, 1024, 256)),
        oracle=_product,
        tolerance=1e-5,
    ),
)


def _bf16_product(given: Given) -> dict[str, Stored]:
    a, b = (decode(given[name], "bf16").astype(np.float64) for name in "ab")
    return {"c": a @ b.T}


def _tf32_product(given: Given) -> dict[str, Stored]:
    a, b = (as_multiplied(given[name], "tf32").astype(np.float64) for name in "ab")
    return {"c": a @ b}


_fp16 = partial(_gemm, (64, 64), (128, 1, 1), dtype="float16")
_bf16 = partial(
    _gemm,
    (64, 64),
    (128, 1, 1),
    dtype="uint16",
    contents=bf16,
    transposed=True,
    shared_bytes=3 * 2 * 64 * (32 + 8) * 2,  # slots, operands, rows, elements of a padded row, bytes
)
_tf32 = partial(_gemm, (64, 64), (128, 1, 1))
_int8 = partial(_gemm, (64, 64), (128, 1, 1), dtype="int8", out="int32", contents=integers(-128, 128), transposed=True)
_turing = partial(_gemm, (32, 64), (64, 1, 1), dtype="float16", out="float16", transposed=True)

_TENSOR = (
    named_alike(
        "mma_fp16",
        "compute",
        small=_fp16((128, 64, 96)),
        large=_fp16((2048, 2048, 1024)),
        oracle=_product,
        tolerance=1e-4,
        needs=80,
    ),
    named_alike(
        "mma_bf16",
        "compute",
        small=_bf16((64, 128, 128)),
        large=_bf16((2048, 2048, 1024)),
        oracle=_bf16_product,
        tolerance=1e-4,
        needs=80,
    ),
    named_alike(
        "mma_tf32",
        "compute",
        small=_tf32((64, 64, 64)),
        large=_tf32((2048, 1024, 1024)),
        oracle=_tf32_product,
        tolerance=1e-4,
        needs=80,
    ),
    named_alike(
        "mma_int8",
        "compute",
        small=_int8((128, 64, 192)),
        large=_int8((2048, 2048, 2048)),
        oracle=_product_transposed,
        needs=80,
    ),
    named_alike(
        "mma_turing",
        "shared",
        small=_turing((64, 64, 64)),
        large=_turing((2048, 1024, 1024)),
        oracle=_product_transposed,
        tolerance=2e-3,
    ),
)

_dgemm = partial(_gemm, (16, 16), (16, 8, 1), dtype="float64", out="float64")


def _dequantised(m: int, n: int, k: int) -> OwnLaunch:
    return OwnLaunch(
        (n // 128, m // 4, 1),
        (128, 1, 1),
        {
            "x": ArrayArgument("float16", (m, k), uniform()),
            "weights": ArrayArgument("uint32", (k // 8, n), any_bits),
            "scales": ArrayArgument("float16", (k // 64, n), uniform(0.05, 0.15)),
            "y": output("float16", m, n),
            "n": ScalarArgument("int32", n),
            "k": ScalarArgument("int32", k),
        },
    )


def _dequantised_product(given: Given) -> dict[str, Stored]:
    packed = given["weights"]
    nibbles = np.stack([packed >> np.uint32(4 * i) & 15 for i in range(8)], axis=1)  # [k / 8, 8, n]
    # The two halves of a word have weights i and i + 4 of eight; so both are in the order of K.
    whole = nibbles.reshape(-1, packed.shape[1]).astype(np.float16) - np.float16(8)
    weights = whole * np.repeat(given["scales"], 64, axis=0)
    return {"y": given["x"].astype(np.float64) @ weights.astype(np.float64)}


def _batched(count: int) -> OwnLaunch:
    shape = (count, 16, 16)
    arrays: Mapping[str, Argument] = {
        "a": ArrayArgument("float32", shape, uniform()),
        "b": ArrayArgument("float32", shape, uniform()),
        "c": output("float32", *shape),
    }
    return OwnLaunch((count, 1, 1), (256, 1, 1), arrays)


def _gemv(rows: int, columns: int) -> OwnLaunch:
    return OwnLaunch(
        (-(-rows // 8), 1, 1),
        (256, 1, 1),
        {
            "a": ArrayArgument("float32", (rows, columns), uniform()),
            "x": ArrayArgument("float32", (columns,), uniform()),
            "y": output("float32", rows),
            "rows": ScalarArgument("int32", rows),
            "columns": ScalarArgument("int32", columns),
        },
    )


def _vector_product(given: Given) -> dict[str, Stored]:
    return {"y": given["a"].astype(np.float64) @ given["x"].astype(np.float64)}


MATRIX_KERNELS = (
    *_SGEMM,
    *_TENSOR,
    named_alike(
        "dgemm",
        "shared",
        small=_dgemm((32, 48, 32)),
        large=_dgemm((1024, 512, 256)),
        oracle=_product,
        tolerance=1e-13,
    ),
    named_alike(
        "dequantised_gemm",
        "compute",
        small=_dequantised(4, 128, 128),
        large=_dequantised(16, 4096, 2048),
        oracle=_dequantised_product,
        tolerance=2e-3,
    ),
    named_alike(
        "batched_matmul",
        "shared",
        small=_batched(8),
        large=_batched(16384),
        oracle=_product,
        tolerance=1e-5,
    ),
    named_alike(
        "gemv",
        "memory",
        small=_gemv(50, 512),
        large=_gemv(8192, 4096),
        oracle=_vector_product,
        tolerance=1e-5,
    ),
)
"""Kernels that multiply matrices."""
