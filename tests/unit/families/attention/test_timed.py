"""
Attention in time: softmax ops on one SM against arithmetic on paper, keys in the L2, CTAs dealt to SMs, the chart.
"""

import pytest
from doubles.by_hand import run
from problems.small import small_attention

from gpusim.families.attention.lower.softmax import softmax_instructions
from gpusim.families.attention.lower.stream import attention_registers
from gpusim.families.attention.program import softmax
from gpusim.families.attention.program.step import Step
from gpusim.families.attention.tile.blocks import cta_blocks
from gpusim.families.attention.tile.shape import attention_shape
from gpusim.families.attention.timed import TimedFusedKernel
from gpusim.lower.stream import Instruction, Segment, Stream
from gpusim.machine import load_machine
from gpusim.schedule.ops import Barrier
from gpusim.sim.code import of_one_role
from gpusim.sim.decode import assemble
from gpusim.sim.l2_walk import L2Walk
from gpusim.sim.launch import Launch, watched_cta

H200 = load_machine("h200")


def launch_of(scenario, ctas_per_sm=2):
    return Launch(TimedFusedKernel(scenario, H200), {}, ctas_per_sm)


def issues(core, *ops, mainloop="attention"):
    """
    Cycles at which one warp alone issues the instructions of softmax ops of one key block, from its first on; the last
    one is an exit.
    """
    scenario = small_attention(mainloop)
    kernel = TimedFusedKernel(scenario, H200)
    made = []
    for op in ops:
        step = Step("softmax", 0, 0, op)
        if isinstance(op, Barrier):
            made.append(Instruction("BAR.SYNC", "barrier", stall=2, op=step))
        else:
            made += softmax_instructions(step, attention_shape(scenario))
    made.append(Instruction("EXIT", "exit"))
    stream = Stream("estimated", 32, (Segment("mainloop", tuple(made), 1, 1),))
    # One warp, whose code is there from the first cycle on.
    (segment,) = assemble(stream, kernel, ((64, False),)).segments
    there = segment._replace(code=tuple(one._replace(line=-1) for one in segment.code))
    return run(core, of_one_role((there,), warps=1), machine=H200).warps[0, 0].issues


def test_a_shuffle_s_value_is_awaited(core):
    """
    SHFL at 0 has its value at 24, the measured latency; the sum takes 4, so that the second SHFL issues at 28.
    """
    assert issues(core, softmax.Shuffle("sum", 0, 1), softmax.Shuffle("sum", 0, 2)) == [0, 24, 28, 52, 56]


def test_a_barrier_does_not_wait_for_the_atomic_before_it(core):
    """
    The key of the atomic takes 2 and 4 cycles, ATOMS issues at 6. The barrier issues at 8: one warp alone is let go
    after 13 + 2 cycles.
    """
    assert issues(core, softmax.AtomicMax(0), Barrier()) == [0, 2, 6, 8, 23]


def test_exponentials_keep_the_mufu(core):
    """
    A row of 8 scores: the maximum's key in 2 x 4 cycles, FFMA at 8, MUFU at 10 and every 8 cycles, the last at 66; each
    further FFMA 3 cycles after the MUFU before it, for nothing issues in the 2 cycles between. The last result is there
    at 66 + 17 = 83; the sums follow each other by 2 in two chains.
    """
    mufu = [10 + 8 * score for score in range(8)]
    fma = [8, *(at + 3 for at in mufu[:-1])]

    found = issues(core, softmax.Exponentials(0), softmax.RowSum(0))

    assert found == [0, 4, *sorted(mufu + fma), *(83 + 2 * score for score in range(8)), 99]


@pytest.mark.parametrize("mainloop", ["attention", "flash"])
def test_keys_and_values_of_a_head_come_from_dram_once(mainloop):
    """
    Two heads of 1024 queries and 1024 keys, 64 halves each: 128 KiB of each of Q, K and V a head.
    """
    launch = launch_of(small_attention(mainloop, heads=2, queries=1024, keys=1024))

    walk = L2Walk(launch.kernel, resident=264, waves=1)

    assert walk.bytes_missed() == 2 * 3 * 1024 * 64 * 2


def test_a_later_wave_finds_its_head_s_keys_in_the_l2():
    """
    Two query blocks of one head, one at a time: the second brings its queries alone, and those once.
    """
    launch = launch_of(small_attention(queries=128, keys=128))

    walk = L2Walk(launch.kernel, resident=1, waves=2)

    queries, keys, values = walk.status(1)
    assert [one.slow for one in queries] == [1000, 0]
    assert {one.slow for one in (*keys, *values)} == {0}
    assert {one.slow for one in walk.status(0)[1]} == {1000}


def test_the_watched_cta_has_most_key_blocks():
    launch = launch_of(small_attention(queries=256, keys=256, mask="causal_top_left"))

    assert watched_cta(launch, range(4)) == 3


def test_a_key_block_that_every_query_sees_is_not_masked():
    """
    Queries 64 to 127 see keys up to their own: block 0 all of it, block 1 not.
    """
    blocks = cta_blocks(small_attention(queries=128, keys=128, mask="causal_top_left"))

    assert [[block.masked for block in walked] for walked in blocks] == [[True], [False, True]]


def test_more_registers_hold_a_wider_output():
    narrow, wide = (attention_registers(small_attention("flash", head_dim_v=width), H200) for width in (64, 128))

    assert wide > narrow
