"""What the decoder makes of an instruction: the registers it reads, its place in the MIO, and whether it joins."""

import pytest
from doubles.published import H200
from problems.small import small, small_gemm

from gpusim.families.gemm.timed import TimedTileKernel
from gpusim.lower.stream import Instruction, Segment, Stream
from gpusim.machine import load_machine
from gpusim.schedule.lanes import Lanes
from gpusim.schedule.ops import Role
from gpusim.sim.code import pipe_names
from gpusim.sim.core.constants import COMMIT, LDGSTS, PIPE, SHARED
from gpusim.sim.decode import assemble
from gpusim.sim.tables import code_of

COPY = H200.async_copy
KERNEL = TimedTileKernel(small_gemm(128, 64, 320), H200)
QUEUE = len(pipe_names(H200))
"""The port that is the MIO queue; the one after it is always free."""


def decoded(opcode, unit, pipe=""):
    stream = Stream("compiled", 32, (Segment("prologue", (Instruction(opcode, unit, pipe),)),))
    ((one,),) = (segment.code for segment in assemble(stream, KERNEL, 0).segments)
    return one


def test_instructions_without_an_op_are_decoded_once_for_all_behaviours():
    """What differs in its instruction-cache line, or in what follows it, is decoded by itself."""
    plain = Instruction("IADD3", "pipe", "alu")
    stream = Stream("compiled", 96, (Segment("prologue", (plain, plain, plain)),))
    known = {}
    first, second = (assemble(stream, KERNEL, behaviour, known).segments[0].code for behaviour in (0, 1))

    assert [one is other for one, other in zip(first, second, strict=True)] == [True] * 3
    assert first[0].line == 0
    assert first[1].line == -1
    assert len(known) == 3


def test_the_code_of_each_role_is_decoded_by_itself(monkeypatch):
    """Two warps copy, two compute. The second role's lines lie behind the first one's, and so does its main loop."""
    parts = Role("copies", range(2)), Role("computes", range(2, 4))
    monkeypatch.setattr(Lanes, "roles", parts)
    add, loop = Instruction("IADD3", "pipe", "alu"), Instruction("FFMA", "pipe", "fma")
    stream = Stream(
        "compiled",
        32,
        (
            Segment("mainloop", (add,), 3, role="copies"),
            Segment("prologue", (add,), role="computes"),
            Segment("mainloop", (loop,), 5, role="computes"),
        ),
    )
    found = assemble(stream, KERNEL, 0)

    assert [(role.name, role.warps, len(role.segments)) for role in found.roles] == [
        ("copies", 2, 1),
        ("computes", 2, 2),
    ]
    assert [segment.code[0].line for segment in found.segments] == [0, 1, 2]
    assert list(code_of({0: found}, stream_lines=0).begins) == [0, 0, 1, 1]
    assert [stream.instructions_of(warp, KERNEL.lanes()) for warp in range(4)] == [3, 3, 6, 6]


@pytest.mark.parametrize(
    ("opcode", "unit", "registers"),
    [
        *(("LDS", "shared", 1), ("LDS.128", "shared", 1), ("LDSM.16.M88.4", "shared", 1)),
        *(("STS", "shared", 2), ("STS.64", "shared", 3), ("STS.128", "shared", 5), ("STS.U16", "shared", 2)),
        *(("LDG.E", "global", 2), ("LDG.E.128", "global", 2), ("STG.E", "global", 3), ("STG.E.128", "global", 6)),
        *(("ATOMS.MAX", "shared", 2), ("RED.E.ADD.STRONG.GPU", "global", 3)),
        *(("LDGSTS.E.BYPASS.128", "ldgsts", 3), ("LDGDEPBAR", "commit", 0), ("BAR.SYNC.DEFER_BLOCKING", "barrier", 0)),
    ],
)
def test_a_memory_instruction_reads_the_registers_of_its_address_and_of_what_it_stores(opcode, unit, registers):
    """An address in shared memory is one register, one in global memory two; a store reads its data, too."""
    assert decoded(opcode, unit).registers == registers


