"""Requests and wavefronts of lane addresses, by hand and against a count lane by lane."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.layout.banks import Banks
from gpusim.own.accesses import (
    DISTINCT,
    LOADED,
    MATRICES,
    SPILLED,
    STORED,
    UPDATED,
    Accesses,
    Requests,
    SharedWavefronts,
)

LANES = np.arange(32)
BANKS = Banks(32, 4)


def accesses(*rows, size=4, active=0xFFFFFFFF):
    """Accesses by the addresses of their lanes; hashes are of the addresses relative to the lowest line."""
    addresses = np.array(rows)
    masks = np.broadcast_to(np.array(active), len(rows)).astype(np.int64)
    lanes = (masks[:, None] >> LANES & 1).astype(bool)
    lowest = np.where(lanes, addresses, 1 << 60).min(axis=1)
    hashes = [
        hash(tuple(np.where(taking, row - low // 128 * 128, -1).tolist()))
        for row, taking, low in zip(addresses, lanes, lowest, strict=True)
    ]
    sizes = np.broadcast_to(np.array(size), len(rows)).astype(np.int64)
    return Accesses(addresses, masks, sizes, lowest, np.array(hashes, dtype=np.int64))


def lines_of(requests, number):
    """The line requests of a request: line, sectors, whether masked, passes."""
    columns = (requests.line, requests.mask, requests.masked, requests.passes)
    return list(zip(*(one[slice(*requests.touched[number : number + 2])] for one in columns), strict=True))


def test_a_request_has_the_lines_sectors_and_passes_of_its_lanes():
    """32 words of line 3: four whole sectors, one pass each. Two lines further on the same request comes again."""
    requests = Requests(BANKS)
    request, line = requests.of(accesses(384 + 4 * LANES, 640 + 4 * LANES))

    assert (request.tolist(), line.tolist()) == ([1, 1], [3, 5])
    assert requests.asked.tolist() == [0, 4]
    assert lines_of(requests, 1) == [(0, 0b1111, 0, 4)]
    assert requests.l1_wavefronts.tolist() == [0, 1]


def test_words_that_fill_no_sector_are_masked():
    """Words 64 bytes apart: 16 lines with sectors 0 and 2, of which each store has 4 of 32 bytes."""
    requests = Requests(BANKS)
    requests.of(accesses(64 * LANES))

    assert lines_of(requests, 1) == [(line, 0b0101, 1, 2) for line in range(16)]


def test_lanes_at_one_word_take_a_pass_each():
    """All lanes at the word of sector 1: 32 passes. Half of them at each of two words of one sector: 16."""
    requests = Requests(BANKS)
    requests.of(accesses(32 + 0 * LANES, 32 + 4 * (LANES % 2)))

    assert sorted(lines_of(requests, number)[0][3] for number in (1, 2)) == [16, 32]


def test_an_access_without_lanes_has_no_request():
    requests = Requests(BANKS)

    assert [column.tolist() for column in requests.of(accesses(4 * LANES, active=0))] == [[0], [0]]
    assert requests.asked.tolist() == [0]


@given(st.lists(st.tuples(st.integers(0, 600), st.booleans()), min_size=32, max_size=32), st.sampled_from([1, 2, 4, 8]))
def test_a_request_has_every_byte_of_its_lanes_and_no_other_sector(lanes, size):
    address = np.array([word * size for word, _ in lanes])
    active = sum(1 << lane for lane, (_, taking) in enumerate(lanes) if taking)
    requests = Requests(BANKS)
    requests.of(accesses(address, size=size, active=active))
    touched = {one // 32 for one, (_, taking) in zip(address.tolist(), lanes, strict=True) if taking}
    line = min(touched, default=0) // 4

    found = {
        4 * (own + line) + sector
        for own, mask, _, _ in (lines_of(requests, 1) if active else [])
        for sector in range(4)
        if mask >> sector & 1
    }
    assert found == touched


@pytest.mark.parametrize(
    ("kind", "addresses", "size", "wavefronts"),
    [
        (LOADED, 4 * LANES, 4, 1),
        (LOADED, 8 * LANES, 4, 2),
        (LOADED, 128 * LANES, 4, 32),
        (LOADED, 0 * LANES, 4, 1),
        (STORED, 128 * (LANES % 4), 4, 4),
        (LOADED, 16 * LANES, 16, 4),
        (MATRICES, 16 * LANES, 4, 4),
        (MATRICES, 128 * LANES, 4, 32),
        (SPILLED, 128 * LANES, 4, 1),
        (SPILLED, 128 * LANES, 16, 4),
        (UPDATED, 4 * LANES, 4, 1),
        (UPDATED, 4 * (LANES % 8), 4, 4),
        (DISTINCT, 4 * (LANES % 5), 4, 5),
    ],
)
def test_wavefronts_of_an_access_to_banked_memory(kind, addresses, size, wavefronts):
    shared = SharedWavefronts(BANKS, atomic_wavefronts=1)

    for _ in range(2):  # a pattern that is known has the same answer
        assert shared.of(accesses(addresses, size=size), np.array([kind])).tolist() == [wavefronts]


def test_a_pattern_of_another_kind_or_size_is_another_one():
    shared = SharedWavefronts(BANKS, atomic_wavefronts=2)
    rows = accesses(*[4 * (LANES // 4)] * 3, size=[4, 4, 4])

    assert shared.of(rows, np.array([LOADED, UPDATED, DISTINCT])).tolist() == [1, 8, 8]
