"""CTAs handed out to SMs: to whom, when, and in which order."""

from dataclasses import replace
from heapq import heappop, heappush

import pytest
import simpy
from doubles.by_hand import Memory, assembly, chip_of, instruction, roles
from doubles.published import H200

from gpusim.errors import CannotRun
from gpusim.machine.load import load_machine
from gpusim.machine.spec import LaunchUnitsSpec
from gpusim.sim.core.constants import ARRIVES, BAR, PIPE, WAITS
from gpusim.sim.cta_scheduler import CtaScheduler, groups_of_places
from gpusim.sim.figures import figures_of
from gpusim.sim.run import run_chip

INTERVAL, SETUP = H200.launch.cta_interval, H200.launch.cta_setup


class BusyChip:
    """SMs whose CTAs take a given time each, in place of a chip."""

    def __init__(self, sms, slots, duration):
        self.sms, self.slots, self.duration = sms, slots, duration
        self.now = 0
        self.log, self.running, self.resident = [], [], [0] * sms

    def hand(self, sm, cta, at, observed):
        assert at > self.now
        self.log.append((at, sm, cta, bool(observed)))
        self.resident[sm] += 1
        assert self.resident[sm] <= self.slots
        heappush(self.running, (at + self.duration(cta), at, sm, cta))

    def run(self):
        self.now, self.ended_launched, self.ended_sm, cta = heappop(self.running)
        self.ended_at = self.now + 1
        self.resident[self.ended_sm] -= 1
        return cta


def schedule(sms, slots, queue, duration, *, watched=0, spec=H200.launch):
    """What the scheduler handed out: (cycle, SM, number of the CTA, watched); and the lives."""
    env, chip = simpy.Environment(), BusyChip(sms, slots, duration)
    scheduler = CtaScheduler(env, spec, chip, queue, watched)
    env.run(until=env.process(scheduler.run()))
    assert sum(chip.resident) == 0
    return chip.log, scheduler.lives


def test_a_tpc_s_sms_begin_one_after_the_other_and_then_their_next_ctas():
    """
    Two groups of a TPC each, two CTAs an SM: the second SM begins 10 cycles later, an SM's next CTA 27 (launch.csv).

    What follows a CTA that ends begins when it is set up, wherever: all end after 50 cycles.
    """
    units = LaunchUnitsSpec(ahead=2, others=(2,), between=100, gpcs=(0, 1), sides=(0, 1), other_sm=10, next_cta=27)
    spec = replace(H200.launch, cta_interval=0, cta_setup=100, units=units)
    log, _ = schedule(4, 2, range(9), lambda _: 50, spec=spec)

    assert sorted((at, sm) for at, sm, _, _ in log[:8]) == [
        *[(100, 0), (100, 2), (110, 1), (110, 3), (127, 0), (127, 2), (137, 1), (137, 3)]
    ]
    assert log[8][:2] == (100 + 50 + 100, 0)


def test_ctas_go_round_the_sms_then_to_whoever_is_free():
    """
    Two SMs of two CTAs each; one CTA leaves every 2 cycles and starts 100 later: 102, 104, 106, 108.

    CTA 1 is done first, after 10 cycles on SM 1, at 114: CTA 4 follows it, 102 cycles later. CTA 0 is done at 302:
    CTA 5 follows on SM 0, and nobody else comes.
    """
    log, _ = schedule(2, 2, range(6), lambda index: 10 if index == 1 else 200)

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
    log, _ = schedule(2, 1, range(4), lambda index: 100 - 2 * index if index < 2 else 50)

    assert [entry[:3] for entry in log[2:]] == [(304, 0, 2), (306, 1, 3)]


@pytest.mark.parametrize(("sms", "slots", "ctas"), [(1, 1, 1), (3, 2, 5), (3, 2, 6), (3, 2, 7), (4, 1, 17), (2, 3, 40)])
def test_every_cta_runs_once_in_order_and_no_sm_holds_too_many(sms, slots, ctas):
    log, lives = schedule(sms, slots, range(ctas), lambda index: 50 + index * 37 % 90)

    assert [index for _, _, index, _ in log] == list(range(ctas))
    assert sorted(log) == log
    assert sorted(life.cta for life in lives) == list(range(ctas))


def test_sampled_ctas_start_when_all_before_them_in_the_grid_have_left():
    """An SM that stands for 132 sees CTA 0 at 102 and CTA 132 at 102 + 2 * 132. To the chip that is number 1."""
    log, lives = schedule(1, 2, [0, 132], lambda _: 1000, watched=132)

    assert log == [(102, 0, 0, False), (102 + 132 * INTERVAL, 0, 1, True)]
    assert [life.cta for life in lives] == [0, 132]


