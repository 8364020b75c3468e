"""Expressions of the lane: C's integers, operators and parentheses, and nothing else."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.errors import BadInput
from gpusim.layout.bank_map import describe_layout
from gpusim.layout.lane_expression import lane_values

LANES = np.arange(32)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("lane%8*64", LANES % 8 * 64),
        ("lane / 8", LANES // 8),
        ("lane//8 + 2*(lane & 3)", LANES // 8 + 2 * (LANES & 3)),
        ("(lane ^ lane >> 2) << 1", (LANES ^ LANES >> 2) << 1),
        ("lane & 7 ^ lane >> 3 | 16", LANES & 7 ^ LANES >> 3 | 16),
        ("-lane + 31", 31 - LANES),
        ("--5", np.full(32, 5)),
        ("10 - 3 - 2", np.full(32, 5)),
    ],
)
def test_operators_bind_as_in_c(text, values):
    assert lane_values(text).tolist() == values.tolist()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lane %% 8", "character 7 must be an integer, lane or (, got '%'"),
        ("lane * 8)", "character 9 must be an operator, got ')'"),
        ("(lane * 8", "an operator or ) must follow"),
        ("lane lane", "character 6 must be an operator, got 'lane'"),
        ("thread / 8", "character 1 must be an integer, lane or (, got 'thread'"),
        ("lane ** 2", "character 7 must be an integer, lane or (, got '*'"),
        ("lane.real", "character 5 must be an integer, lane, an operator or a parenthesis, got '.'"),
        ("8 *", "an integer, lane or ( must follow"),
        ("", "an integer, lane or ( must follow"),
        ("8 / lane", "the / at character 3 must not divide by 0, as for lane 0"),
        ("8 % (lane - 5)", "the % at character 3 must not divide by 0, as for lane 5"),
        ("1 << lane + 1", "the << at character 3 must shift by 0 to 31 bits"),
        ("lane << 31", "the << at character 6 must give at most 31 bits"),
        ("99999999999", "character 1 must be an integer of at most 31 bits, got '99999999999'"),
        ("lane" + " + lane" * 40, "an expression must have at most 200 characters, got 284"),
    ],
)
def test_what_is_no_expression_is_refused_with_its_character(text, message):
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        lane_values(text)


EXPRESSIONS = st.recursive(
    st.sampled_from(["lane", "1", "3", "8", "16"]),
    lambda inner: st.tuples(inner, st.sampled_from(["+", "-", "*", "//", "%", "&", "^", "|", ">>"]), inner).map(
        lambda parts: f"({parts[0]} {parts[1]} {parts[2]})" if parts[1] != "-" else f"{parts[0]} {parts[1]} {parts[2]}"
    ),
    max_leaves=8,
)


@given(EXPRESSIONS)
def test_an_expression_is_what_python_makes_of_it(text):
    """Python has C's order of these operators, too, and floors as is said here."""
    try:
        values = lane_values(text)
    except BadInput:
        return

    assert values.tolist() == [eval(text, {"lane": lane}) for lane in range(32)]  # noqa: S307 - made above


@given(st.text(alphabet="lane0123456789+-*/%&^|()<> .:_'", max_size=40))
def test_no_text_ends_in_anything_but_values_or_a_refusal(text):
    try:
        values = lane_values(text)
    except BadInput:
        return

    assert values.shape == (32,)


def test_an_access_by_expressions_is_the_access_lane_by_lane():
    """16 bytes of rows of 64 f16: lane l at vector l mod 8 of row l div 8."""
    by_lane = "16B@" + ",".join(f"{lane % 8 * 8}:{lane // 8}" for lane in range(32))
    ways = [("access", "16B@lane%8*8:lane/8"), ("access", by_lane), ("load", "16B")]

    expressed, listed, rows = describe_layout("row_major", 16, 64, 32, accesses=ways).accesses

    assert expressed.addresses == listed.addresses == rows.addresses
    assert (expressed.wavefronts, expressed.conflicts) == (4, 0)


def test_a_transpose_s_stores_conflict_as_many_ways_as_lanes_share_a_row_of_banks():
    """A column of 32-bit words in rows of 32: all lanes at one bank, 32-way; with a word of padding none."""
    column = [("access", "4B@0:lane")]

    assert describe_layout("row_major", 32, 32, 32, accesses=column).accesses[0].ways == 32
    assert describe_layout("padded<1>", 32, 32, 32, accesses=column).accesses[0].ways == 1


@pytest.mark.parametrize(
    ("access", "message"),
    [
        (
            "16B@lane%%8:0",
            "access, contiguous coordinate 'lane%%8': character 6 must be an integer, lane or (, got '%'",
        ),
        (
            "16B@lane:lane/0",
            "access, strided coordinate 'lane/0': the / at character 5 must not divide by 0, as for lane 0",
        ),
        (
            "16B@lane*8:0",
            "access 16B@lane*8:0: the access of lane 8 at 64:0 of 16 bytes reaches outside the 64x32 tile",
        ),
        (
            "16B@lane-1:0",
            "access 16B@lane-1:0: the access of lane 0 at -1:0 of 16 bytes reaches outside the 64x32 tile",
        ),
    ],
)
def test_an_access_that_cannot_be_is_refused(access, message):
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        describe_layout("row_major", 16, 64, 32, accesses=[("access", access)])


@pytest.mark.parametrize("access", ["16B@lane", "16B@lane:0:0", "16B@lane:0,8:0", "3B@lane:0"])
def test_an_access_of_another_form_is_refused_with_the_grammar(access):
    with pytest.raises(BadInput, match=r"access"):
        describe_layout("row_major", 16, 64, 32, accesses=[("access", access)])