@pytest.mark.parametrize(
    ("opcode", "unit", "pipe", "joins"),
    [
        *(("LDS", "shared", "", True), ("LDSM.16.M88.4", "shared", "", True), ("STS.128", "shared", "", True)),
        *(("BAR.SYNC.DEFER_BLOCKING", "barrier", "", True), ("EXIT", "exit", "", True)),
        *(("BRA", "pipe", "branch", True), ("MUFU.EX2", "pipe", "mufu", True)),
        *(("ULDC", "pipe", "uniform", True), ("ULDC.64", "pipe", "uniform", True)),
        *(("UIADD3", "pipe", "uniform", False), ("ISETP.GE.AND", "pipe", "alu", False)),
        *(("IMAD", "pipe", "fma", False), ("HMMA.16816.F32", "tensor", "m16n8k16.f16.f32", False)),
    ],
)
def test_who_waits_for_a_deferred_barrier(opcode, unit, pipe, joins):
    """
    Samples of the program counter stalled by the barrier: LDS 142, STS 139, LDSM 50, BAR 13, ULDC 12, BRA 2.

    HMMA, ISETP, LEA, IMAD and VIADD lay behind it and were passed 270, 140, 99, 98 and 66 times (D32).
    """
    assert decoded(opcode, unit, pipe).joins is joins


def test_a_load_of_nothing_and_a_commit_take_a_place_in_the_mio_queue():
    """Whoever loads something is a load of the schedule; LDS as arithmetic between ops is ``@!PT LDS RZ, [RZ]``."""
    load, commit, other = decoded("LDS", "pipe", "alu"), decoded("LDGDEPBAR", "commit"), decoded("IMAD", "pipe", "fma")

    assert [(one.kind, one.port) for one in (load, commit)] == [(SHARED, QUEUE), (COMMIT, QUEUE)]
    assert (load.wavefronts, load.registers, load.is_load) == ((), 1, False)
    assert other.kind == PIPE
    assert decoded("DEPBAR", "depbar").port == QUEUE + 1


@pytest.mark.parametrize(
    ("opcode", "pipe", "further"), [("SHFL.IDX", "mufu", 0), ("S2R", "mufu", 0), ("S2UR", "uniform", 1)]
)
def test_shuffles_and_special_registers_between_ops_come_through_the_mio(opcode, pipe, further):
    """As a load of one wavefront, with a shuffle's latency; uniform registers are a uniform instruction farther."""
    one = decoded(opcode, "pipe", pipe)

    assert (one.kind, one.port, one.is_load, one.dispatches) == (SHARED, QUEUE, True, False)
    assert set(one.wavefronts[0]) == {1}
    assert one.latency == H200.shared.shuffle_latency + further * H200.pipes["uniform"].latency


@pytest.mark.parametrize("opcode", ["LDL", "STL.64"])
def test_a_spilled_register_goes_through_the_mio_to_the_l1(opcode):
    one = decoded(opcode, "pipe", "mufu")

    assert (one.kind, one.port, one.latency, one.dispatches) == (SHARED, QUEUE, H200.l1.hit_latency, False)


def test_a_stamp_is_stored_through_the_mio_and_a_semaphore_s_store_is_not():
    """A stamp holds two registers of its address and one of a clock until they are read; it returns nothing."""
    stamp, semaphore = decoded("STG.E", "pipe", "mufu"), decoded("STG.E.STRONG.GPU", "pipe", "mufu")

    assert (stamp.kind, stamp.port, stamp.registers, stamp.is_load) == (SHARED, QUEUE, 3, False)
    assert set(stamp.wavefronts[0]) == {1}
    assert (semaphore.kind, semaphore.dispatches) == (PIPE, True)


def test_a_load_of_constants_is_no_branch():
    """What follows a branch waits for it; what follows LDC does not, and its value comes as one of shared memory."""
    constant, branch = decoded("LDC", "pipe", "branch"), decoded("BRA", "pipe", "branch")

    assert (constant.is_branch, branch.is_branch) == (False, True)
    assert constant.latency == H200.shared.load_latency


