"""Every unit can be built and driven alone: the example of its docstring is executed."""

import doctest
from importlib import import_module

import pytest

from gpusim.sim.core.source import CORE_UNITS


@pytest.mark.parametrize("unit", CORE_UNITS)
def test_a_units_example_is_true(unit):
    module = import_module(f"gpusim.sim.core.{unit}")

    found = doctest.testmod(module)

    assert found.attempted > 0
    assert found.failed == 0
