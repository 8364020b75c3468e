"""Random tensors of an attention problem, its float64 reference, and how far an output may lie from that."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gpusim.elements import decode
from gpusim.hardware.specialise_attention import AttentionKernel

_UNIT: dict[str, float] = {"f16": 2.0**-11, "bf16": 2.0**-8}
"""Relative rounding of an element type, half a unit in the last place."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """
    The tensors of a launch, and the shapes of what it stores.

    Attributes:
        q, k, v: Bit patterns, uint16 of shape [batch, length, head, dim].
        query_lengths, key_lengths: int32, one for each batch.
        scale_log2: The scale of the scores times log2(e).
        output: Element type of the output.
    """

    q: Any
    k: Any
    v: Any
    query_lengths: npt.NDArray[np.int32]
    key_lengths: npt.NDArray[np.int32]
    scale_log2: float
    output: str

    def fresh_output(self) -> npt.NDArray[Any]:
        """The output before a launch: NaN."""
        batch, queries, heads, _ = self.q.shape
        kind, nan = (np.float32, np.nan) if self.output == "f32" else (np.uint16, 0x7FFF)
        return np.full((batch, queries, heads, self.v.shape[-1]), nan, kind)

    def fresh_log_sum_exp(self) -> npt.NDArray[np.float32]:
        """The log-sum-exp before a launch: NaN; [batch, head, queries rounded up to 32]."""
        batch, queries, heads, _ = self.q.shape
        return np.full((batch, heads, -(-queries // 32) * 32), np.nan, np.float32)


def make_inputs(kernel: AttentionKernel, seed: int) -> Inputs:
    """Normally distributed Q, K and V, rounded to the element type."""
    random = np.random.default_rng(seed)

    def tensor(length: int, dim: int) -> npt.NDArray[np.uint16]:
        values = random.standard_normal((kernel.batch, length, kernel.heads, dim), np.float32)
        if kernel.ab == "f16":
            return values.astype(np.float16).view(np.uint16)
        bits = values.view(np.uint32)
        return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)

    def lengths(given: tuple[int, ...] | None, whole: int) -> npt.NDArray[np.int32]:
        return np.array(given if given is not None else [whole] * kernel.batch, np.int32)

    return Inputs(
        q=tensor(kernel.queries, kernel.head_dim),
        k=tensor(kernel.keys, kernel.head_dim),
        v=tensor(kernel.keys, kernel.head_dim_v),
        query_lengths=lengths(kernel.query_lengths, kernel.queries),
        key_lengths=lengths(kernel.key_lengths, kernel.keys),
        scale_log2=kernel.scale_of_scores * math.log2(math.e),
        output=kernel.output,
    )


def values_of(kernel: AttentionKernel, stored: Any, xp: Any = np) -> Any:
    """The values of bit patterns, or of f32, as float64, of the same shape."""
    flat = stored.reshape(-1)
    if stored.dtype == np.float32:
        return stored.astype(xp.float64)
    values = flat.view(xp.float16) if kernel.ab == "f16" else decode(flat, "bf16", xp)
    return values.astype(xp.float64).reshape(stored.shape)


def reference(kernel: AttentionKernel, inputs: Inputs, xp: Any = np) -> tuple[Any, Any]:
    """
    Softmax attention in float64.

    Returns:
        The output [batch, query, head, dim] and the log-sum-exp [batch, head, query]; NaN past a batch's length. A
        query that sees no key has output 0 and log-sum-exp -inf.
    """
    q, k, v = (values_of(kernel, xp.asarray(tensor), xp) for tensor in (inputs.q, inputs.k, inputs.v))
    output = xp.full((kernel.batch, kernel.queries, kernel.heads, kernel.head_dim_v), xp.nan)
    lse = xp.full((kernel.batch, kernel.heads, kernel.queries), xp.nan)
    for batch in range(kernel.batch):
        queries, keys = int(inputs.query_lengths[batch]), int(inputs.key_lengths[batch])
        offset = keys - queries if kernel.mask == "causal_bottom_right" else 0
        seen = xp.ones((queries, keys), bool)
        if kernel.mask != "none":
            seen = xp.arange(keys)[None, :] <= xp.arange(queries)[:, None] + offset
        for head in range(kernel.heads):
            scores = kernel.scale_of_scores * (q[batch, :queries, head] @ k[batch, :keys, head].T)
            scores = xp.where(seen, scores, -xp.inf)
            most = scores.max(axis=1) if keys else xp.full(queries, -xp.inf)
            terms = xp.exp(scores - xp.where(xp.isinf(most), 0.0, most)[:, None])
            total = terms.sum(axis=1)
            some = total > 0
            divisor = xp.where(some, total, 1.0)
            output[batch, :queries, head] = terms @ v[batch, :keys, head] / divisor[:, None]
            lse[batch, head, :queries] = xp.where(some, most + xp.log(divisor), -xp.inf)
    return output, lse


def wrong_elements(
    kernel: AttentionKernel, inputs: Inputs, found: tuple[Any, Any], expected: tuple[Any, Any], xp: Any = np
) -> int:
    """
    Elements of the output and of the log-sum-exp too far from the reference, or written where none belong.

    The bound of the output is 4 units of its rounding plus the rounding of the probabilities (2^-9 of max|V| for f16,
    2^-6 for bf16); that of the log-sum-exp is the f32 rounding of the greatest scores.

    Args:
        found: The output as bit patterns, and the log-sum-exp, as a launch left them.
        expected: ``reference``.
    """
    values = values_of(kernel, found[0], xp)
    most_v = float(xp.abs(values_of(kernel, xp.asarray(inputs.v), xp)).max())
    unit = _UNIT[kernel.ab]
    bound = 4 * 2 * unit * xp.abs(expected[0]) + 4 * unit * most_v
    written = ~xp.isnan(expected[0])
    close = xp.where(written, xp.abs(values - expected[0]) <= bound, xp.isnan(values))
    ours = found[1][:, :, : kernel.queries].astype(xp.float64)
    finite = xp.isfinite(expected[1])
    wanted = xp.where(finite, expected[1], 0.0)
    near = xp.abs(xp.where(finite, ours, 0.0) - wanted) <= 1e-3 + 1e-5 * xp.abs(wanted)
    same = xp.where(finite, near, xp.where(xp.isnan(expected[1]), xp.isnan(ours), ours == expected[1]))
    return int((~close).sum()) + int((~same).sum())
