"""What a grid finds in the L2, in the order of its CTAs, with the arithmetic on paper."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from doubles.published import H200
from hypothesis import given, settings
from hypothesis import strategies as st
from problems.gemm import random_scenario
from problems.small import small_conv, small_gemm

from gpusim.families.gemm.timed import TimedTileKernel
from gpusim.machine.spec.l2 import L2MergingSpec
from gpusim.sim.core.engine import chosen, engine
from gpusim.sim.footprint import L2Status
from gpusim.sim.l2_walk import L2Walk
from gpusim.sim.stack_distance import missed_fetches


@pytest.fixture(params=("interpreted", "compiled"))
def granules(request):
    """Each execution's granules, where it is at hand."""
    with chosen("interpreted" if request.param == "interpreted" else "auto"):
        return engine().module.Granules


def test_the_walk_misses_once_then_hits_until_it_is_driven_out(granules):
    """Room for 1000 bytes; granules of 400: a, b, a, then c drives b out."""
    held = granules(1000, 4)
    log = [(name, held.touch(name, 1, 400)) for name in (1, 2, 1, 3, 1, 2)]

    assert log == [(1, 1), (2, 1), (1, 0), (3, 1), (1, 0), (2, 1)]


def test_the_walk_misses_only_the_pixels_that_are_new(granules):
    held = granules(1 << 20, 1)
    log = [held.touch(0, parts, 128) for parts in (0b0011, 0b0110, 0b0111)]

    assert log == [0b0011, 0b0100, 0]


def with_l2(capacity):
    """An H200 with an L2 of one partition and so many bytes, before which four requests are merged."""
    return replace(H200, l2=replace(H200.l2, bytes=capacity, partitions=1, merging=L2MergingSpec(most=4, window=0)))


class OldestFirst:
    """A cache as it is told: granules in a dictionary, in the order of use."""

    def __init__(self, capacity):
        self.capacity, self.held = capacity, {}

    def touch(self, granule, parts, size):
        known, brought = self.held.pop(granule, (0, 0))
        missing = parts & ~known
        self.held[granule] = known | missing, brought + missing.bit_count() * size
        while sum(size for _, size in self.held.values()) > self.capacity and len(self.held) > 1:
            del self.held[next(iter(self.held))]
        return missing


@given(
    rows=st.lists(
        st.lists(st.tuples(st.integers(0, 5), st.integers(1, (1 << 16) - 1)), max_size=4), min_size=1, max_size=12
    ),
    keys=st.integers(1, 3),
    capacity=st.integers(1, 150),
    execution=st.sampled_from(["interpreted", "auto"]),
)
@settings(deadline=None, max_examples=150)
def test_what_fetches_find_is_what_a_list_in_the_order_of_use_finds(rows, keys, capacity, execution):
    """
    Rows of touches, ``keys`` of them a turn; parts of granule g take g + 1 bytes.

    Slow is what is missing, or was in this turn; fresh what nobody has touched in it.
    """
    held, expected = OldestFirst(capacity), []
    for number, row in enumerate(rows):
        if number % keys == 0:
            coming, touched = Counter(), Counter()
        found = np.zeros(4, dtype=np.int64)
        for granule, parts in row:
            missing = held.touch(granule, parts, granule + 1)
            coming[granule] |= missing
            masks = parts, missing, parts & coming[granule], parts & ~touched[granule]
            touched[granule] |= parts
            found += [mask.bit_count() * (granule + 1) for mask in masks]
        expected.append(found.tolist())
    flat = [(number, granule, parts, granule + 1) for number, row in enumerate(rows) for granule, parts in row]
    columns = [np.array(one, dtype=np.int64) for one in zip(*flat, strict=True)] or [np.zeros(0, dtype=np.int64)] * 4
    figures, turns = np.zeros((4, len(rows)), dtype=np.int64), 1 + np.arange(len(rows)) // keys
    with chosen(execution):
        engine().module.Granules(capacity, 6).walk(
            list(map(memoryview, columns)), memoryview(turns), list(map(memoryview, figures))
        )

    assert figures.T.tolist() == expected


def walk_of(scenario, resident, waves, machine=H200):
    return L2Walk(TimedTileKernel(scenario, machine), resident, waves)


def test_each_byte_of_a_gemm_that_fits_is_missed_once():
    """256 x 192 x 320 f16: A and B once each, however many CTAs read them."""
    walk = walk_of(small_gemm(256, 192, 320), 6, 2)

    assert walk.bytes_missed() == (256 + 192) * 320 * 2
    assert walk.bytes_asked == (256 * 3 + 192 * 4) * 320 * 2


