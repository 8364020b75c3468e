"""
Both executions of the core have the same answer, to the row of the log, and C's arithmetic is Python's.

Each launch is run interpreted, and held against two cores: the compiled one, and one with every operation watched
(``doubles.checked``).
"""

from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import pytest
from doubles.by_hand import (
    A100,
    Memory,
    assembly,
    chip_of,
    copy,
    epilogue_load,
    execute,
    finish,
    instruction,
    ldmatrix,
    load,
)
from doubles.checked import checked_core, watched
from doubles.figures import with_figures
from hypothesis import given, settings
from hypothesis import strategies as st
from problems.attention import random_attention
from problems.dgrad import random_dgrad
from problems.gemm import TYPES, random_scenario
from problems.small import small, small_attention, small_conv, small_gemm
from slow import one_in

from gpusim.families.registry import family_of
from gpusim.machine import load_machine
from gpusim.machine.occupancy import ctas_per_sm
from gpusim.sim import run as running
from gpusim.sim.code import OUTPUT
from gpusim.sim.core import chip as interpreted
from gpusim.sim.core.constants import BAR, COMMIT, DEPBAR, GLOBAL, PIPE, SHARED, TENSOR_STRIDE
from gpusim.sim.core.engine import Engine, engine
from gpusim.sim.figures import figures_of
from gpusim.sim.footprint import L2Status
from gpusim.sim.launch import Launch, simulate_launch

SMALL_CHIP = 3
"""SMs: few enough that a small grid makes waves and a tail."""


def pipelined(problem, **kernel):
    return small(problem, mainloop="pipelined", stages=2, threadblock=[64, 64, 32], warp=[32, 32, 32], **kernel)


def gemm(m, n, k, **more):
    return {"kind": "gemm", "m": m, "n": n, "k": k} | more


CONV = {"kind": "conv2d_fprop", "n": 1, "h": 9, "w": 9, "c": 72, "k": 64, "r": 3, "s": 3, "padding": [1, 1]}
DGRAD = {"kind": "conv2d_dgrad", "n": 1, "h": 9, "w": 9, "c": 64, "k": 40, "r": 3, "s": 3, "padding": [1, 1]}

SCENARIOS = {
    "gemm ragged": small_gemm(100, 72, 200),
    "gemm waves and a tail": small_gemm(448, 192, 72),
    "gemm row-major": small(gemm(64, 64, 192), shared={"a": "row_major", "b": "row_major"}),
    "gemm 4-byte copies": small_gemm(64, 64, 134, alignment_a=2, alignment_b=2),
    "gemm 8-byte copies": small_gemm(128, 64, 140, alignment_a=4),
    "gemm bias and source": small_gemm(128, 64, 64, bias=True, activation="relu", beta=0.5),
    "gemm serial split-K": small_gemm(128, 64, 320, split_k="serial", split_k_slices=3),
    "gemm parallel split-K": small_gemm(128, 64, 320, split_k="parallel", split_k_slices=3, bias=True),
    "gemm pipelined": pipelined(gemm(200, 128, 104)),
    "gemm pipelined, narrow loads": pipelined(gemm(64, 64, 132, alignment_b=2)),
    "gemm pipelined on t4": pipelined(gemm(130, 128, 96), instruction=[16, 8, 8]).model_copy(update={"machine": "t4"}),
    "fprop analytic": small_conv(h=9, w=9, c=72, stride=[2, 1]),
    "fprop optimized": small(CONV, iterator="optimized"),
    "dgrad": small(DGRAD),
    "attention": small_attention(queries=128, keys=130, mask="causal_top_left"),
    "attention, narrow values": small_attention(queries=64, keys=100, head_dim=40, head_dim_v=136),
    "flash": small_attention("flash", heads=2, queries=100, keys=128, mask="causal_bottom_right"),
    "flash without keys": small_attention("flash", batch=2, query_lengths=[64, 10], key_lengths=[0, 64]),
}


@cache
def launches_of(scenario):
    """Every launch of a scenario, on a small chip."""
    return tuple(made_launches(scenario))


def made_launches(scenario):
    """The same, made anew."""
    machine = replace(load_machine(scenario.machine), sms=SMALL_CHIP)
    for kernel in family_of(scenario).timing.timed_kernels(scenario, machine):
        behaviours = {kernel.behaviour(cta) for cta in range(len(kernel.launched))}
        streams = {one: kernel.stream(one, "estimated") for one in behaviours}
        registers = max(one.registers_per_thread for one in streams.values())
        slots = ctas_per_sm(machine, 32 * kernel.lanes().warps, registers, kernel.shared_bytes).ctas
        yield Launch(kernel, streams, min(slots, 2))


def left_by(chip):
    """All that a chip leaves to be read."""
    counters = (
        chip.smsp.instructions,
        chip.data_stage.wavefronts,
        chip.l2.sectors,
        chip.dram.read_bytes,
        chip.now,
        chip.ended_at,
    )
    counters += (chip.l2.looked_up, chip.l2.written_back, chip.stores.stored_bytes, chip.stores.acknowledged)
    return (chip.notes.column, chip.spans.column), list(chip.stalls), list(chip.l1.sectors), counters


