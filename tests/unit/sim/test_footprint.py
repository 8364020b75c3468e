"""The sectors and lines that a CTA's copies touch."""

import numpy as np
import pytest
from doubles.published import H200
from problems.small import small_conv, small_gemm

from gpusim.families.gemm.timed import TimedTileKernel
from gpusim.schedule.lanes import GlobalRow
from gpusim.sim.footprint import Patterns, line_requests
from gpusim.tile.global_access import GlobalAccess
from gpusim.tile.requests import distinct_sectors
from gpusim.tile.shared_tables import SharedTable, copy_table


@pytest.mark.parametrize(
    "scenario", [small_gemm(100, 72, 200), small_conv(c=72), small_conv(stride=[2, 1])], ids=["gemm", "c72", "s2"]
)
def test_the_footprint_has_the_sectors_that_the_counters_count(scenario):
    """And the lines' masks hold as many sectors as are counted."""
    kernel = TimedTileKernel(scenario, H200)
    block = int(np.flatnonzero((kernel.tiles == [1, 0, 0]).all(axis=1))[0])
    cta, patterns = kernel.lanes().cta(block), Patterns()
    for operand, tile in ((0, 1), (1, 0)):
        copies = [cta.fetched(operand, number) for number in cta.fetches()[operand].number.tolist()]
        filled = copy_table(scenario.operand("ab"[operand]))
        found = [patterns.copies(access, filled, 16, around_l1=False) for access in copies]
        sectors = np.array(
            [[[[count for count, _ in warps] for warps in vecs] for vecs in pattern.requests] for _, pattern in found]
        )
        access = scenario.operand("ab"[operand]).iterator(tile, 0).fetch(np.arange(len(found)))
        fetches, threads, accesses, vecs = access.offset.shape
        lanes = (fetches, threads // 32, 32, accesses, vecs)
        offset, valid = (one.reshape(lanes).transpose(0, 3, 4, 1, 2) for one in (access.offset, access.valid))
        assert np.array_equal(sectors, distinct_sectors(offset, valid, bits=16))
        for _, pattern in found:
            for count, lines in (request for vecs in pattern.requests for warps in vecs for request in warps):
                assert sum(mask.bit_count() for _, mask in lines) == count


def access_at(*elements):
    """One access of one warp, whose lanes read 8 elements of 2 bytes each from there on; other lanes nothing."""
    given = np.full(32, -1)
    given[: len(elements)] = elements
    return GlobalAccess({}, np.maximum(given, 0)[:, None, None], (given >= 0)[:, None, None])


def filled_at(*bytes_):
    """Places in shared memory, elements of 2 bytes, that the lanes of ``access_at`` fill."""
    offsets = np.zeros(32, dtype=np.int64)
    offsets[: len(bytes_)] = bytes_
    return SharedTable(offsets[None, None, None, None] // 2, 16, 16)


@pytest.mark.parametrize(
    ("first", "requests"),
    [
        (0, [0b1111]),  # as it lies in global memory
        (6, [0b0001, 0b1110]),  # two vectors fill the end of a line of shared memory, six the next one
        (4, [0b0011, 0b1100]),
        (1, [0b1111, 0b0111, 0b1000]),  # those at even places fill one line, of those at odd ones the last the next
        (3, [0b0111, 0b1000, 0b0011, 0b1100]),
        (5, [0b0011, 0b1100, 0b0001, 0b1110]),
        (7, [0b0001, 0b1110, 0b1111]),
    ],
)
def test_a_line_is_asked_for_by_what_its_parts_fill(first, requests):
    """
    Eight lanes copy the line's vectors in order to shared memory, from vector ``first`` of a line of it on.

    Of rows of 128 bytes that lie 16 apart, every second one takes 3, 4, 4 and 3 requests and 8 sectors, as splits.csv
    has 2.62 requests and 1.5 times the sectors a row: (1 + 2 + 2 + 2 + 14) / 8, and (4 * 4 + 4 * 8) / 32.
    """
    assert line_requests(range(8), range(first, first + 8)) == tuple((0, mask) for mask in requests)


@pytest.mark.parametrize(("first", "requests"), [(0, [0b11]), (2, [0b11]), (6, [0b01, 0b10]), (1, [0b11, 0b11])])
def test_half_a_line_that_lies_askew_is_asked_for_twice(first, requests):
    """Rows of 64 bytes: both requests are for the same sectors, which the L2 merges (splits.csv: 1.25 looked up)."""
    assert line_requests(range(4), range(first, first + 4)) == tuple((0, mask) for mask in requests)


def test_vectors_may_change_places_within_32_bytes():
    assert line_requests(range(8), (1, 0, 3, 2, 5, 4, 7, 6)) == ((0, 0b1111),)


def test_lines_come_in_order_and_lanes_that_copy_nothing_do_not_count():
    assert line_requests((16, -1, 9, 8), (0, 1, 2, 3)) == ((1, 0b0001), (2, 0b0001))


def test_fetches_a_whole_number_of_lines_apart_are_one_pattern():
    """Lines of 64 elements: elements 64 and 200 lie in sector 0 of line 1 and sector 0 of line 3."""
    patterns = Patterns()
    filled = filled_at(0, 16)
    first, pattern = patterns.copies(access_at(64, 200), filled, 16, around_l1=True)
    later, again = patterns.copies(access_at(64 + 640, 200 + 640), filled, 16, around_l1=True)
    _, other = patterns.copies(access_at(64 + 16, 200 + 16), filled, 16, around_l1=True)

    assert (first, later) == (1, 11)
    assert again is pattern
    assert pattern.requests == [[[(2, ((0, 1), (2, 1)))]]]
    assert other.requests == [[[(2, ((0, 2), (2, 2)))]]]


def test_lanes_that_read_nothing_touch_nothing():
    _, pattern = Patterns().copies(access_at(), filled_at(), 16, around_l1=True)

    assert pattern.requests == [[[(0, ())]]]


@pytest.mark.parametrize(("elements", "sectors"), [(8, [32, 0]), (4, [16])])
def test_of_a_row_that_the_l1_keeps_a_sector_goes_once(elements, sectors):
    """
    A warp's lanes have so many floats each, loaded four at a time: of eight, both loads touch all 32 sectors, of which
    the L1 has them all at the second; of four there is one load of 16.
    """
    lane = np.arange(32) * elements
    offset = np.stack([lane + 4 * load for load in range(elements // 4)], axis=1)
    row = GlobalRow(offset, np.ones_like(offset, dtype=bool), 32, 16)

    def counts(row):
        first, requests = Patterns().output(row)
        assert first == 0
        return [[count for count, _ in warps] for warps in requests]

    assert counts(row._replace(kept=True)) == [[count] for count in sectors]
    assert counts(row) == [[max(sectors)]] * len(sectors)


def test_a_store_has_the_lines_that_it_touches():
    """
    Bytes 640 + 32 to 640 + 63, and 640 + 288 to 640 + 319, in 16-byte accesses of four lanes; the others store nothing.

    The first line is 5; sector 1 of it, and sector 1 of the second line behind it. An access of 64 bytes touches two
    sectors, here of different lines: bytes 96 to 159.
    """
    offset, valid = np.zeros((32, 1), dtype=np.int64), np.zeros((32, 1), dtype=bool)
    offset[:4, 0], valid[:4] = (640 // 4 + np.array([8, 12, 72, 76])), True
    wide = np.where(valid, 96 // 4, 0)

    assert Patterns().output(GlobalRow(offset, valid, 32, 16)) == (5, [[(2, ((0, 2), (2, 2)))]])
    assert Patterns().output(GlobalRow(wide, valid, 32, 64)) == (0, [[(2, ((0, 8), (1, 1)))]])
    assert Patterns().output(GlobalRow(offset, ~valid & valid, 32, 16)) == (None, [[(0, ())]])
