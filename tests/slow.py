"""Which cases of an exhaustive test ``make test`` runs; ``make check``, and CI with it, runs all."""

from collections.abc import Iterable
from typing import Any

import pytest


def one_in(step: int, cases: Iterable[Any], *, unpacked: bool = False) -> list[Any]:
    """Mark all cases slow but the first of every ``step``; a case is one value, or several if ``unpacked``."""
    return [
        pytest.param(*(case if unpacked else (case,)), marks=pytest.mark.slow) if number % step else case
        for number, case in enumerate(cases)
    ]
