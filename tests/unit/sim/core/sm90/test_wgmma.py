"""wgmma of a warp: how soon one follows another, when a wait for it is over, and when its queue is full."""

from itertools import pairwise

from doubles.boxes import H200, instruction

from gpusim.families.hopper.simulation.boxes import BoxRequests
from gpusim.sim.columns import Code, Traces, column, traced_data, zeros
from gpusim.sim.core.constants import EXIT, WGMMA, WGMMA_WAIT
from gpusim.sim.core.engine import engine
from gpusim.sim.figures import figures_of
from gpusim.sim.run import run_chip
from gpusim.sim.tables import columns_of_code

SPEC = H200.wgmma


def issue(n, *, commits=False):
    """A wgmma of N columns."""
    return instruction(WGMMA, interval=n // 2, stall=SPEC.issue, gated=True, pending=int(commits))


def wait(pending=0):
    """A wait until few groups are in flight."""
    return instruction(WGMMA_WAIT, gated=True, pending=pending)


def cycles(*code, warps=1):
    """The cycles of a CTA of equal warps."""
    program = [*code, instruction(EXIT, gated=True)]
    of, wavefronts = columns_of_code(program, warps)
    columns = Code(
        of=of,
        wavefronts=wavefronts,
        first=column([0]),
        end=column([len(program)]),
        trips=column([1]),
        tiles=zeros(1),
        begins=column([0] * warps),
        warps_of=column([warps]),
        warps=warps,
        lines=20,
        barriers=1,
        stretches=((0, len(program)),),
    )
    data = traced_data(zeros(1), BoxRequests().lines(), Traces(), cached=False)
    chip = engine().module.Chip(figures_of(H200, 0, busy=False), columns, data, 1, 1, 1, ())
    (life,) = run_chip(chip, H200.launch, [0], None)
    return life.finished - life.launched


NOTHING = cycles()


def test_one_alone_takes_its_start_its_columns_and_its_finish():
    """And the wait itself a cycle."""
    assert cycles(issue(128, commits=True), wait()) - NOTHING == SPEC.start + 64 + SPEC.finish + 1


def test_a_chain_takes_n_half_for_each():
    four, sixteen = (cycles(*[issue(128)] * (count - 1), issue(128, commits=True), wait()) for count in (4, 16))

    assert sixteen - four == 12 * 64


def test_without_a_wait_a_warp_continues():
    assert cycles(issue(256, commits=True)) - NOTHING == SPEC.issue


def test_a_warp_waits_when_its_queue_is_full():
    """The wgmma behind the queue is issued when the first one has begun, the next ones an interval apart."""
    at = [cycles(*[issue(128)] * count) - NOTHING for count in range(1, SPEC.queue + 4)]
    apart = [after - before for before, after in pairwise(at)]

    assert set(apart[: SPEC.queue - 1]) == {SPEC.issue}
    assert apart[-1] == 64


def test_two_warps_of_an_smsp_share_its_tensor_core():
    """Warps 0 and 4 have one SMSP, the others theirs alone."""
    chain = [*[issue(128)] * 15, issue(128, commits=True), wait()]

    assert cycles(*chain, warps=4) == cycles(*chain)
    assert cycles(*chain, warps=5) - cycles(*chain) in range(16 * 64 - 70, 16 * 64 + 1)


def test_a_wait_for_one_pending_group_leaves_the_last_one_in_flight():
    first, second = issue(128, commits=True), issue(256, commits=True)

    assert cycles(first, second, wait(1)) == cycles(first, wait())
    assert cycles(first, second, wait()) == cycles(first, wait()) + 128