def test_the_second_wave_finds_what_the_first_brought():
    """
    One column of tiles, two waves of two CTAs. A's tiles are new in each wave, B's tile is there in the second.

    In a wave, both CTAs of the first wait for B: 1000 per mille. Of two CTAs' requests for B, half is brought.
    """
    walk = walk_of(small_gemm(256, 64, 128), 2, 2)
    (a0, b0), (a2, b2) = walk.status(0), walk.status(2)

    assert a0[0] == a2[0] == L2Status(slow=1000, missed=1000)
    assert b0[0] == L2Status(slow=1000, missed=500, shared=2)
    assert b2[0] == L2Status(slow=0, missed=0, shared=2)


def test_requests_of_one_group_are_merged_four_at_a_time():
    """
    Eight CTAs of one column share B's tile: five of one group, two and one of others.

    Where all wait, two of the five are looked up, and one of each other group: half. In one group it were two of eight.
    """
    machine = replace(H200, l2=replace(H200.l2, merging=L2MergingSpec(most=4, window=0)))
    kernel = TimedTileKernel(small_gemm(512, 64, 128), machine)
    apart, together = L2Walk(kernel, 8, 1, [0, 0, 0, 0, 1, 1, 2, 0]), L2Walk(kernel, 8, 1)

    assert [status[0].looked for status in apart.status(0)] == [1000, 500]
    assert [status[0].looked for status in together.status(0)] == [1000, 250]


def test_fetches_past_the_last_k_tile_ask_for_nothing():
    walk = walk_of(small_gemm(64, 64, 128), 1, 1)

    assert [status.slow for status in walk.status(0)[0]] == [1000, 1000, 0, 0, 0]


def test_what_does_not_fit_is_missed_again():
    """
    An L2 of half the tile: B's k tiles are driven out before the next wave asks for them.
    """
    small = with_l2(64 * 1024 * 2 // 2)
    walk = walk_of(small_gemm(256, 64, 1024), 1, 4, machine=small)

    assert walk.bytes_missed() == walk.bytes_asked


def test_neighbouring_ctas_share_pixels_of_the_activation():
    """All of the 16 x 16 x 64 activation and of the 64 x 3 x 3 x 64 filter, once."""
    walk = walk_of(small_conv(), 4, 1)

    assert walk.bytes_missed() == 16 * 16 * 64 * 2 + 64 * 9 * 64 * 2


def test_a_strided_convolution_misses_only_pixels_it_touches():
    """1 x 1, stride 2: a quarter of the pixels."""
    walk = walk_of(small_conv(r=1, s=1, padding=[0, 0], stride=[2, 2]), 4, 1)

    assert walk.bytes_missed() == 8 * 8 * 64 * 2 + 64 * 64 * 2


def test_a_ragged_channel_interval_is_missed_at_its_size():
    """C = 72: intervals of 64 and 8 channels."""
    walk = walk_of(small_conv(c=72), 4, 1)

    assert walk.bytes_missed() == 16 * 16 * 72 * 2 + 64 * 9 * 72 * 2


def test_who_waits_for_another_ctas_miss_is_slow_too():
    """Three rows of pixels above each CTA's four are its neighbour's: missed by one, waited for by both."""
    walk = walk_of(small_conv(), 4, 1)
    slow = [walk.status(cta)[0][0].slow for cta in range(4)]

    assert slow == [1000] * 4


class GranuleByGranule(TimedTileKernel):
    """A kernel that does not say that its fetches have granules of their own."""

    def own_bytes(self, tensor, walked):  # noqa: ARG002 - none has any
        return None


@given(
    seed=st.integers(0, 1 << 32),
    resident=st.integers(1, 5),
    capacity=st.one_of(st.integers(1, 1 << 18), st.just(1 << 30)),
)
@settings(deadline=None, max_examples=60)
def test_the_closed_form_is_the_walk_of_every_granule(seed, resident, capacity):
    """Random GEMMs and convolutions, the latter walked granule by granule either way."""
    scenario, machine = (
        random_scenario(seed),
        with_l2(capacity),
    )
    ctas = len(TimedTileKernel(scenario, machine).launched)
    waves = -(-ctas // resident)
    closed, granules = (
        L2Walk(kind(scenario, machine), resident, waves) for kind in (TimedTileKernel, GranuleByGranule)
    )

    assert [closed.status(cta) for cta in range(ctas)] == [granules.status(cta) for cta in range(ctas)]
    assert closed.missed_by_wave == granules.missed_by_wave
    assert closed.bytes_asked == granules.bytes_asked


@given(
    waves=st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=6, unique=True), min_size=1, max_size=6),
    sizes=st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=6, max_size=6),
    capacity=st.integers(1, 60),
)
@settings(deadline=None, max_examples=300)
def test_data_is_missed_where_what_was_used_since_does_not_fit(waves, sizes, capacity):
    """Also where a single fetch is larger than the cache."""
    held = OldestFirst(capacity)
    expected = [[[False] * 3 for _ in streams] for streams in waves]
    for wave, streams in enumerate(waves):
        for turn in range(3):
            for row, stream in enumerate(streams):
                if sizes[stream][turn]:
                    expected[wave][row][turn] = bool(held.touch((stream, turn), 1, sizes[stream][turn]))

    assert [one.tolist() for one in missed_fetches(waves, np.array(sizes), capacity, 0)] == expected


