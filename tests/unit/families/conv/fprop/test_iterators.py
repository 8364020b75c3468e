"""Laws of the convolution iterators: the plain index formula, coverage, CUTLASS's walk, one address for both kinds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.families.conv.fprop.iterators import ActivationIterator, FilterIterator
from gpusim.families.conv.fprop.optimized import ActivationIteratorOptimized, FilterIteratorOptimized
from gpusim.tile.extents import ConvShape
from gpusim.tile.k_walk import implicit_gemm_walk
from gpusim.tile.thread_map import crosswise_thread_map

TILE_K, ROWS = 32, 16
THREAD_MAP = crosswise_thread_map(TILE_K, ROWS, 32, 16)
KINDS = (ActivationIterator, FilterIterator, ActivationIteratorOptimized, FilterIteratorOptimized)
OPTIMIZED = {ActivationIterator: ActivationIteratorOptimized, FilterIterator: FilterIteratorOptimized}

pairs = st.tuples(st.integers(1, 3), st.integers(1, 3))


@st.composite
def shapes(draw):
    """Any convolution with a non-empty output, padded beyond the filter at times."""
    vec = draw(st.sampled_from([2, 4, 8]))
    padding, stride, dilation = draw(st.tuples(st.integers(0, 3), st.integers(0, 3))), draw(pairs), draw(pairs)
    r, s = draw(pairs)
    h, w = (
        draw(st.integers(max(1, d * (f - 1) + 1 - 2 * p), 7)) for p, d, f in zip(padding, dilation, (r, s), strict=True)
    )
    p, q = (
        (extent + 2 * pad - d * (f - 1) - 1) // step + 1
        for extent, pad, d, f, step in zip((h, w), padding, dilation, (r, s), stride, strict=True)
    )
    shape = ConvShape(
        *(draw(st.integers(1, 3)), h, w, draw(st.integers(1, 40 // vec * 2)) * vec, draw(st.integers(1, 40))),
        *(r, s, p, q, padding, stride, dilation),
        mode=draw(st.sampled_from(["cross_correlation", "convolution"])),
        split_k_slices=draw(st.integers(1, 3)),
    )
    return shape, vec


def all_ctas(iterator, shape, vec, rows):
    tile, slice_ = np.indices((-(-rows // ROWS), shape.split_k_slices))
    return iterator(shape, 16, THREAD_MAP, vec, tile=tile, slice_=slice_)


def cutlass_walk(shape, slice_):
    """(r, s, first channel) of each k tile, as ``advance()`` moves: S, then R, then C."""
    r, s, c = 0, 0, slice_ * TILE_K
    for _ in range(implicit_gemm_walk(shape, "fprop", TILE_K).k_tiles + 2):
        yield r, s, c
        s += 1
        if s == shape.s:
            s, r = 0, r + 1
        if r == shape.r:
            r, c = 0, c + TILE_K * shape.split_k_slices


def input_row(m, r, s, shape):
    """(n, h, w) of output row m at filter position (r, s): the definition of a convolution."""
    n, p, q = m // (shape.p * shape.q), m // shape.q % shape.p, m % shape.q
    flip = shape.mode == "convolution"
    r, s = (shape.r - 1 - r, shape.s - 1 - s) if flip else (r, s)
    h = p * shape.stride[0] - shape.padding[0] + r * shape.dilation[0]
    w = q * shape.stride[1] - shape.padding[1] + s * shape.dilation[1]
    return n, h, w


@settings(deadline=None, max_examples=60)
@given(shapes())
def test_activation_coordinates_are_the_plain_convolution_formula(case):
    shape, vec = case
    iterator = all_ctas(ActivationIterator, shape, vec, shape.n * shape.p * shape.q)
    thread_map = THREAD_MAP.offsets()
    m = iterator.tile[..., None, None] * ROWS + thread_map[..., 1]
    for slice_ in range(shape.split_k_slices):
        for number, (r, s, first) in enumerate(cutlass_walk(shape, slice_)):
            access = iterator.fetch(number)
            n, h, w = input_row(m, r, s, shape)
            for vec_index in range(iterator.vecs):
                at = {name: axis[:, slice_, ..., vec_index] for name, axis in access.coordinates.items()}
                c = first + thread_map[..., 0] + vec_index * vec
                assert (at["n"] == n[:, slice_]).all()
                assert (at["h"] == h[:, slice_]).all()
                assert (at["w"] == w[:, slice_]).all()
                assert (at["c"] == c).all()
            n, h, w, c = (access.coordinates[name] for name in "nhwc")
            inside = (n < shape.n) & (h >= 0) & (h < shape.h) & (w >= 0) & (w < shape.w) & (c < shape.c)
            assert (access.valid == inside).all()
            assert (access.offset == ((n * shape.h + h) * shape.w + w) * shape.c + c).all()


@settings(deadline=None, max_examples=60)
@given(shapes())
def test_every_product_of_the_convolution_has_its_activation_fetched_once(case):
    shape, vec = case
    rows = shape.n * shape.p * shape.q
    iterator = all_ctas(ActivationIterator, shape, vec, rows)
    fetched = np.zeros((rows, shape.r, shape.s, shape.c), dtype=int)
    m = np.broadcast_to(
        (iterator.tile[..., None, None] * ROWS + THREAD_MAP.offsets()[..., 1])[..., None],
        iterator.fetch(0).offset.shape,
    )
    for number, (r, s, _) in enumerate(cutlass_walk(shape, 0)):
        access = iterator.fetch(number)
        for element in range(vec):
            c = access.coordinates["c"][access.valid] + element
            np.add.at(fetched, (m[access.valid], r, s, c), 1)
    m, r, s, _ = np.indices(fetched.shape, sparse=True)
    _, h, w = input_row(m, r, s, shape)
    in_range = (h >= 0) & (h < shape.h) & (w >= 0) & (w < shape.w)

    assert (fetched == in_range).all()


@settings(deadline=None, max_examples=60)
@given(shapes())
def test_every_filter_element_is_fetched_once_and_never_flipped(case):
    shape, vec = case
    iterator = all_ctas(FilterIterator, shape, vec, shape.k)
    fetched = np.zeros((shape.k, shape.r, shape.s, shape.c), dtype=int)
    for number, (r, s, _) in enumerate(cutlass_walk(shape, 0)):
        access = iterator.fetch(number)
        assert (access.coordinates["r"] == r).all()
        assert (access.coordinates["s"] == s).all()
        for element in range(vec):
            np.add.at(fetched.reshape(-1), access.offset[access.valid] + element, 1)

    assert (fetched == 1).all()


@settings(deadline=None, max_examples=30)
@given(shapes(), st.sampled_from(KINDS))
def test_the_walk_visits_the_accesses_of_each_fetch(case, kind):
    shape, vec = case
    iterator = all_ctas(kind, shape, vec, 20)
    for number in range(4):
        access = iterator.fetch(number)
        for index in range(THREAD_MAP.accesses * iterator.vecs):
            lane = (..., *divmod(index, iterator.vecs))
            assert (iterator.get() == access.offset[lane]).all()
            assert (iterator.valid() == access.valid[lane]).all()
            assert all((axis == access.coordinates[name][lane]).all() for name, axis in iterator.at().items())
            iterator.increment()
        iterator.advance()


@settings(deadline=None, max_examples=30)
@given(shapes(), st.sampled_from(KINDS))
def test_the_pipeline_overrun_is_invalid_everywhere(case, kind):
    shape, vec = case
    iterator = all_ctas(kind, shape, vec, 20)
    iterations = implicit_gemm_walk(shape, "fprop", TILE_K).k_tiles

    assert not any(iterator.fetch(iterations + extra).valid.any() for extra in range(4))


@settings(deadline=None, max_examples=150)
@given(shapes(), st.sampled_from(list(OPTIMIZED)), st.data())
def test_steps_and_masks_give_the_analytic_offsets_and_predicates_the_overrun_included(case, analytic, data):
    shape, vec = case
    rows = shape.n * shape.p * shape.q if analytic is ActivationIterator else shape.k
    both = [all_ctas(kind, shape, vec, rows + ROWS) for kind in (analytic, OPTIMIZED[analytic])]
    number = data.draw(st.integers(0, implicit_gemm_walk(shape, "fprop", TILE_K).k_tiles + 4))
    for _ in range(2):  # a fetch in closed form, then the one that advance() reaches from it
        recomputed, stepped = (iterator.fetch(number) for iterator in both)
        assert (recomputed.offset == stepped.offset).all()
        assert (recomputed.valid == stepped.valid).all()
        assert recomputed.coordinates.keys() == stepped.coordinates.keys()
        number += 1


@settings(deadline=None, max_examples=30)
@given(shapes(), st.sampled_from(list(OPTIMIZED)))
def test_steps_broadcast_over_fetches_and_ctas(case, analytic):
    shape, vec = case
    number = np.arange(6)
    together = OPTIMIZED[analytic](shape, 16, THREAD_MAP, vec, tile=1, slice_=0).fetch(number)
    for one in number:
        alone = OPTIMIZED[analytic](shape, 16, THREAD_MAP, vec, tile=[1], slice_=0).fetch(one)
        assert (together.offset[one] == alone.offset[0]).all()
        assert (together.valid[one] == alone.valid[0]).all()


@pytest.mark.parametrize("kind", OPTIMIZED.values())
def test_a_filter_wider_than_a_mask_is_refused(kind):
    shape = ConvShape(1, 4, 40, 8, 8, 1, 33, 4, 8, (0, 0), (1, 1), (1, 1))

    with pytest.raises(ValueError, match=r"^the optimized iterators' masks have 32 bits, got a filter of 1 x 33$"):
        kind(shape, 16, THREAD_MAP, 8, tile=0, slice_=0)


def test_a_filter_as_wide_as_a_mask_uses_its_last_bit():
    shape = ConvShape(1, 32, 32, 8, 8, 32, 32, 1, 1, (0, 0), (1, 1), (1, 1))
    iterator = ActivationIteratorOptimized(shape, 16, THREAD_MAP, 8, tile=0, slice_=0)
    last = iterator.fetch(32 * 32 - 1)

    assert last.valid.sum() == 1
    assert last.offset[last.valid].tolist() == [(32 * 32 - 1) * 8]
