"""Random legal attention scenarios, small enough to compute for real: which problems ``verify`` is tried on.

The distribution, of equal weights where nothing is said:

- mainloop attention or flash; f16 or bf16, the output of that type or f32.
- head_dim of ``HEADS``, head_dim_v of ``HEADS_V``, the same as head_dim in half of those that can be; blocks as the
  kernel picks them, or 32 x 128 and 64 queries given.
- 1 to 3 batches and heads; 1 to 200 queries, 1 to 400 keys, as many keys as queries in a third.
- every mask; lengths of each batch in half of the problems, from 0 up, so that queries without a key, keys without a
  query and CTAs with nothing to do come up. A causal mask aligned to the last of fewer keys than queries hides all keys
  from the first queries.
- the usual scale, or one that gives scores a deviation of 30 to 60: some are above 89, where exp overflows a float.
- attention: V preloaded in two thirds, m16n8k8 in half, output in the buffer in a third of those that need not.
"""

from typing import Any

import numpy as np
from problems.draw import Draw

from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.registry import parse_scenario

HEADS = (32, 40, 64, 72, 96, 128)

HEADS_V = (32, 48, 64, 80, 128, 160, 192, 256)

LARGEST_EXPONENT = 88.7
"""Natural exponent at which exp overflows a float."""


def random_attention(seed: int, *, mainloop: str | None = None) -> AttentionScenario:
    """The scenario of a seed, validated; the mainloop is drawn where it is not given."""
    rng = np.random.default_rng(seed)
    data = drawn_attention(Draw(lambda low, high: int(rng.integers(low, high + 1))), mainloop=mainloop)
    scenario = parse_scenario(data, f"random attention {seed}")
    assert isinstance(scenario, AttentionScenario)
    return scenario


def drawn_attention(draw: Draw, *, mainloop: str | None = None) -> dict[str, Any]:
    """
    A scenario as plain data.

    Args:
        draw: Makes the choices.
        mainloop: In place of a drawn one.
    """
    mainloop = mainloop or draw.one_of("attention", "flash")
    head = draw.one_of(*HEADS)
    head_v = head if draw.chance(30) else draw.one_of(*HEADS_V)
    batch, queries = draw.between(1, 3), draw.between(1, 200)
    keys = queries if draw.chance(33) else draw.between(1, 400)
    ab = draw.one_of("f16", "bf16")
    problem: dict[str, Any] = {
        "kind": "attention",
        "batch": batch,
        "heads": draw.between(1, 3),
        "queries": queries,
        "keys": keys,
        "head_dim": head,
        "head_dim_v": head_v,
        "mask": draw.one_of("none", "causal_top_left", "causal_bottom_right"),
        "dtype": {"ab": ab, "output": draw.one_of(ab, "f32")},
    }
    if draw.chance(50):
        problem["query_lengths"] = [draw.between(0, queries) for _ in range(batch)]
        problem["key_lengths"] = [0 if draw.chance(15) else draw.between(0, keys) for _ in range(batch)]
    if draw.chance(50):
        problem["scale"] = draw.between(30, 60) / head**0.5
    return {"machine": "h200", "problem": problem, "kernel": _kernel(draw, mainloop, head, head_v)}


def _kernel(draw: Draw, mainloop: str, head: int, head_v: int) -> dict[str, Any]:
    kernel: dict[str, Any] = {"mainloop": mainloop}
    if mainloop == "flash":
        if draw.chance(30):
            kernel["queries_per_block"] = 64
        return kernel
    if draw.chance(30):
        kernel["queries_per_block"] = 32
    kernel["preload_v"] = draw.chance(67)
    if draw.chance(50):
        kernel["instruction"] = [16, 8, 8]
    if draw.chance(33):
        kernel["keep_output_in_registers"] = False
    if draw.chance(20) and max(head, head_v) > 64:
        kernel["stages"] = draw.between(5, 6)
    return kernel