def answers(module, launch, *, exact):
    """The outcome of a launch, and of each chip that it made the ends of CTAs and all that it left."""
    kept = []

    class Kept:
        """A chip, and what it says at the end of each CTA; nothing can be derived from a compiled one."""

        def __init__(self, *arguments):
            self.chip, self.ends = module.Chip(*arguments), []
            kept.append(self)

        def __getattr__(self, name):
            return getattr(self.chip, name)

        def run(self):
            cta = self.chip.run()
            self.ends.append((cta, self.now, self.ended_sm, self.ended_launched, self.ended_at))
            return cta

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "engine", lambda: Engine("interpreted", SimpleNamespace(Chip=Kept), ""))
        outcome = simulate_launch(launch, exact=exact, progress=lambda _: None)
    assert kept
    return outcome, [(chip.ends, *left_by(chip)) for chip in kept]


@pytest.fixture(params=["watched", pytest.param("compiled", marks=pytest.mark.compiled)], scope="module")
def other(request):
    """The module of a core that is held against the interpreted one."""
    return checked_core() if request.param == "watched" else engine().module


@cache
def interpreted_answers(scenario, *, exact):
    """What the interpreted core answers to every launch: once, for both cores that are held against it."""
    return [answers(interpreted, launch, exact=exact) for launch in launches_of(scenario)]


def compare(other, scenario, *, exact=True):
    """Run every launch of a scenario on both cores."""
    found = [answers(other, launch, exact=exact) for launch in launches_of(scenario)]
    assert found == interpreted_answers(scenario, exact=exact)


@pytest.mark.parametrize("scenario", one_in(3, SCENARIOS.values()), ids=SCENARIOS.keys())
def test_an_exact_run_is_the_same_on_every_core(other, scenario):
    compare(other, scenario)


@pytest.mark.parametrize("name", ["gemm waves and a tail", "gemm 4-byte copies", "fprop optimized", "attention"])
def test_a_sampled_run_is_the_same_on_every_core(other, name):
    compare(other, SCENARIOS[name], exact=False)


TIMED = [types for types in TYPES if types[0] not in ("s4", "u4")]
"""What an H200 has figures for (D27)."""


@pytest.mark.slow
@settings(max_examples=8)
@given(seed=st.integers(0, 10_000), types=st.sampled_from(TIMED))
def test_random_gemms_and_convolutions_are_the_same_on_every_core(other, seed, types):
    compare(other, random_scenario(seed, types=types))


@settings(max_examples=3)
@given(seed=st.integers(0, 10_000))
def test_random_data_gradients_are_the_same_on_every_core(other, seed):
    compare(other, random_dgrad(seed))


@settings(max_examples=3)
@given(seed=st.integers(0, 10_000))
def test_random_attention_is_the_same_on_every_core(other, seed):
    compare(other, random_attention(seed))


# --- code that no kernel has ---

SECTORS = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 15)), max_size=6, unique_by=lambda one: one[0])
FETCHES, OUTPUTS = 4, 2


@st.composite
def instructions(draw):
    """One instruction of any kind."""
    board = draw(st.integers(0, 5))
    held = {
        "stall": draw(st.integers(1, 12)),
        "write": draw(st.sampled_from((-1, board))),
        "waits": draw(st.sampled_from(((), (board,), (0, 1)))),
        "activity": draw(st.sampled_from((-1, 0))),
        "line": draw(st.sampled_from((-1, -1, 0, 3, 30))),
        "awaits": draw(st.sampled_from((False, False, True))),
    }
    held["gated"] = bool(held["waits"]) or held["line"] >= 0 or held["awaits"]
    fetch = draw(st.integers(0, FETCHES - 1))
    return draw(
        st.sampled_from(
            (
                instruction(PIPE, pipe="tensor core", **held),
                instruction(PIPE, pipe="branch", is_branch=True, **held),
                instruction(PIPE, **held),
                ldmatrix(4, board, draw(st.integers(1, 32)), **held),
                instruction(SHARED, wavefronts=((2,) * 8, (5,) * 8), fills=True, stage=1, **held),
                copy(fetch, through_l1=draw(st.booleans()), zero_fills=draw(st.booleans()), read=board, **held),
                load(fetch, **held),
                epilogue_load(draw(st.integers(0, OUTPUTS - 1)), **held),
                instruction(GLOBAL, target=(OUTPUT, 0, 0, 0), **held),
                instruction(COMMIT, **held),
                instruction(DEPBAR, pending=draw(st.integers(0, 3)), **held | {"gated": True}),
                instruction(BAR, **held),
            )
        )
    )


DRAWN = replace(
    A100, dram=replace(A100.dram, latency_least=400, latency_late=700, latency_later=900, latency_most=1100)
)
"""An A100 whose misses take unequal times."""

STATUS = st.builds(L2Status, slow=st.integers(0, 1000), missed=st.integers(0, 1000), shared=st.integers(1, 9))