class OnlyReads(TimedTileKernel):
    """A kernel whose stores take no room."""

    stored_bytes = 0


def test_stores_take_room_in_the_l2():
    """Two waves of one CTA, one k tile: B and the first output tile are as large as the L2; with A, B is gone."""
    walks = [L2Walk(kind(small_gemm(128, 64, 64), small_l2(2)), 1, 2) for kind in (OnlyReads, TimedTileKernel)]

    assert [walk.missed_by_wave[1] // (64 * 64 * 2) for walk in walks] == [1, 2]


def small_l2(tiles, tile_bytes=64 * 64 * 2):
    return with_l2(tiles * tile_bytes)


@pytest.mark.parametrize(
    ("swizzle", "tiles_missed"), {"identity<1>": 72, "identity<2>": 40, "identity<4>": 24, "horizontal": 72}.items()
)
def test_the_order_of_ctas_decides_what_the_l2_still_holds(swizzle, tiles_missed):
    """
    8 x 8 tiles of one k tile, 8 CTAs at a time, an L2 that holds 8 operand tiles. A wave touches its A, then its B.

    identity<1>: a wave is a column, 8 A + 1 B = 9 tiles. One more than fit: least recently used first, each is gone
    before the next wave asks for it. 8 waves * 9 = 72. horizontal: a row, 1 A + 8 B, the same.
    identity<2>: 4 x 2 tiles, 4 A + 2 B. The next wave finds its B and brings 4 A; then come other B, and all of A is
    gone. 4 pairs of waves * (6 + 4) = 40.
    identity<4>: 2 x 4 tiles, 2 A + 4 B, then three times 2 A. 2 groups of waves * (6 + 2 + 2 + 2) = 24.
    """
    walk = L2Walk(OnlyReads(small_gemm(512, 512, 64, swizzle=swizzle), small_l2(8)), 8, 8)

    assert walk.bytes_missed() == tiles_missed * 64 * 64 * 2


@given(
    tiles_m=st.integers(24, 64),
    tiles_n=st.integers(24, 64),
    resident=st.sampled_from([64, 128]),
    k_tiles=st.integers(1, 3),
)
@settings(deadline=None, max_examples=20)
def test_a_wide_identity_brings_no_more_than_a_narrow_one_where_columns_do_not_fit(tiles_m, tiles_n, resident, k_tiles):
    """The L2 holds half of A: identity<1> brings most of A anew for every few columns, identity<8> for every eight."""
    machine = small_l2(tiles_m * k_tiles // 2)
    missed = {}
    for swizzle in ("identity<1>", "identity<8>"):
        asked = small_gemm(64 * tiles_m, 64 * tiles_n, 64 * k_tiles, swizzle=swizzle)
        waves = -(-tiles_m * tiles_n // resident)
        missed[swizzle] = walk_of(asked, resident, waves, machine=machine).bytes_missed()

    assert missed["identity<8>"] <= missed["identity<1>"]


def test_waves_that_are_not_walked_bring_what_the_later_ones_brought():
    """
    One row of tiles that all fit, 8 columns, 2 CTAs at a time. Walked: A and B 0, 1, then B 2, 3; left: B 4 to 7.
    """
    asked = small_gemm(64, 512, 64)

    assert walk_of(asked, 2, 2).bytes_missed() == walk_of(asked, 2, 4).bytes_missed() == (1 + 8) * 64 * 64 * 2
