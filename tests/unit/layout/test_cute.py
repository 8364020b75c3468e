"""Laws of CuTe layouts and swizzles, over all coordinates or for all inputs."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gpusim.errors import BadInput
from gpusim.layout.cute import Layout, Swizzle, SwizzledLayout, row_major
from gpusim.layout.printed import parse_layout, parse_swizzle


@st.composite
def swizzles(draw):
    bits = draw(st.integers(0, 3))
    distance = draw(st.integers(bits, 5))
    return Swizzle(bits, draw(st.integers(0, 4)), draw(st.sampled_from((1, -1))) * distance)


def nested(leaf):
    return st.recursive(leaf, lambda inner: st.lists(inner, min_size=1, max_size=3).map(tuple), max_leaves=5)


@st.composite
def layouts(draw):
    def strides(shape):
        return draw(st.integers(0, 40)) if isinstance(shape, int) else tuple(map(strides, shape))

    shape = draw(nested(st.integers(1, 6)))
    return Layout(shape, strides(shape))


@given(swizzles(), st.lists(st.integers(0, 1 << 20), min_size=1))
def test_a_swizzle_is_its_own_inverse(swizzle, offsets):
    assert swizzle.apply(swizzle.apply(np.array(offsets))).tolist() == offsets


@given(swizzles(), st.integers(0, 1000))
def test_a_swizzle_permutes_each_span(swizzle, block):
    span = block * swizzle.span + np.arange(swizzle.span)

    assert np.array_equal(np.sort(swizzle.apply(span)), span)


@given(swizzles(), st.integers(0, 1 << 16))
def test_a_swizzle_keeps_runs_of_2_to_the_base(swizzle, run):
    offsets = (run << swizzle.base) + np.arange(1 << swizzle.base)

    assert np.all(np.diff(swizzle.apply(offsets)) == 1)


@given(swizzles())
def test_a_printed_swizzle_parses_to_itself(swizzle):
    assert parse_swizzle(str(swizzle)) == swizzle


def test_swizzle_3_3_3_xors_the_vector_with_the_row_of_64():
    row, vector = np.ogrid[:16, :8]

    assert np.array_equal(Swizzle(3, 3, 3).apply(row * 64 + vector * 8), row * 64 + (vector ^ row % 8) * 8)


@given(layouts())
def test_a_printed_layout_parses_to_itself(layout):
    assert parse_layout(str(layout)) == layout


@given(layouts())
def test_a_flat_layout_is_the_same_function(layout):
    index = np.arange(layout.size)

    assert np.array_equal(layout.flat.offset(index), layout.offset(index))


@given(layouts())
def test_cosize_is_one_past_the_largest_offset(layout):
    assert layout.cosize == layout.offset(np.arange(layout.size)).max() + 1


@given(layouts())
def test_an_integer_counts_coordinates_with_the_first_mode_fastest(layout):
    assume(isinstance(layout.shape, tuple))
    extents = [mode.size for mode in layout.modes]
    coordinates = np.unravel_index(np.arange(layout.size), extents, order="F")

    assert np.array_equal(layout.offset(list(coordinates)), layout.offset(np.arange(layout.size)))


def test_offset_is_the_inner_product_with_the_strides():
    layout = parse_layout("((4,2),64):((64,512),1)")

    assert layout.offset(((3, 1), 5)) == 3 * 64 + 512 + 5
    assert layout.offset((7, 5)) == 3 * 64 + 512 + 5
    assert (layout.size, layout.cosize, str(layout.flat)) == (512, 3 * 64 + 512 + 63 + 1, "(4,2,64):(64,512,1)")


@pytest.mark.parametrize(
    "text", ["", "8", "(8,64)", "(8,64):", "(8,,64):(1,1)", "(8 64):(1,1)", "(8,64:(64,1)", "8,4:1,1"]
)
def test_text_that_is_no_layout_is_refused(text):
    with pytest.raises(BadInput, match=r"^layout must read SHAPE:STRIDE, as \(8,64\):\(64,1\), got '"):
        parse_layout(text)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Swizzle(3, 3, 2), r"^Swizzle<3,3,2>: \|S\| must be at least B, got S = 2 with B = 3$"),
        (lambda: Swizzle(-1, 3, 3), r"^Swizzle<-1,3,3>: B and M must be at least 0$"),
        (lambda: parse_swizzle("Swizzle<3,3>"), r"^swizzle must read Swizzle<B,M,S> with three integers, got 'Swizzle"),
        (lambda: Layout((8, 64), 1), r"^\(8,64\):1: shape and stride must be nested alike$"),
        (lambda: Layout((0, 64), (64, 1)), r"extents must be at least 1 and strides at least 0$"),
        (lambda: row_major(8, 64).offset((1, 2, 3)), r"does not fit shape \(8,64\)$"),
        (
            lambda: SwizzledLayout(16, 64, 16, 1, Swizzle(3, 3, 3), row_major(8, 64)),
            r"^\(8,64\):\(64,1\): must have the modes \(strided, contiguous\) = \(16,64\)$",
        ),
    ],
)
def test_illegal_swizzles_and_layouts_are_refused(make, message):
    with pytest.raises(BadInput, match=message):
        make()
