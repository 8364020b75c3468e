"""The tensors of an attention problem in simulated global memory: their contents and their layout."""

from dataclasses import dataclass

import numpy as np

from gpusim.arrays import BoolArray
from gpusim.families.attention.problem import AttentionProblem, AttentionScenario
from gpusim.numerics.elements import Values, encode, round_to


@dataclass(frozen=True, slots=True)
class AttentionTensors:
    """
    Q, K and V, flat as they are stored (``elements.STORED``): [batch, length, head, dim], packed.

    Rows past a batch's length are NaN: no access may use them.
    """

    q: Values
    k: Values
    v: Values


def make_attention_tensors(scenario: AttentionScenario, seed: int) -> AttentionTensors:
    """
    Draw inputs: standard normal, rounded to their type. A score has a deviation of about scale * sqrt(head_dim).

    Args:
        scenario: Extents, lengths and types.
        seed: Seed of numpy's PCG64. The same scenario and seed give the same tensors.
    """
    rng = np.random.default_rng(seed)
    problem = scenario.problem
    return AttentionTensors(
        q=_draw(problem, rng, problem.queries, problem.head_dim, problem.lengths_q),
        k=_draw(problem, rng, problem.keys, problem.head_dim, problem.lengths_k),
        v=_draw(problem, rng, problem.keys, problem.head_dim_v, problem.lengths_k),
    )


def _draw(
    problem: AttentionProblem, rng: np.random.Generator, length: int, width: int, lengths: tuple[int, ...]
) -> Values:
    values = rng.standard_normal((problem.batch, length, problem.heads, width))
    values[~rows_in_use(length, lengths)] = np.nan
    return encode(round_to(values.reshape(-1), problem.dtype.ab), problem.dtype.ab)


def rows_in_use(length: int, lengths: tuple[int, ...]) -> BoolArray:
    """Return the mask of the rows that each batch uses, shape [batch, length]."""
    return np.arange(length) < np.array(lengths)[:, None]


def output_rows(problem: AttentionProblem) -> BoolArray:
    """Return the mask of the computed rows of the output, seen as [batch * queries * heads, head_dim_v]."""
    used = rows_in_use(problem.queries, problem.lengths_q)
    return np.repeat(used.reshape(-1), problem.heads)
