"""CTAs on SMs: who is handed out when, which SMs stand for which, and what the grid finds in the L2."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import simpy
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.families.gemm.timed import TimedTileKernel
from gpusim.families.registry import parse_scenario
from gpusim.machine import load_machine
from gpusim.sim.cta_scheduler import CtaScheduler
from gpusim.sim.footprint import Footprints, L2Status
from gpusim.sim.l2_walk import L2Walk
from gpusim.sim.launch import Launch, sm_kinds
from gpusim.tile.requests import distinct_sectors

# Hand-worked arithmetic stands on figures that no measurement moves.
H200 = load_machine(str(Path(__file__).parent / "data" / "h200_published.toml"))
INTERVAL, SETUP = H200.launch.cta_interval, H200.launch.cta_setup


def scenario_of(problem, **kernel):
    tile = {"threadblock": [64, 64, 64], "warp": [32, 32, 64], "stages": 3}
    return parse_scenario({"machine": "h200", "problem": problem, "kernel": tile | kernel}, "test")


def gemm(m, n, k, swizzle="identity<1>", **more):
    return scenario_of({"kind": "gemm", "m": m, "n": n, "k": k} | more, threadblock_swizzle=swizzle)


def conv(**more):
    problem = {"kind": "conv2d_fprop", "n": 1, "h": 16, "w": 16, "c": 64, "k": 64, "r": 3, "s": 3, "padding": [1, 1]}
    return scenario_of(problem | more)


# --- the CTA scheduler ---


class BusySm:
    """An SM whose CTAs take a given time each."""

    def __init__(self, env, name, log, duration):
        self.env, self.name, self.log, self.duration = env, name, log, duration
        self.resident = self.most = 0
        self.expected = []

    def expect(self, at):
        self.expected.append(at)

    def launch(self, index, _footprint, at, *, observed):
        assert at == self.env.now
        assert at in self.expected
        self.log.append((at, self.name, index, observed))
        self.resident += 1
        self.most = max(self.most, self.resident)
        self.env.process(self.run(index))

    def run(self, index):
        yield self.env.timeout(self.duration(index))
        self.resident -= 1
        self.scheduler.finished(self, index)


def schedule(sms, slots, ctas, duration):
    env = simpy.Environment()
    log = []
    scheduler = CtaScheduler(env, H200.launch, queue=range(ctas), slots=slots, footprint=lambda index: index, watched=0)
    busy = [BusySm(env, name, log, duration) for name in range(sms)]
    for sm in busy:
        sm.scheduler = scheduler
    scheduler.start(busy)
    env.run(until=scheduler.done)
    return log, busy


def test_ctas_go_round_the_sms_then_to_whoever_is_free():
    """
    Two SMs of two CTAs each; one CTA leaves every 2 cycles and starts 100 later: 102, 104, 106, 108.

    CTA 1 is done first, after 10 cycles on SM 1, at 114: CTA 4 follows it, 102 cycles later. CTA 0 is done at 302:
    CTA 5 follows on SM 0, and nobody else comes.
    """
    log, _ = schedule(2, 2, 6, lambda index: 10 if index == 1 else 200)

    assert log == [
        (102, 0, 0, True),
        (104, 1, 1, False),
        (106, 0, 2, False),
        (108, 1, 3, False),
        (114 + INTERVAL + SETUP, 1, 4, False),
        (302 + INTERVAL + SETUP, 0, 5, False),
    ]


def test_two_ctas_that_end_together_are_followed_one_after_the_other():
    """CTAs 0 and 1 end at 202: the scheduler's port takes 2 cycles for each follower."""
    log, _ = schedule(2, 1, 4, lambda index: 100 - 2 * index if index < 2 else 50)

    assert [entry[:3] for entry in log[2:]] == [(304, 0, 2), (306, 1, 3)]


@pytest.mark.parametrize(("sms", "slots", "ctas"), [(1, 1, 1), (3, 2, 5), (3, 2, 6), (3, 2, 7), (4, 1, 17), (2, 3, 40)])
def test_every_cta_runs_once_in_order_and_no_sm_holds_too_many(sms, slots, ctas):
    log, busy = schedule(sms, slots, ctas, lambda index: 50 + index * 37 % 90)

    assert [index for _, _, index, _ in log] == list(range(ctas))
    assert sorted(log) == log
    assert all(sm.most <= slots for sm in busy)
    assert sum(sm.resident for sm in busy) == 0


