"""What mma.sync of other warps does to memory instructions, and the clock that it slows to L2 and DRAM: an H200's."""

from itertools import product
from pathlib import Path
from statistics import median

import pytest
from doubles.by_hand import Memory, copy, execute, instruction
from doubles.figures import with_figures

from gpusim.lab.calibrate.table import MeasuredTable
from gpusim.machine import load_machine
from gpusim.sim.core.constants import PIPE, SHARED
from gpusim.sim.figures import figures_of

MEASURED = Path(__file__).parents[4] / "reports" / "measured" / "h200" / "microbench"
GAPS, DOMAINS = (MeasuredTable(MEASURED, name) for name in ("gaps", "domains"))
H200 = load_machine("h200")
FIGURES = with_figures(figures_of(H200, 0, busy=False), {"instruction_cache.l1_miss_latency": 0}, constant_miss=0)
FEW, MANY = 2, 8

REGISTERS = {"sts.32": 2, "sts.64": 3, "sts.128": 5, "lds.32": 1}
WAVEFRONTS = {"sts.32": 1, "sts.64": 2, "sts.128": 4, "lds.32": 1}
MULTIPLIED = {"m16n8k16.f16.f32": 0.15, "m16n8k8.f16.f32": 0.25}
"""mma.sync, and within what part of a register's time their interval is."""


# --- registers of memory instructions (gaps.cu) ---


def measured(access, mma):
    """Cycles of an access in a burst, from bursts of eight and of two."""
    many, few = (GAPS.numbers("landed", access=access, mma=mma, count=count)[0] for count in (MANY, FEW))
    return (many - few) / (MANY - FEW)


def longest(core, accesses, beside, **named):
    """Cycles of a burst of one warp on each SMSP, until the last one's scoreboard is released."""
    burst = [instruction(PIPE), *accesses, instruction(PIPE, waits=(1,))]
    kind = H200.tensor["m16n8k16.f16.f32"]
    mma = instruction(
        PIPE, pipe="tensor core", interval=kind.interval, latency=kind.latency, stall=2, mma_hundredths=11
    )
    # Of two warps on an SMSP the second multiplies, while the first has done so and goes on with its burst.
    code = [([mma] * 256, 1), (burst, 1)] if beside else [(burst, 1)]
    ran = execute(core, *code, warps=8 if beside else 4, figures=FIGURES, **named)
    first = sorted(ran.warps.values(), key=lambda warp: warp.selected[-2])[:4]
    return max(warp.selected[-2] - warp.selected[-3 - len(accesses)] for warp in first)


def burst_ends(core, access, count, beside):
    """Cycles of a burst of one warp on each SMSP, until its load has come or its last address is free."""
    memory = H200.dispatch.memory
    load = access == "lds.32"
    takes = memory.shared_load_percent if load else memory.shared_store_percent
    made = {
        "wavefronts": ((WAVEFRONTS[access],) * 32,),
        "registers": REGISTERS[access],
        "mma_hundredths": takes,
        "stall": 4,
    }
    made |= {"is_load": True, "latency": 23, "bytes": 128} if load else {}
    each = instruction(SHARED, **made)
    return longest(core, [*[each] * (count - 1), each._replace(**{"write" if load else "read": 1})], beside)


@pytest.mark.parametrize(("access", "mma"), list(product(REGISTERS, MULTIPLIED)))
def test_a_register_is_read_with_each_mma_sync(access, mma):
    """
    Of m16n8k16 one comes in 6.7 cycles, of m16n8k8 in 4.6.

    A register takes 6.7 to 7.6, or 4.9 to 5.7. Those beside s8 take 6.5 to 8.7: their bursts wait for instructions.
    """
    (each,) = GAPS.numbers("mma_each", access=access, mma=mma, count=MANY)

    assert measured(access, mma) == pytest.approx(REGISTERS[access] * each, rel=MULTIPLIED[mma])


@pytest.mark.parametrize("access", REGISTERS)
def test_bursts_beside_mma_sync_take_as_long_as_measured(core, access):
    """An sts.32 takes 15.0 cycles, 14.0 simulated, an sts.64 22.8 and 21.0, an sts.128 34.8, an lds.32 6.7 and 7.0."""
    many, few = (burst_ends(core, access, count, beside=True) for count in (MANY, FEW))

    assert (many - few) / (MANY - FEW) == pytest.approx(measured(access, next(iter(MULTIPLIED))), rel=0.1)


def copied(core):
    """Cycles that each copy of bursts of eight and two takes beside another warp's mma.sync."""
    ends = []
    for count in (MANY, FEW):
        copies = [copy(0, stall=4, registers=3) for _ in range(count)]
        memory = Memory([(16, tuple((number, 15) for number in range(4)))])
        ends.append(longest(core, [*copies[:-1], copies[-1]._replace(read=1)], beside=True, memory=memory))
    return (ends[0] - ends[1]) / (MANY - FEW)


def test_copies_beside_mma_sync_take_as_long_as_measured(core):
    """30.6 cycles each for 19 without, which the look-ups of four SMSPs take; beside m16n8k8 20.8."""
    assert copied(core) == pytest.approx(measured("cp.async", next(iter(MULTIPLIED))), rel=0.1)


# --- clocks (domains.cu) ---


def rate(what, column):
    """Bytes an SM goes through, by the periods of mma.sync: per cycle, or per nanosecond."""
    return {
        period: median(float(row["count"]) / float(row[column]) for row in DOMAINS.rows(what=what, period=period))
        for period in dict.fromkeys(row["period"] for row in DOMAINS.rows(what=what))
    }


def clocks(what):
    """MHz of the SMs, by the periods of mma.sync."""
    cycles, passed = rate(what, "cycles"), rate(what, "nanoseconds")
    return {period: 1000 * passed[period] / cycles[period] for period in cycles}


@pytest.mark.parametrize(("what", "within"), [("l2 read", 0.01), ("l2 write", 0.05)])
def test_the_l2_keeps_its_clock_while_tensor_cores_slow_the_sms(what, within):
    """The SMs' falls by a tenth to a fifth; bytes read in a nanosecond stay the same, those stored fall a little."""
    alone, *beside = clocks(what).values()
    assert alone == pytest.approx(1980, rel=0.02)
    assert all(0.8 * alone < clock < 0.95 * alone for clock in beside)

    alone, *beside = rate(what, "nanoseconds").values()
    assert beside == [pytest.approx(alone, rel=within)] * len(beside)


@pytest.mark.parametrize(("what", "within"), [("l2 chase", 3), ("dram chase", 6)])
def test_hops_beside_mma_sync_take_fewer_cycles_as_simulated(what, within):
    """Beside mma.sync a hit takes 14 cycles less, a miss 52, but for four in which it issues; simulated, 16 and 55."""
    hops = {chase: {period: 1 / each for period, each in rate(chase, "cycles").items()} for chase in ("l1 chase", what)}
    waits = list(hops["l1 chase"].values())
    alone, beside, *_ = hops[what].values()
    fewer = alone - (beside - (waits[1] - waits[0]))

    full, slow = (figures_of(H200, 0, busy=busy) for busy in (False, True))
    figure = "l2_near" if what == "l2 chase" else "dram_least"
    assert getattr(full, figure) - getattr(slow, figure) == pytest.approx(fewer, abs=within)
