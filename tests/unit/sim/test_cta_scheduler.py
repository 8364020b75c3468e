"""CTAs handed out to SMs: to whom, when, and in which order."""

import pytest
import simpy
from doubles.published import H200

from gpusim.sim.cta_scheduler import CtaScheduler

INTERVAL, SETUP = H200.launch.cta_interval, H200.launch.cta_setup


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
