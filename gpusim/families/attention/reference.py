"""The float64 reference of an attention problem, and the largest error of a correct kernel; it knows no blocks.

Functions take the array module of the tensors (``xp``): numpy, or a module with the same functions for a device.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gpusim.arrays import BoolArray, FloatArray
from gpusim.families.attention.problem import AttentionProblem, AttentionScenario
from gpusim.families.attention.tensors import AttentionTensors
from gpusim.numerics.elements import decode
from gpusim.numerics.reference import Agreement, Reference, agreement, half_step

P_ROUNDOFF = {"f16": 2.0**-11, "bf16": 2.0**-8}
"""Unit roundoff of P's type."""

_ROUNDINGS = 4
"""Largest error of a result, in roundings of P and in roundings of the output."""

_LSE_ROUNDOFF = 2.0**-14
"""Relative error of a log-sum-exp: of a score in float32, which a score of 100 multiplies, and of exponentials."""


@dataclass(frozen=True, slots=True)
class AttentionReference(Reference):
    """
    softmax(scale * Q * K^T + mask) * V and its log-sum-exps, in float64.

    The output's value is 0 where a query sees no key, and NaN in rows past a batch's length; its shape is
    (batch * queries * heads, head_dim_v). Its bound is 4 roundings of the output, and 4 of P times the largest |V| of
    the head.

    Attributes:
        lse: Natural logarithm of the sum of exponentials, -inf where a query sees no key, NaN in rows past a batch's
            length. Shape (batch, heads, queries).
        lse_bound: Largest absolute difference that a correct kernel's log-sum-exp may show. Shape of ``lse``.
    """

    lse: FloatArray
    lse_bound: FloatArray


def visible(problem: AttentionProblem, batch: int, xp: Any = np) -> Any:
    """Return the mask of the keys that each query of a batch sees, shape [queries in use, keys in use]."""
    queries, keys = problem.lengths_q[batch], problem.lengths_k[batch]
    if problem.mask == "none":
        return xp.ones((queries, keys), bool)
    offset = keys - queries if problem.mask == "causal_bottom_right" else 0
    return xp.arange(keys) <= xp.arange(queries)[:, None] + offset


def attention_reference(scenario: AttentionScenario, tensors: AttentionTensors, xp: Any = np) -> AttentionReference:
    """
    Compute the reference head by head.

    Args:
        scenario: The problem.
        tensors: Inputs as stored, of the array module.
        xp: The array module.
    """
    problem = scenario.problem
    shape = (problem.batch, -1, problem.heads)
    element = problem.dtype.ab
    q = decode(tensors.q, element, xp).reshape(*shape, problem.head_dim)
    k = decode(tensors.k, element, xp).reshape(*shape, problem.head_dim)
    v = decode(tensors.v, element, xp).reshape(*shape, problem.head_dim_v)
    value = xp.full((problem.batch, problem.queries, problem.heads, problem.head_dim_v), xp.nan)
    bound = xp.full_like(value, xp.nan)
    lse = xp.full((problem.batch, problem.heads, problem.queries), xp.nan)
    for batch in range(problem.batch):
        queries, keys = problem.lengths_q[batch], problem.lengths_k[batch]
        seen = visible(problem, batch, xp)
        for head in range(problem.heads):
            values = v[batch, :keys, head].astype(xp.float64)
            scores = q[batch, :queries, head].astype(xp.float64) @ k[batch, :keys, head].astype(xp.float64).T
            scores = xp.where(seen, scores * problem.score_scale, -xp.inf)
            largest = scores.max(axis=1) if keys else xp.full(queries, -xp.inf)
            # A row without a key would subtract -inf from -inf.
            exponentials = xp.exp(scores - xp.where(xp.isinf(largest), 0.0, largest)[:, None])
            total = exponentials.sum(axis=1)
            value[batch, :queries, head] = exponentials @ values / xp.where(total == 0, 1.0, total)[:, None]
            lse[batch, head, :queries] = largest + xp.log(xp.where(total == 0, 1.0, total))
            bound[batch, :queries, head] = float(abs(values).max()) if keys else 0.0
    magnitude = abs(xp.nan_to_num(value))
    bound = _ROUNDINGS * (P_ROUNDOFF[element] * bound + half_step(magnitude, problem.dtype.output, xp))
    rows = (-1, problem.head_dim_v)
    return AttentionReference(
        value.reshape(rows), bound.reshape(rows), lse, _LSE_ROUNDOFF * (1 + abs(xp.where(xp.isinf(lse), 0.0, lse)))
    )


def output_agreement(output: Any, expected: AttentionReference, used: BoolArray, xp: Any = np) -> Agreement:
    """
    Compare the rows of an output that are in use with the reference.

    Args:
        output: Shape (batch * queries * heads, head_dim_v), decoded, NaN where nothing was written.
        expected: The reference, of the same array module.
        used: Rows in use, at least one: ``tensors.output_rows``.
        xp: The array module.
    """
    rows = xp.asarray(used)
    found = agreement(output[rows], Reference(expected.value[rows], expected.bound[rows]), xp)
    row, column = found.worst_element
    return replace(found, worst_element=(int(np.flatnonzero(used)[row]), column))


def lse_agreement(found: Any, expected: AttentionReference, xp: Any = np) -> tuple[int, float | None]:
    """
    Compare log-sum-exps with the reference; those past a batch's length must be NaN.

    Args:
        found: Shape (batch, heads, queries), NaN where nothing was written.
        expected: The reference, of the same array module.
        xp: The array module.

    Returns:
        The number of log-sum-exps beyond their bound, and the largest difference; None if one is not a number.
    """
    unused = xp.isnan(expected.lse)
    with np.errstate(invalid="ignore"):
        # Where both are -inf, their difference is not a number.
        error = xp.where(found == expected.lse, 0.0, abs(found - expected.lse))
    right = xp.where(unused, xp.isnan(found), error <= expected.lse_bound)
    used = xp.where(unused, 0.0, error)
    return int((~right).sum()), None if bool(xp.isnan(used).any()) else float(used.max())
