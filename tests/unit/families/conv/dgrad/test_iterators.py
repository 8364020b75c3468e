"""Laws of the dgrad iterators: the forward convolution read backwards, coverage, CUTLASS's walk, equal signatures."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.families.conv.dgrad.iterators import DgradFilterIterator, OutputGradientIterator
from gpusim.tile.extents import ConvShape
from gpusim.tile.k_walk import implicit_gemm_walk
from gpusim.tile.thread_map import congruous_thread_map, crosswise_thread_map

TILE_K, ROWS, COLUMNS = 32, 16, 64
MAPS = {
    OutputGradientIterator: crosswise_thread_map(TILE_K, ROWS, 32, 16),
    DgradFilterIterator: congruous_thread_map(COLUMNS, TILE_K, 32, 16),
}


@st.composite
def shapes(draw):
    """Any convolution of stride 1 with a non-empty output, padded beyond the filter at times, p and q as given."""
    vec = draw(st.sampled_from([2, 4, 8]))
    padding = draw(st.tuples(st.integers(0, 3), st.integers(0, 3)))
    dilation, (r, s) = draw(st.tuples(st.integers(1, 3), st.integers(1, 3))), draw(st.tuples(*[st.integers(1, 3)] * 2))
    h, w = (
        draw(st.integers(max(1, d * (f - 1) + 1 - 2 * p), 7)) for p, d, f in zip(padding, dilation, (r, s), strict=True)
    )
    p, q = (
        max(extent + 2 * pad - d * (f - 1) - draw(st.integers(0, 1)), 1)
        for extent, pad, d, f in zip((h, w), padding, dilation, (r, s), strict=True)
    )
    c, k = draw(st.integers(1, 70 // vec)) * vec, draw(st.integers(1, 80 // vec)) * vec
    shape = ConvShape(
        *(draw(st.integers(1, 3)), h, w, c, k, r, s, p, q, padding, (1, 1), dilation),
        mode=draw(st.sampled_from(["cross_correlation", "convolution"])),
        split_k_slices=draw(st.integers(1, 3)),
    )
    return shape, vec


def all_ctas(iterator, shape, vec):
    tiles = -(-shape.n * shape.h * shape.w // ROWS) if iterator is OutputGradientIterator else -(-shape.c // COLUMNS)
    tile, slice_ = np.indices((tiles, shape.split_k_slices))
    return iterator(shape, 16, MAPS[iterator], vec, tile=tile, slice_=slice_)


def fetches(shape):
    return implicit_gemm_walk(shape, "dgrad", TILE_K).k_tiles


def forward_reads(shape):
    """[h, p, r] and [w, q, s]: whether output p reads activation h at filter row r of the walk. The definition."""

    def axis(inputs, outputs, positions, pad, dilation):
        h, p, r = np.indices((inputs, outputs, positions), sparse=True)
        flipped = positions - 1 - r if shape.mode == "convolution" else r
        return p - pad + flipped * dilation == h

    rows = axis(shape.h, shape.p, shape.r, shape.padding[0], shape.dilation[0])
    return rows, axis(shape.w, shape.q, shape.s, shape.padding[1], shape.dilation[1])


@settings(deadline=None, max_examples=60)
@given(shapes())
def test_every_product_of_the_forward_convolution_is_fetched_once_for_its_input(case):
    """[m, r, s, p, q, k]: input m meets output (p, q) at filter position (r, s) where the forward pass read it."""
    shape, vec = case
    iterator = all_ctas(OutputGradientIterator, shape, vec)
    fetched = np.zeros((shape.n * shape.h * shape.w, shape.r, shape.s, shape.p, shape.q, shape.k), dtype=int)
    m = np.broadcast_to(
        (iterator.tile[..., None, None] * ROWS + MAPS[OutputGradientIterator].offsets()[..., 1])[..., None],
        iterator.fetch(0).offset.shape,
    )
    for number in range(fetches(shape)):
        access, (r, s, _) = iterator.fetch(number), iterator.filter_position(number)
        p, q, k = (access.coordinates[name][access.valid] for name in "pqk")
        assert (access.coordinates["n"][access.valid] == m[access.valid] // (shape.h * shape.w)).all()
        for element in range(vec):
            np.add.at(fetched, (m[access.valid], int(r), int(s), p, q, k + element), 1)
    rows, columns = forward_reads(shape)
    h, w = np.divmod(np.arange(len(fetched)) % (shape.h * shape.w), shape.w)
    expected = rows[h].transpose(0, 2, 1)[:, :, None, :, None] & columns[w].transpose(0, 2, 1)[:, None, :, None, :]

    assert (fetched == expected[..., None]).all()


@settings(deadline=None, max_examples=60)
@given(shapes())
def test_every_filter_element_is_fetched_once_and_never_flipped(case):
    shape, vec = case
    iterator = all_ctas(DgradFilterIterator, shape, vec)
    fetched = np.zeros((shape.k, shape.r, shape.s, shape.c), dtype=int)
    for number in range(fetches(shape)):
        access, (r, s, _) = iterator.fetch(number), iterator.filter_position(number)
        assert (access.coordinates["r"] == r).all()
        assert (access.coordinates["s"] == s).all()
        for element in range(vec):
            np.add.at(fetched.reshape(-1), access.offset[access.valid] + element, 1)

    assert (fetched == 1).all()


@settings(deadline=None, max_examples=60)
@given(shapes(), st.sampled_from(list(MAPS)), st.data())
def test_an_offset_is_that_of_its_coordinates_also_where_nothing_is_read(case, kind, data):
    shape, vec = case
    access = all_ctas(kind, shape, vec).fetch(data.draw(st.integers(0, fetches(shape) + 2)))
    at = access.coordinates
    if kind is OutputGradientIterator:
        expected = ((at["n"] * shape.p + at["p"]) * shape.q + at["q"]) * shape.k + at["k"]
    else:
        expected = ((at["k"] * shape.r + at["r"]) * shape.s + at["s"]) * shape.c + at["c"]

    assert (access.offset == expected).all()


@settings(deadline=None, max_examples=60)
@given(shapes(), st.sampled_from(list(MAPS)))
def test_the_pipeline_overrun_is_invalid_everywhere(case, kind):
    shape, vec = case
    iterator = all_ctas(kind, shape, vec)

    assert not any(iterator.fetch(fetches(shape) + extra).valid.any() for extra in range(4))


@settings(deadline=None, max_examples=30)
@given(shapes(), st.sampled_from(list(MAPS)))
def test_the_walk_visits_the_accesses_of_each_fetch(case, kind):
    shape, vec = case
    iterator = all_ctas(kind, shape, vec)
    for number in range(4):
        access = iterator.fetch(number)
        for index in range(MAPS[kind].accesses * iterator.vecs):
            lane = (..., *divmod(index, iterator.vecs))
            assert (iterator.get() == access.offset[lane]).all()
            assert (iterator.valid() == access.valid[lane]).all()
            iterator.increment()
        iterator.advance()


@settings(deadline=None, max_examples=100)
@given(shapes(), st.sampled_from(list(MAPS)), st.data())
def test_fetches_of_equal_signature_have_equal_predicates_and_lie_whole_lines_apart(case, kind, data):
    shape, vec = case
    iterator = all_ctas(kind, shape, vec)
    one, other = (data.draw(st.integers(0, fetches(shape) + 1)) for _ in range(2))
    signatures = np.stack([iterator.signature(one), iterator.signature(other)]).reshape(2, -1)
    offsets, valid = (
        np.stack([getattr(iterator.fetch(number), name) for number in (one, other)]) for name in ("offset", "valid")
    )
    flat_offsets = offsets.reshape(2 * signatures.shape[1], -1)
    flat_valid = valid.reshape(2 * signatures.shape[1], -1)
    flat = signatures.reshape(-1)
    for signature in np.unique(flat):
        alike = flat == signature
        same_valid, same_offsets = flat_valid[alike], flat_offsets[alike]
        assert (same_valid == same_valid[0]).all()
        apart = (same_offsets - same_offsets[0])[:, same_valid[0]]
        assert (apart == apart[:, :1]).all()
        assert (apart % 64 == 0).all(), "elements of 16 bits: 64 are a line of 128 bytes"
