"""Options of a launch as text: extents and named values."""

import pytest

from gpusim.commands.own.launch import extents_of, is_kernel_file, named_values
from gpusim.errors import BadInput


@pytest.mark.parametrize(("text", "extents"), [("32", [32]), ("32,8", [32, 8]), (" 4, 2 ,1", [4, 2, 1])])
def test_extents_are_one_to_three_integers(text, extents):
    assert extents_of("--grid", text) == extents


@pytest.mark.parametrize("text", ["", "0", "-1", "1,2,3,4", "1.5", "x", "1,,2"])
def test_other_extents_are_refused(text):
    with pytest.raises(BadInput, match=r"^--grid must be one to three integers of at least 1, such as 32,32, got "):
        extents_of("--grid", text)


def test_values_keep_their_order_and_may_hold_an_equals_sign():
    assert list(named_values("--define", ("B=1", "A=x=y"), "").items()) == [("B", "1"), ("A", "x=y")]


def test_a_kernel_is_known_by_the_ending_of_its_file():
    assert [is_kernel_file(name) for name in ("a.cu", "b.ptx", "c.cubin", "d.toml", "gemm_4096")] == [True] * 3 + [
        False
    ] * 2
