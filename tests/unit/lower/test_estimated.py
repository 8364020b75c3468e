"""The rules of estimated streams: spacing, loop control, and that each estimate is documented."""

import ast
from itertools import pairwise
from pathlib import Path

import pytest

from gpusim.lower import estimated
from gpusim.lower.estimated import spread
from gpusim.lower.stream import Instruction


@pytest.mark.parametrize(("mmas", "beside"), [(4, 0), (4, 3), (4, 8), (4, 9), (1, 5), (0, 5)])
def test_spread_keeps_both_orders_and_is_even(mmas, beside):
    """After i of n MMAs, floor(i/n) of what lies beside has been issued."""
    first = [Instruction(f"M{number}", "tensor") for number in range(mmas)]
    second = [Instruction(f"I{number}", "pipe") for number in range(beside)]
    woven = list(spread(first, second))

    assert [one for one in woven if one in first] == first
    assert [one for one in woven if one in second] == second
    seen = 0
    for one in woven:
        if one in first:
            assert woven.index(one) - seen == beside * seen // mmas
            seen += 1


def test_every_estimate_is_documented():
    """Each constant of the module is followed by what it means, or by its source."""
    body = ast.parse(Path(estimated.__file__).read_text(encoding="utf-8")).body
    for statement, following in pairwise(body):
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        names = [target.id for target in targets if isinstance(target, ast.Name) and target.id.isupper()]
        if names:
            said = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
            assert said, f"{names[0]} says nothing about itself"
