"""Variables of a module by name: views of their bytes, and what cannot be set."""

import numpy as np
import pytest

from gpusim.errors import BadInput
from gpusim.execute.variables import ModuleVariables
from gpusim.lower.sass.cubin import ModuleVariable


@pytest.fixture
def variables():
    """Two bytes of a and four of a namespace's b, in bank 3."""
    made = [ModuleVariable("a", 3, 0, 2), ModuleVariable("_ZN2ns1bE", 3, 4, 4)]
    return ModuleVariables(
        {one.name: one for one in made}, {3: np.arange(8, dtype=np.uint8), None: np.zeros(0, np.uint8)}
    )


def test_a_value_is_a_view_of_the_variable(variables):
    variables["a"][:] = 9

    assert variables["a"].tolist() == [9, 9]
    assert variables.memory(3)[:4] == bytes([9, 9, 2, 3])
    assert (list(variables), len(variables)) == (["a", "_ZN2ns1bE"], 2)


def test_a_part_of_a_mangled_name_is_enough(variables):
    variables["ns1b"] = np.float32(1)

    assert variables["_ZN2ns1bE"].view(np.float32) == 1


def test_a_name_of_several_or_no_variables_is_refused(variables):
    for name in ("", "c", 5):
        with pytest.raises(BadInput, match=r"variable must be one of a, _ZN2ns1bE, got"):
            variables[name]
    with pytest.raises(BadInput, match="variable a cannot be deleted"):
        del variables["a"]


def test_a_value_of_another_size_is_refused(variables):
    with pytest.raises(BadInput, match=r"variable a has 2 bytes, int64 of shape \(\) does not"):
        variables["a"] = 3
