"""The estimated stream: the schedule's ops exactly, and around them only what the module states."""

from collections import Counter
from dataclasses import replace

import pytest
from problems.gemm import random_scenario
from problems.small import small

from gpusim.errors import BadInput
from gpusim.families.gemm.estimated import estimated_stream, registers_per_thread
from gpusim.families.gemm.program import program
from gpusim.families.registry import load_scenario, parse_scenario
from gpusim.lower.estimated import EPILOGUE_SETUP, KERNEL_SETUP, LOOP_CONTROL, tensor_core
from gpusim.lower.stream import shifted
from gpusim.machine import load_machine
from gpusim.scenario.catalogue import find_scenario, shipped_scenarios
from gpusim.schedule.ops import Barrier, CommitGroup, CopyAsync, Ldmatrix, WaitGroup, WarpMma
from gpusim.units import SCOREBOARDS

H200 = load_machine("h200")
FENCES = (CommitGroup, WaitGroup, Barrier)


def shipped():
    """The multistage ones, whose loops and copies these laws are about."""
    scenarios = {one.name: load_scenario(one.path) for one in shipped_scenarios()}
    return {name: scenario for name, scenario in scenarios.items() if scenario.kernel.mainloop == "multistage"}


F16 = ("f16", "f32", (16, 8, 16))
SCENARIOS = shipped() | {
    f"random-{seed}": random_scenario(seed, mainloop="multistage", types=F16) for seed in range(12)
}


def lowered(scenario, slice_=0):
    runs = program(scenario, scenario.k_iterations(slice_), slice_)
    return runs, estimated_stream(scenario, runs, H200)


def segment(stream, name):
    return next(one for one in stream.segments if one.name == name)


def named(instructions):
    """The ops of a stretch of instructions; a warp-level MMA once, where its first mma.sync is."""
    return [one.op for one in instructions if one.op is not None and one.part == 0]


def between_fences(ops):
    """Stretches of ops that no commit, wait or barrier lies in."""
    stretches = [[]]
    for op in ops:
        if isinstance(op, FENCES):
            stretches += [[op], []]
        else:
            stretches[-1].append(op)
    return stretches


@pytest.fixture(params=SCENARIOS.values(), ids=SCENARIOS.keys(), scope="module")
def scenario(request):
    return request.param


def test_straight_regions_hold_the_programs_ops_in_order(scenario):
    runs, stream = lowered(scenario)

    assert named(segment(stream, "prologue").instructions) == list(runs.prologue)
    assert named(segment(stream, "tail").instructions) == list(runs.tail)
    assert named(segment(stream, "epilogue").instructions) == list(runs.epilogue)


def test_a_loop_holds_its_k_tiles_ops_op_for_op(scenario):
    """Interleaved, but never across a commit, a wait or a barrier, and each kind of op in its own order."""
    runs, stream = lowered(scenario)
    ours = between_fences(named(segment(stream, "mainloop").instructions))
    schedules = between_fences(runs.iterations[0])

    assert list(map(Counter, ours)) == list(map(Counter, schedules))
    for kind in (CopyAsync, Ldmatrix, WarpMma):
        assert [op for stretch in ours for op in stretch if isinstance(op, kind)] == [
            op for op in runs.iterations[0] if isinstance(op, kind)
        ]


def test_the_trips_of_the_loop_are_the_programs_iterations(scenario):
    """Trip t is the segment's ops moved on by t k tiles: fetches, k tiles and ring slots."""
    runs, stream = lowered(scenario)
    loop = segment(stream, "mainloop")
    first = Counter(named(loop.instructions))

    assert loop.trips == len(runs.iterations)
    assert loop.tiles_per_trip == 1
    for trip, body in enumerate(runs.iterations):
        moved = Counter({shifted(op, trip, scenario.kernel.stages): count for op, count in first.items()})
        assert moved == Counter(body)