def test_memory_instructions_take_from_the_tensor_core_what_was_measured_beside_it():
    """Loads from shared memory, ldmatrix and the load of nothing among them, stores to it, copies, and stores."""
    machine = load_machine("h200")
    kernel = TimedTileKernel(small_gemm(128, 64, 320), machine)
    stream = kernel.stream(0, "estimated")
    taken = {}
    for segment, decoded_segment in zip(stream.segments, assemble(stream, kernel, 0).segments, strict=True):
        for one, made in zip(segment.instructions, decoded_segment.code, strict=True):
            if made.kind != PIPE:
                taken.setdefault(one.opcode.partition(".")[0], set()).add(made.mma_hundredths)
    memory = machine.dispatch.memory

    assert (
        taken.items()
        >= {
            "LDSM": {memory.shared_load_percent},
            "LDS": {memory.shared_load_percent},
            "STS": {memory.shared_store_percent},
            "LDGSTS": {memory.copy_percent},
            "STG": {memory.store_percent},
            "BAR": {0},
        }.items()
    )


def test_a_load_of_nothing_takes_nothing_from_it():
    kernel = TimedTileKernel(small_gemm(128, 64, 320), load_machine("h200"))
    stream = Stream("compiled", 32, (Segment("prologue", (Instruction("LDS", "pipe", "alu"),)),))
    ((one,),) = (segment.code for segment in assemble(stream, kernel, 0).segments)

    assert (one.kind, one.mma_hundredths) == (SHARED, 0)


@pytest.mark.parametrize(
    ("depth", "stages", "apart"), [(64, 3, 0), (64, 4, 1), (64, 5, 0), (64, 6, 0), (32, 3, 0), (32, 4, 1), (32, 8, 1)]
)
def test_copies_of_crosswise_tiles_fill_lines_of_one_class_where_stages_are_a_multiple_of_four(depth, stages, apart):
    """A row of a tile, or two of 64 bytes, fill a line; the next one lies as many lines on as there are stages."""
    kernel = {"threadblock": [64, 64, depth], "warp": [32, 32, depth], "stages": stages}
    scenario = small({"kind": "gemm", "m": 64, "n": 64, "k": 512}, **kernel)

    assert aparts(scenario) == {apart * load_machine("h200").async_copy.apart}


def test_copies_of_rows_that_lie_side_by_side_fill_lines_of_all_classes():
    problem = {"kind": "gemm", "m": 64, "n": 64, "k": 512, "layout_a": "column", "layout_b": "row"}

    assert aparts(small(problem, stages=4)) == {0}


def aparts(scenario):
    """How much longer the copies of a scenario's kernel look up their lines."""
    kernel = TimedTileKernel(scenario, load_machine("h200"))
    assembly = assemble(kernel.stream(0, "estimated"), kernel, 0)
    return {one.lookup_penalty for segment in assembly.segments for one in segment.code if one.kind == LDGSTS}


def test_without_figures_of_memory_it_takes_nothing():
    assert [decoded(*one).mma_hundredths for one in (("STS", "shared"), ("LDGSTS", "ldgsts"), ("STG", "global"))] == [
        0,
        0,
        0,
    ]


@pytest.mark.parametrize(
    ("units", "stalls"),
    [
        (("commit", "pipe"), [2, 2]),
        (("commit", "commit", "pipe"), [COPY.commit_latency, 2, 2]),
        (("depbar", "barrier"), [2, 2]),
        (("depbar", "depbar", "barrier"), [COPY.wait_latency, 2, 2]),
    ],
)
def test_only_commits_and_waits_in_a_row_are_apart_by_more_than_their_stall(units, stalls):
    """In main loops SEL follows LDGDEPBAR after its stall of 2, and BAR follows DEPBAR after 4 (samples of an H200)."""
    opcodes = {"commit": "LDGDEPBAR", "depbar": "DEPBAR.LE", "pipe": "SEL", "barrier": "BAR.SYNC.DEFER_BLOCKING"}
    made = tuple(Instruction(opcodes[unit], unit, "alu" if unit == "pipe" else "", stall=2) for unit in units)
    stream = Stream("compiled", 32, (Segment("prologue", made),))
    (segment,) = assemble(stream, KERNEL, 0).segments

    assert [one.stall for one in segment.code] == stalls


@pytest.mark.parametrize("stall", [5, 11])
def test_behind_a_branch_only_its_latency_counts(stall):
    stream = Stream("compiled", 32, (Segment("prologue", (Instruction("BRA", "pipe", "branch", stall=stall),)),))
    ((one,),) = (segment.code for segment in assemble(stream, KERNEL, 0).segments)

    assert (one.stall, one.is_branch, one.latency) == (1, True, H200.pipes["branch"].latency)