def test_sampled_ctas_start_when_all_before_them_in_the_grid_have_left():
    """An SM that stands for 132 sees CTA 0 at 102 and CTA 132 at 102 + 2 * 132."""
    env = simpy.Environment()
    log = []
    scheduler = CtaScheduler(env, H200.launch, queue=[0, 132], slots=2, footprint=lambda index: index, watched=None)
    sm = BusySm(env, 0, log, lambda _: 1000)
    sm.scheduler = scheduler
    scheduler.start([sm])
    env.run(until=scheduler.done)

    assert [entry[0] for entry in log] == [102, 102 + 132 * INTERVAL]


# --- kinds of SM ---


def kinds_of(scenario):
    """(first CTA, SMs, CTAs of each) of each kind, two CTAs at a time."""
    kernel = TimedTileKernel(scenario, H200)
    streams = {slice_: kernel.stream(slice_, "estimated") for slice_ in range(scenario.problem.split_k_slices)}
    kinds = sm_kinds(Launch(kernel, streams, 2))
    return [(kind.queue[0], kind.count, len(kind.queue)) for kind in kinds]


def test_a_full_wave_and_a_tail_are_two_kinds_of_sm():
    """200 CTAs on 132 SMs: the first 68 run two."""
    assert kinds_of(gemm(64 * 20, 64 * 10, 64)) == [(0, 68, 2), (68, 64, 1)]


def test_whole_waves_are_one_kind_of_sm():
    assert kinds_of(gemm(64 * 132, 128, 64)) == [(0, 132, 2)]


def test_slices_that_run_other_programs_are_other_kinds():
    """3 slices of 50 CTAs; the first does not read its source. 150 CTAs: SMs 0 to 17 run one of each, and so on."""
    scenario = gemm(64 * 10, 64 * 5, 192, split_k_slices=3)
    assert kinds_of(scenario) == [(0, 18, 2), (18, 32, 1), (50, 82, 1)]


def test_ragged_ctas_of_a_small_grid_are_a_kind_of_their_own():
    """2 x 2 tiles, the second of each clipped."""
    assert [first for first, _, _ in kinds_of(gemm(100, 72, 64))] == [0, 1, 2, 3]


# --- the walk ---


def walk_of(scenario, resident, waves, machine=H200):
    return L2Walk(TimedTileKernel(scenario, machine), resident, waves)


def test_each_byte_of_a_gemm_that_fits_is_missed_once():
    """256 x 192 x 320 f16: A and B once each, however many CTAs read them."""
    walk = walk_of(gemm(256, 192, 320), 6, 2)

    assert walk.bytes_missed() == (256 + 192) * 320 * 2
    assert walk.bytes_asked == (256 * 3 + 192 * 4) * 320 * 2


def test_the_second_wave_finds_what_the_first_brought():
    """
    One column of tiles, two waves of two CTAs. A's tiles are new in each wave, B's tile is there in the second.

    In a wave, both CTAs of the first wait for B: 1000 per mille. Of two CTAs' requests for B, half is brought.
    """
    walk = walk_of(gemm(256, 64, 128), 2, 2)
    (a0, b0), (a2, b2) = walk.status(0), walk.status(2)

    assert a0[0] == a2[0] == L2Status(slow=1000, missed=1000)
    assert b0[0] == L2Status(slow=1000, missed=500)
    assert b2[0] == L2Status(slow=0, missed=0)


def test_fetches_past_the_last_k_tile_ask_for_nothing():
    walk = walk_of(gemm(64, 64, 128), 1, 1)

    assert [status.slow for status in walk.status(0)[0]] == [1000, 1000, 0, 0, 0]