def test_a_life_is_from_the_launch_to_the_cycle_after_the_last_exit(core):
    """
    One SM with room for one CTA; each CTA is one exit, which issues at its launch, but first waits for the parameters.

    CTA 0 comes at 102 and exits 79 cycles later, at 181. CTA 1 comes at 181 + 2 + 100.
    """
    env = simpy.Environment()
    chip = chip_of(assembly(warps=1), figures_of(H200, 0, busy=False), core, ctas=2, slots=1)
    scheduler = CtaScheduler(env, H200.launch, chip, range(2), None)
    env.run(until=env.process(scheduler.run()))

    assert scheduler.lives == [(0, 0, 102, 182), (1, 0, 283, 284)]


def sync(number, count, **more):
    """BAR.SYNC of a named barrier."""
    return instruction(BAR, barrier=number, arrivals=count, **more)


ENDLESS = {
    "an arrival that nobody makes": (
        [([sync(1, 3)], 2), ([], 1)],
        "CTA 7 never ends: barrier 1 has 2 of 3 expected arrivals, and warps 0, 1 wait",
    ),
    "two barriers crossed": (
        [([sync(1, 2), sync(2, 2)], 1), ([sync(2, 2), sync(1, 2)], 1)],
        (
            "CTA 7 never ends: barrier 1 has 1 of 2 expected arrivals, and warp 0 waits;"
            " barrier 2 has 1 of 2 expected arrivals, and warp 1 waits"
        ),
    ),
    "a warp too many": (
        [([sync(0, 2, meets=ARRIVES)], 1), ([sync(0, 2)], 2)],
        "CTA 7 never ends: barrier 0 has 1 of 2 expected arrivals, and warp 2 waits",
    ),
    "a phase that nobody begins": (
        [([sync(3, 0, meets=WAITS)], 1)],
        "CTA 7 never ends: barrier 3 has no arrival, and warp 0 waits",
    ),
    "bytes that do not come": (
        [([sync(1, 1, expects=1024)], 1)],
        "CTA 7 never ends: barrier 1 has 1 of 1 expected arrivals and 1024 pending bytes, and warp 0 waits",
    ),
}


@pytest.mark.parametrize(("programs", "message"), ENDLESS.values(), ids=ENDLESS)
def test_a_cta_that_never_ends_is_refused_with_what_its_warps_wait_for(core, programs, message):
    chip = chip_of(roles(*programs), figures_of(H200, 0, busy=False), core)

    with pytest.raises(CannotRun) as refused:
        run_chip(chip, H200.launch, [7], None)
    assert str(refused.value) == message


def test_of_several_ctas_that_never_end_the_first_is_named(core):
    code = roles(([sync(1, 2)], 1))
    chip = chip_of(code, figures_of(H200, 0, busy=False), core, ctas=3, sms=3)

    with pytest.raises(CannotRun) as refused:
        run_chip(chip, H200.launch, [7, 5, 9], None)
    assert str(refused.value) == (
        "CTA 5 never ends: barrier 1 has 1 of 2 expected arrivals, and warp 0 waits (2 more CTAs wait, too)"
    )


def test_slices_that_wait_for_each_other_are_refused_without_a_barrier(core):
    code = assembly(([instruction(PIPE), instruction(PIPE, awaits=True, gated=True)], 1), warps=1)
    memory = Memory(follows=[1, 0])
    chip = chip_of(code, figures_of(H200, 0, busy=False), core, memory=memory, ctas=2)

    with pytest.raises(CannotRun) as refused:
        run_chip(chip, H200.launch, range(2), None)
    assert str(refused.value) == "no CTA ends any more: no warp can issue, though none waits at a barrier"


def test_ctas_are_of_the_groups_whose_sms_they_find():
    """On an H200 a wave of two CTAs on each SM has twice as many of each group as that has SMs, the first first."""
    machine = load_machine("h200")
    units = machine.launch.units
    groups = groups_of_places(2 * machine.sms, machine.sms, 2, units)

    assert [groups.count(group) for group in range(len(units.sizes))] == [2 * size for size in units.sizes]
    assert groups[: units.sizes[0]] == [0] * units.sizes[0]


def test_a_grid_that_fills_no_wave_has_its_own_places():
    """16 CTAs go to the first SM of each group in turn, where a wave begins with all SMs of the first group."""
    machine = load_machine("h200")
    units = machine.launch.units

    assert set(groups_of_places(16, machine.sms, 2, units)) == set(range(len(units.sizes)))


def test_where_groups_are_not_known_all_ctas_are_of_one():
    assert groups_of_places(5, 4, 2, None) == [0] * 5