@pytest.mark.slow
@settings(max_examples=300)
@given(
    code=st.lists(instructions(), min_size=1, max_size=12),
    trips=st.integers(1, 3),
    shape=st.tuples(st.integers(1, 8), st.integers(1, 5), st.integers(1, 3), st.integers(1, 3), st.integers(1, 132)),
    requests=st.lists(SECTORS, min_size=FETCHES + 2, max_size=FETCHES + 2),
    status=STATUS,
    simulates_l2=st.booleans(),
    capacities=st.tuples(st.integers(0, 6), st.integers(1, 6)),
    merged=st.integers(1, 4),
    interval=st.integers(0, 3),
    ordered=st.booleans(),
)
def test_random_code_runs_the_same_on_every_core(
    other, *, code, trips, shape, requests, status, simulates_l2, capacities, merged, interval, ordered
):
    """
    CTAs in turn on few SMs, with an L1, an L2 and an instruction cache of few lines; each trip fetches the
    next requests.

    Where CTAs are ordered, each waits for the one before it wherever an instruction awaits a slice, twice in a CTA too.
    """
    warps, ctas, sms, slots, share = shape
    figures = with_figures(
        figures_of(DRAWN, 0, busy=False),
        {
            "instruction_cache.l0_bytes": 20 * 128,
            "l2.merging.most": merged,
            "l1.lines.interval": interval,
            "launch.units.gpcs": (0, 1),
            "launch.units.sides": (0, 1),
        },
        l1_lines=capacities[0],
        l2_lines=capacities[1],
    )
    memory = Memory(
        [(sum(mask.bit_count() for _, mask in lines), tuple(lines)) for lines in requests],
        statuses=[status] * len(requests),
        outputs=[(4, status), (0, status)],
        simulates_l2=simulates_l2,
        follows=range(-1, ctas - 1) if ordered else (),
    )
    left = []
    for module in (interpreted, other):
        chip = chip_of(
            assembly((code, trips), warps=warps),
            figures,
            module,
            memory=memory,
            ctas=ctas,
            sms=sms,
            slots=slots,
            share=share,
            groups=[sm % 2 for sm in range(sms)],
        )
        lives = finish(chip, min(ctas, sms * slots), 0, 10)
        left.append((lives, *left_by(chip)))

    assert left[0] == left[1]


# --- the ends of 64 bits ---


@pytest.mark.parametrize("at", [1 << 40, 10**15])
def test_a_run_that_begins_late_is_the_same_run(core, at):
    """
    The L2 counts thousandths of a cycle: 63 bits of them are 9.2e15 cycles, 53 days at 2 GHz. Here are 10^15.

    No other time grows faster, and no launch lasts so long: the calendar counts half cycles.
    """
    code = [copy(0), instruction(COMMIT), ldmatrix(4, 0, 8), load(1, write=1), instruction(DEPBAR), instruction(BAR)]
    code += [instruction(PIPE, waits=(0, 1)), epilogue_load(0, activity=0, line=3, gated=True)]
    memory = Memory([(1, ((0, 1),)), (2, ((1, 3),)), (2, ((1, 6),))], outputs=[(4, L2Status(500, 300))])
    given = {"warps": 5, "ctas": 2, "machine": A100, "memory": memory}
    early, late = (execute(core, (code, 2), at=begin, **given) for begin in (0, at))

    assert [(life.launched + at, life.finished + at) for life in early.lives] == [
        (life.launched, life.finished) for life in late.lives
    ]
    for key, warp in early.warps.items():
        assert [(begin + at, end + at, why) for begin, end, why in warp.spans] == late.warps[key].spans
    assert left_by(late.chip)[1:3] == left_by(early.chip)[1:3]


def test_64_bits_hold_the_core_s_largest_products():
    """
    Beside times there are two that are large, both watched here, and the buckets of lines.

    The bank of a line: 31 bits times 2654435761 (2^31.3) are 2^62.3. A request of 32 lines, all of it from DRAM: 4096
    bytes for each of 1024 SMs (2^22), times 188 channels (2^7.6) and 10^6 (2^19.9) 2^49.5. The bucket of the last line
    of 200 tensors has 2^47.6 before its low bits are taken.
    """
    core = checked_core()
    core.Lines(8).bucket(200 * TENSOR_STRIDE - 1)
    banks = {"dram.banks.channels": 188, "dram.banks.per_channel": 1}
    figures = with_figures(figures_of(A100, 0, busy=False), banks, dram_bytes_per_kilocycle=1)
    chip = chip_of(assembly(warps=1), figures, core, share=1024)
    chip.dram.channels = 188
    chip.dram.read(0, 0, 10**18, 32 * 128, 10**15)
    chip.dram.bank_of((1 << 31) - 1)

    with pytest.raises(AssertionError, match="more than 64 bits"):
        chip.dram.read(0, 0, 10**18, 1 << 30, 10**15)


@pytest.mark.parametrize(
    ("expression", "left", "right"),
    [("left // right", -1, 2), ("left % right", -1, 2), ("left * right", 1 << 62, 2), ("[left][right]", 1, -1)],
)
def test_the_watched_core_refuses_what_c_does_otherwise(expression, left, right):
    with pytest.raises(AssertionError):
        watched(f"def run(left, right): return {expression}").run(left, right)