@pytest.mark.parametrize("seed", range(30))
def test_every_program_repeats_its_first_k_tile(seed):
    """The law that lets one loop execute the mainloop."""
    scenario = random_scenario(seed)
    for slice_ in range(scenario.problem.split_k_slices):
        iterations = program(scenario, scenario.k_iterations(slice_), slice_).iterations
        for k_tile, body in enumerate(iterations):
            assert body == tuple(shifted(op, k_tile, scenario.kernel.stages) for op in iterations[0])


def test_a_program_that_does_not_repeat_is_refused():
    scenario = SCENARIOS["conv_9_k_tiles"]
    runs = program(scenario, 3)
    odd = (*runs.iterations[:2], runs.iterations[2][:-1])

    with pytest.raises(BadInput) as caught:
        estimated_stream(scenario, replace(runs, iterations=odd), H200)
    assert str(caught.value) == (
        "the mainloop must repeat one k tile, but k tile 2 is not k tile 0 moved on: "
        "a stream with one loop cannot execute it"
    )


def test_without_k_tiles_there_is_no_loop(scenario):
    stream = estimated_stream(scenario, program(scenario, 0), H200)

    assert [one.name for one in stream.segments] == ["prologue", "tail", "epilogue"]


def test_a_warp_level_mma_is_all_its_mma_sync(scenario):
    """As many as instruction tiles in the warp tile, numbered; the first waits for both operands' fragments."""
    _, stream = lowered(scenario)
    m, n, _ = (warp // one for warp, one in zip(scenario.kernel.warp, scenario.kernel.instruction, strict=True))
    mmas = [one for one in segment(stream, "mainloop").instructions if isinstance(one.op, WarpMma)]
    groups = Counter(one.op for one in mmas)

    assert set(groups.values()) == {m * n}
    assert [one.part for one in mmas] == list(range(m * n)) * scenario.kernel.k_groups
    assert all((one.wait_mask != 0) == (one.part == 0) for one in mmas)


def test_an_mma_waits_for_the_scoreboards_its_fragments_set(scenario):
    """The last fragment loads of a k group, in this trip or the one before, set what its first mma.sync waits for."""
    _, stream = lowered(scenario)
    setters = {}
    for trip in range(2):
        for one in segment(stream, "prologue").instructions + segment(stream, "mainloop").instructions:
            op = None if one.op is None else shifted(one.op, trip, scenario.kernel.stages)
            if isinstance(op, Ldmatrix):
                setters[op.k_tile, op.k_group, op.operand] = one.write_scoreboard
            elif isinstance(op, WarpMma) and one.part == 0:
                boards = {setters[op.k_tile, op.k_group, operand] for operand in "ab"}
                assert one.wait_mask == sum(1 << board for board in boards)


def test_scoreboards_and_stalls_fit_the_control_field(scenario):
    _, stream = lowered(scenario)
    for one in (one for part in stream.segments for one in part.instructions):
        assert 1 <= one.stall <= 15
        assert -1 <= one.write_scoreboard < SCOREBOARDS
        assert -1 <= one.read_scoreboard < SCOREBOARDS
        assert one.wait_mask < 1 << SCOREBOARDS


def test_what_is_around_the_ops_of_a_k_tile_is_the_stated_arithmetic():
    """
    One k tile of the section-6 convolution: 8 + 8 copies, 4 k groups of 4 + 4 ldmatrix and 32 mma.sync.

    Named: 16 + 32 + 128 + commit, wait, barrier = 179. Around them 8 * 11 + 8 * 4 for the copies, an XOR before the
    first ldmatrix of each operand's fragment (2 * 4), advances of 10 and 12, loop control, and the branch.
    """
    _, stream = lowered(SCENARIOS["conv_s6_crosswise"])
    body = segment(stream, "mainloop").instructions

    assert sum(one.op is not None for one in body) == 179
    assert len(body) - 179 == 8 * 11 + 8 * 4 + 8 + 10 + 12 + LOOP_CONTROL + 1
    assert body[-1].opcode == "BRA"


def test_optimized_iterators_need_less_than_half_of_the_analytic_arithmetic_per_copy():
    """3x3, 128x128x64: an activation copy takes 4 instructions instead of 11, a filter copy 3 instead of 4."""
    analytic = SCENARIOS["conv_s6_crosswise"]
    optimized = analytic.model_copy(update={"kernel": analytic.kernel.model_copy(update={"iterator": "optimized"})})
    copies = [[one.operand(side).source.arithmetic.access for side in ("a", "b")] for one in (analytic, optimized)]

    assert copies == [[11, 4], [4, 3]]
    bodies = [len(segment(lowered(one)[1], "mainloop").instructions) for one in (analytic, optimized)]
    assert bodies[1] < bodies[0]


def test_a_further_copy_of_an_access_costs_its_predicate_alone_where_a_pointer_addresses_it():
    narrow = load_scenario(find_scenario("conv_s6_crosswise"), ["problem.alignment_a=2", "problem.alignment_b=2"])
    wide = SCENARIOS["conv_s6_crosswise"]
    bodies = []
    for one in (wide, narrow):
        optimized = one.model_copy(update={"kernel": one.kernel.model_copy(update={"iterator": "optimized"})})
        bodies.append(segment(lowered(optimized)[1], "mainloop").instructions)

    # 16 accesses of 4 copies instead of 1: three more copies each, with one instruction each.
    assert len(bodies[1]) - len(bodies[0]) == 16 * 3 * 2


def test_the_last_instruction_is_the_exit_and_nowhere_else(scenario):
    _, stream = lowered(scenario)
    exits = [one for part in stream.segments for one in part.instructions if one.unit == "exit"]

    assert exits == [stream.segments[-1].instructions[-1]]


def test_setup_opens_the_kernel_and_the_epilogue(scenario):
    _, stream = lowered(scenario)

    for name, count in (("prologue", KERNEL_SETUP), ("epilogue", EPILOGUE_SETUP)):
        assert all(one.op is None for one in segment(stream, name).instructions[:count])


@pytest.mark.parametrize(
    ("threadblock", "warp", "registers"),
    [([128, 128, 64], [64, 64, 64], 232), ([64, 64, 64], [32, 32, 64], 104), ([128, 256, 32], [64, 64, 32], 232)],
)
def test_registers_are_accumulators_two_fragments_and_a_constant(threadblock, warp, registers):
    """64 x 64 / 32 = 128, 2 * (64 + 64) * 16 * 16 bits / 32 lanes = 64, and 40: 232. 32 x 32: 32 + 32 + 40 = 104."""
    problem = {"kind": "gemm", "m": 128, "n": 128, "k": 128}
    data = {"machine": "h200", "problem": problem, "kernel": {"threadblock": threadblock, "warp": warp, "stages": 3}}

    assert registers_per_thread(parse_scenario(data, "test"), H200) == registers


def test_a_machine_without_the_mma_is_refused():
    with pytest.raises(BadInput, match=r"^t4: no figure for mma\.sync m16n8k16\.f16\.f32; the machine file has m"):
        tensor_core(SCENARIOS["gemm_4096"].mma, load_machine("t4"))


# --- a kernel of one tile, counted by hand ---


def by_hand(**kernel):
    """
    The stream of a 64x64x192 GEMM of f16 in tiles of 64x64x64: four warps of 32x32, 128 threads.

    A k tile of either operand is 64 * 64 * 2 = 8192 bytes: four 16-byte accesses a thread.
    """
    types = {"ab": "f16", "accumulator": "f32", "output": "f16"}
    _, stream = lowered(small({"kind": "gemm", "m": 64, "n": 64, "k": 192, "dtype": types}, **kernel))
    return stream


def opcodes(stream, name):
    return dict(Counter(one.opcode for one in segment(stream, name).instructions))


def test_a_multistage_prologue_by_hand():
    """
    40 instructions of setup, 6 for each of 2 * 4 accesses, and 3 for each of the 16 copies of two stages: 136.

    32 * 32 / 32 lanes = 32 accumulators are cleared. The first k group's fragments are 32x16 of both operands: two
    ldmatrix.x4 each, after one LOP3.
    """
    assert opcodes(by_hand(), "prologue") == {
        "IADD3": 40 + 6 * 8 + 3 * 16,
        "MOV": 32,
        "LDGSTS.E.BYPASS.128": 16,
        "LDGDEPBAR": 2,
        "DEPBAR.LE": 1,
        "BAR.SYNC": 1,
        "LOP3": 2,
        "LDSM.16.M88.4": 4,
    }


def test_a_multistage_k_tile_by_hand():
    """
    Four k groups of 2 * 4 MMAs. 10 instructions of loop control, 4 to advance either operand, 3 for each of 8 copies.
    """
    stream = by_hand()
    loop = segment(stream, "mainloop")

    assert loop.trips == 3
    assert opcodes(stream, "mainloop") == {
        "HMMA.16816.F32": 32,
        "LOP3": 8,
        "LDSM.16.M88.4": 16,
        "IADD3": 10 + 2 * 4 + 8 * 3,
        "LDGSTS.E.BYPASS.128": 8,
        "LDGDEPBAR": 1,
        "DEPBAR.LE": 1,
        "BAR.SYNC": 1,
        "BRA": 1,
    }


def test_stalls_of_a_k_tile_by_hand():
    """
    Eight MMAs until an accumulator is needed again, after 24 cycles: 3 each. Memory 2, integers 2 and 4, the branch 5.
    """
    loop = segment(by_hand(), "mainloop").instructions

    assert {(one.opcode, one.stall) for one in loop} == {
        ("HMMA.16816.F32", 3),
        ("LOP3", 2),
        ("LDSM.16.M88.4", 2),
        ("IADD3", 2),
        ("IADD3", 4),
        ("LDGSTS.E.BYPASS.128", 2),
        ("LDGDEPBAR", 2),
        ("DEPBAR.LE", 2),
        ("BAR.SYNC", 2),
        ("BRA", 5),
    }


def test_the_first_k_group_of_a_k_tile_by_hand():
    """
    Eight MMAs; beside them the next group's LOP3 and two ldmatrix of either operand, then two copies of 3 and 1: 14.

    After i MMAs, floor(14 i / 8) of those: 1, 3, 5, 7, 8, 10, 12, 14. The first MMA waits for scoreboards 0 and 1,
    which this group's fragments hold; the next group's hold 2 and 3.
    """
    group = segment(by_hand(), "mainloop").instructions[:22]
    mma, lop, ldsm, add, copies = "HMMA.16816.F32", "LOP3", "LDSM.16.M88.4", "IADD3", "LDGSTS.E.BYPASS.128"

    assert [one.opcode for one in group] == [
        *(mma, lop),
        *(mma, ldsm, ldsm),
        *(mma, lop, ldsm),
        *(mma, ldsm, add),
        *(mma, add),
        *(mma, add, copies),
        *(mma, add, add),
        *(mma, add, copies),
    ]
    assert [one.wait_mask for one in group if one.opcode == mma] == [0b11, *[0] * 7]
    assert [one.write_scoreboard for one in group if one.opcode == ldsm] == [2, 2, 3, 3]
    assert [one.read_scoreboard for one in group if one.opcode == copies] == [4, 4]


def test_an_epilogue_by_hand():
    """
    32 rows of a warp in four steps: 40 instructions of setup, 8 for each step, 3 for each of four 16-byte stores.

    A store of 8 halves scales 8 accumulators, packs 4 pairs, and follows two LDS.128. In each step every thread stores
    two of its 32 accumulators four times, between two barriers.
    """
    stream = by_hand()

    assert opcodes(stream, "epilogue") == {
        "IADD3": 40 + 4 * 8 + 4 * 3,
        "BAR.SYNC": 8,
        "STS.64": 16,
        "LDS.128": 8,
        "FMUL": 32,
        "F2FP.F16.F32.PACK_AB": 16,
        "STG.E.128": 4,
        "EXIT": 1,
    }
    stalls = {(one.opcode, one.stall) for one in segment(stream, "epilogue").instructions if one.opcode != "IADD3"}
    assert stalls == {
        *(("BAR.SYNC", 2), ("STS.64", 2), ("LDS.128", 2), ("STG.E.128", 2)),
        *(("FMUL", 1), ("F2FP.F16.F32.PACK_AB", 2), ("EXIT", 1)),
    }


def test_a_vector_of_the_output_waits_for_its_loads():
    """Of eight FMUL, the first waits for scoreboard 5."""
    code = segment(by_hand(), "epilogue").instructions
    masks = [one.wait_mask for one in code if one.opcode == "FMUL"]

    assert masks == [1 << 5, *[0] * 7] * 4
    assert {one.write_scoreboard for one in code if one.opcode == "LDS.128"} == {5}


def test_a_pipelined_kernel_by_hand():
    """
    One stage of loads comes before the loop: 40 + 6 * 8 + 3 * 8 integers. Each load of 16 bytes clears four registers.

    In the loop, the eight stores follow the loads' scoreboards, 4 and 5, among the last MMAs.
    """
    stream = by_hand(mainloop="pipelined", stages=2)
    loop = segment(stream, "mainloop").instructions

    assert opcodes(stream, "prologue") == {
        "IADD3": 40 + 6 * 8 + 3 * 8,
        "MOV": 32,
        "CS2R": 16,
        "LDG.E.LTC128B.128": 8,
        "STS.128": 8,
        "BAR.SYNC": 1,
        "LOP3": 2,
        "LDSM.16.M88.4": 4,
    }
    assert opcodes(stream, "mainloop") == {
        "HMMA.16816.F32": 32,
        "IADD3": 10 + 2 * 4 + 8 * 3,
        "LOP3": 8,
        "LDSM.16.M88.4": 16,
        "CS2R": 16,
        "LDG.E.LTC128B.128": 8,
        "STS.128": 8,
        "BAR.SYNC": 1,
        "BRA": 1,
    }
    assert [one.wait_mask for one in loop if one.opcode == "CS2R"] == [16, *[0] * 7, 32, *[0] * 7]
    assert [one.write_scoreboard for one in loop if one.opcode == "LDG.E.LTC128B.128"] == [4] * 4 + [5] * 4
    assert [one.wait_mask for one in loop if one.opcode == "STS.128"] == [16, 0, 0, 0, 32, 0, 0, 0]
    assert [one.read_scoreboard for one in loop if one.opcode == "STS.128"] == [4] * 4 + [5] * 4


def test_stores_of_a_pipelined_k_tile_come_among_the_last_mmas():
    """The last eight MMAs have a store each behind them; a barrier and the next k tile's first fragments follow."""
    loop = [one.opcode for one in segment(by_hand(mainloop="pipelined", stages=2), "mainloop").instructions]

    assert loop[-24:] == [
        *["HMMA.16816.F32", "STS.128"] * 8,
        *["BAR.SYNC", "LOP3", "LDSM.16.M88.4", "LDSM.16.M88.4", "LOP3", "LDSM.16.M88.4", "LDSM.16.M88.4", "BRA"],
    ]


def test_registers_by_hand():
    """
    32 accumulators, two fragments of (32 + 32) * 16 halves over 32 lanes: 2 * 16, and 40: 104, a multiple of 8.

    Pipelined, the k tiles of both operands too: 8 accesses of four registers, 136.
    """
    assert by_hand().registers_per_thread == 104
    assert by_hand(mainloop="pipelined", stages=2).registers_per_thread == 136
