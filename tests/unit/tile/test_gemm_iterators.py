"""Laws of the predicated GEMM iterator: coverage, the residue first, and the walk."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.tile.extents import gemm_k_ranges
from gpusim.tile.gemm_iterators import GemmSource, PredicatedIterator
from gpusim.tile.thread_map import congruous_thread_map, crosswise_thread_map

TILE_K, ROWS = 32, 16
THREAD_MAP = crosswise_thread_map(TILE_K, ROWS, 32, 16)
COLUMNS = 128
CONGRUOUS_MAP = congruous_thread_map(COLUMNS, TILE_K, 64, 16)


@st.composite
def iterators(draw):
    """An source of any extent, contiguity, alignment and slicing; the iterator over all CTAs' tiles and slices."""
    vec, k_contiguous = draw(st.sampled_from([1, 2, 4, 8])), draw(st.booleans())
    k, extent, slices = draw(st.integers(1, 120)), draw(st.integers(1, 150)), draw(st.integers(1, 4))
    k, extent = (-(-k // vec) * vec, extent) if k_contiguous else (k, -(-extent // vec) * vec)
    source = GemmSource(
        side=draw(st.sampled_from(["a", "b"])),
        extent=extent,
        k=k,
        leading=(k if k_contiguous else extent) + draw(st.integers(0, 3)) * vec,
        bits=16,
        k_contiguous=k_contiguous,
        split_k_slices=slices,
    )
    tile, slice_ = np.indices((-(-extent // (ROWS if k_contiguous else COLUMNS)), slices))
    thread_map = THREAD_MAP if k_contiguous else CONGRUOUS_MAP
    return PredicatedIterator(source, thread_map, vec, tile=tile, slice_=slice_)


@settings(deadline=None)
@given(iterators())
def test_valid_accesses_fetch_every_element_exactly_once(iterator):
    source = iterator.source
    contiguous, strided = (source.k, source.extent) if source.k_contiguous else (source.extent, source.k)
    fetched = np.zeros(strided * source.leading, dtype=int)
    for number in range(-(-source.k // TILE_K) + 2):
        access = iterator.fetch(number)
        for element in range(iterator.elements_per_vec):
            np.add.at(fetched, access.offset[access.valid] + element, 1)
    rows = fetched.reshape(strided, source.leading)

    assert (rows[:, :contiguous] == 1).all()
    assert (rows[:, contiguous:] == 0).all()


@settings(deadline=None)
@given(iterators(), st.integers(0, 5))
def test_coordinates_give_the_offset(iterator, number):
    access, source = iterator.fetch(number), iterator.source
    row, column = access.coordinates["row"], access.coordinates["column"]
    mn, k = (row, column) if source.side == "a" else (column, row)
    strided, contiguous = (mn, k) if source.k_contiguous else (k, mn)

    assert (access.offset == strided * source.leading + contiguous).all()
    assert (~access.valid | (mn < source.extent) & (k < source.k)).all()


@settings(deadline=None)
@given(iterators(), st.integers(0, 4), st.integers(0, 4))
def test_fetches_of_equal_signature_differ_by_whole_sectors(iterator, one, other):
    first, second = iterator.fetch(one), iterator.fetch(other)
    alike = iterator.signature(one) == iterator.signature(other)
    apart = (second.offset - first.offset)[alike]

    assert (first.valid[alike] == second.valid[alike]).all()
    assert (apart % 16 == 0).all()
    assert (apart == apart[..., :1, :1, :1]).all()


@settings(deadline=None)
@given(iterators())
def test_residue_comes_first_and_whole_tiles_follow(iterator):
    begin, end = np.moveaxis(gemm_k_ranges(iterator.source.k, TILE_K, iterator.source.split_k_slices), -1, 0)
    first, width = iterator.k_window(0)
    second, _ = iterator.k_window(1)
    empty = (begin == end)[iterator.slice_]

    assert (first == begin[iterator.slice_]).all()
    assert ((second - first - width)[~empty] == 0).all()
    assert (((end[iterator.slice_] - second) % TILE_K)[~empty] == 0).all()


@settings(deadline=None)
@given(iterators())
def test_the_walk_visits_the_accesses_of_each_fetch(iterator):
    for number in range(3):
        access = iterator.fetch(number)
        for index in range(iterator.thread_map.accesses * iterator.vecs):
            lane = (..., *divmod(index, iterator.vecs))
            assert (iterator.get() == access.offset[lane]).all()
            assert (iterator.valid() == access.valid[lane]).all()
            assert all((axis == access.coordinates[name][lane]).all() for name, axis in iterator.at().items())
            iterator.increment()
        iterator.advance()


def test_set_iteration_index_selects_access_and_vec():
    source = GemmSource("a", 16, 64, 64, 16)
    iterator = PredicatedIterator(source, THREAD_MAP, 4, tile=0, slice_=0)
    iterator.set_iteration_index(3)

    assert (iterator.get() == iterator.fetch(0).offset[:, 1, 1]).all()


def test_an_array_of_fetches_gives_each_its_own_k_tile():
    iterator = PredicatedIterator(GemmSource("a", 16, 100, 100, 16), THREAD_MAP, 4, tile=0, slice_=0)
    together = iterator.fetch(np.arange(6))

    assert all((together.offset[number] == iterator.fetch(number).offset).all() for number in range(6))
    assert all((together.valid[number] == iterator.fetch(number).valid).all() for number in range(6))


def test_an_alignment_that_does_not_divide_the_access_is_refused():
    with pytest.raises(ValueError, match=r"^alignment of 3 elements does not divide an access of 8 elements$"):
        PredicatedIterator(GemmSource("a", 16, 48, 48, 16), THREAD_MAP, 3, tile=0, slice_=0)