def test_what_does_not_fit_is_missed_again():
    """
    An L2 of half the tile: B's k tiles are driven out before the next wave asks for them.
    """
    small = SimpleNamespace(l2=SimpleNamespace(bytes=64 * 1024 * 2 // 2, partitions=1))
    walk = walk_of(gemm(256, 64, 1024), 1, 4, machine=small)

    assert walk.bytes_missed() == walk.bytes_asked


def test_neighbouring_ctas_share_pixels_of_the_activation():
    """All of the 16 x 16 x 64 activation and of the 64 x 3 x 3 x 64 filter, once."""
    walk = walk_of(conv(), 4, 1)

    assert walk.bytes_missed() == 16 * 16 * 64 * 2 + 64 * 9 * 64 * 2


def test_a_strided_convolution_misses_only_pixels_it_touches():
    """1 x 1, stride 2: a quarter of the pixels."""
    walk = walk_of(conv(r=1, s=1, padding=[0, 0], stride=[2, 2]), 4, 1)

    assert walk.bytes_missed() == 8 * 8 * 64 * 2 + 64 * 64 * 2


def test_a_ragged_channel_interval_is_missed_at_its_size():
    """C = 72: intervals of 64 and 8 channels."""
    walk = walk_of(conv(c=72), 4, 1)

    assert walk.bytes_missed() == 16 * 16 * 72 * 2 + 64 * 9 * 72 * 2


def test_who_waits_for_another_ctas_miss_is_slow_too():
    """Three rows of pixels above each CTA's four are its neighbour's: missed by one, waited for by both."""
    walk = walk_of(conv(), 4, 1)
    slow = [walk.status(cta)[0][0].slow for cta in range(4)]

    assert slow == [1000] * 4


# --- the footprint ---


@pytest.mark.parametrize("scenario", [gemm(100, 72, 200), conv(c=72), conv(stride=[2, 1])], ids=["gemm", "c72", "s2"])
@pytest.mark.parametrize("with_lines", [False, True])
def test_the_footprint_has_the_sectors_that_the_counters_count(scenario, with_lines):
    """And the lines' masks hold as many sectors as are counted."""
    kernel = TimedTileKernel(scenario, H200)
    block = int(np.flatnonzero((kernel.tiles == [1, 0, 0]).all(axis=1))[0])
    base = (lambda row: row << 40) if with_lines else (lambda _row: None)
    copies = Footprints().copies(kernel.lanes().cta(block), lambda _row: 16, base)
    for operand, tile in ((0, 1), (1, 0)):
        sectors = np.array(
            [[[[request[0] for request in warps] for warps in vec] for vec in access] for access in copies[operand]]
        )
        access = scenario.operand("ab"[operand]).iterator(tile, 0).fetch(np.arange(len(copies[operand])))
        fetches, threads, accesses, vecs = access.offset.shape
        lanes = (fetches, threads // 32, 32, accesses, vecs)
        offset, valid = (one.reshape(lanes).transpose(0, 3, 4, 1, 2) for one in (access.offset, access.valid))
        assert np.array_equal(sectors, distinct_sectors(offset, valid, bits=16))
        if with_lines:
            for fetch in copies[operand]:
                for count, lines in (request for access in fetch for vec in access for request in vec):
                    assert sum(mask.bit_count() for _, mask in lines) == count


def small_l2(tiles, tile_bytes=64 * 64 * 2):
    return SimpleNamespace(l2=SimpleNamespace(bytes=tiles * tile_bytes, partitions=1))


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
    walk = walk_of(gemm(512, 512, 64, swizzle=swizzle), 8, 8, machine=small_l2(8))

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
        asked = gemm(64 * tiles_m, 64 * tiles_n, 64 * k_tiles, swizzle=swizzle)
        waves = -(-tiles_m * tiles_n // resident)
        missed[swizzle] = walk_of(asked, resident, waves, machine=machine).bytes_missed()

    assert missed["identity<8>"] <= missed["identity<1>"]


def test_waves_that_are_not_walked_bring_what_the_later_ones_brought():
    """
    One row of tiles that all fit, 8 columns, 2 CTAs at a time. Walked: A and B 0, 1, then B 2, 3; left: B 4 to 7.
    """
    asked = gemm(64, 512, 64)

    assert walk_of(asked, 2, 2).bytes_missed() == walk_of(asked, 2, 4).bytes_missed() == (1 + 8) * 64 * 64 * 2
