"""Machine code decoded for a machine: units, pipes, accesses and barriers of single instructions, and whole kernels."""

import numpy as np
import pytest
from own.build import TARGETS
from own.traced import execution

from gpusim.errors import Unsupported
from gpusim.execute.core.constants import ROW
from gpusim.lab.own.table import OWN_KERNELS
from gpusim.lower.sass.decode import Control, Sass
from gpusim.lower.sass.operands import PT, Constant, Immediate, Predicate, Register
from gpusim.machine import load_machine, machine_names
from gpusim.own.machine_code import (
    TRACED,
    MachineCode,
    is_traced,
    last_exits,
    machine_code,
    tensor_key,
    traced_in,
    unit_and_pipe,
)
from gpusim.sim.core.constants import (
    ARRIVES,
    ATOMIC,
    BAR,
    EXIT,
    FENCE,
    FLOAT_ATOMIC,
    GLOBAL,
    LDGSTS,
    PASSES,
    PIPE,
    SHARED,
    WAITS,
)

H200 = load_machine("h200")
FREE = Control(stall=2, yield_=True, write=7, read=7, wait_mask=0, reuse=0)
FEW = ("saxpy", "atomic_kinds", "named_barriers", "constant_table", "mma_fp16", "dgemm")


def sass(mnemonic, **operands):
    return Sass(0, mnemonic, Predicate(PT), operands, (), FREE)


def immediate(value):
    return Immediate(value, "u32")


def decoded(*code, size=4, leaders=(), machine=H200):
    """Instructions as a kernel's text, whose accesses all have one size."""
    return machine_code(code, np.full(len(code) * ROW, size), machine, 4, last_exits(code), leaders)


def one(mnemonic, size=4, **operands):
    return decoded(sass(mnemonic, **operands), size=size).decoded[0]


@pytest.mark.parametrize(
    ("mnemonic", "kind"),
    [
        ("LDS.128", SHARED),
        ("LDL", SHARED),
        ("LDG.E", GLOBAL),
        ("RED.E.ADD.STRONG.GPU", GLOBAL),
        ("LDGSTS.E.BYPASS.128", LDGSTS),
        ("BAR.SYNC.DEFER_BLOCKING", BAR),
        ("FFMA", PIPE),
        ("HMMA.16816.F32", PIPE),
        ("SHFL.IDX", SHARED),
    ],
)
def test_an_instruction_has_the_unit_of_its_opcode(mnemonic, kind):
    assert one(mnemonic).kind == kind


@pytest.mark.parametrize(
    ("mnemonic", "key"),
    [
        ("HMMA.16816.F32", "m16n8k16.f16.f32"),
        ("HMMA.1688.F16", "m16n8k8.f16.f16"),
        ("HMMA.16816.F32.BF16", "m16n8k16.bf16.f32"),
        ("HMMA.1688.F32.TF32", "m16n8k8.tf32.f32"),
        ("IMMA.16832.S8.S8", "m16n8k32.s8.s32"),
        ("IMMA.16832.U8.S8", "m16n8k32.s8.s32"),
        ("IMMA.16864.S4.S4", "m16n8k64.s4.s32"),
    ],
)
def test_an_mma_has_the_key_of_its_shape_and_types(mnemonic, key):
    assert tensor_key(sass(mnemonic)) == key
    assert unit_and_pipe(sass(mnemonic)) == ("tensor", key)


@pytest.mark.parametrize(
    ("mnemonic", "message"),
    [("DMMA.884", "DMMA has no pipe in the model"), ("HMMA.16832.F32", "the shape of HMMA.16832.F32 is not known")],
)
def test_an_instruction_without_a_pipe_is_refused_by_name(mnemonic, message):
    with pytest.raises(Unsupported, match=message):
        unit_and_pipe(sass(mnemonic))
    assert list(decoded(sass("FFMA"), sass(mnemonic)).refused) == [1]


def test_an_addition_in_f64_has_the_figures_of_its_pipe():
    row, fp64 = one("DADD"), H200.pipes["fp64"]

    assert (row.interval, row.latency) == (fp64.interval, fp64.latency) == (2, 8)
    assert not row.traced


@pytest.mark.parametrize(
    ("mnemonic", "pipe"), [("IMAD.WIDE.U32", "IMAD"), ("IMAD.HI", "IMAD"), ("DSETP.GT.AND", "DADD")]
)
def test_some_instructions_take_two_intervals_of_their_pipe(mnemonic, pipe):
    assert one(mnemonic).interval == 2 * one(pipe).interval


def test_an_indexed_constant_takes_an_interval_of_its_own():
    """The other constants have one address for all lanes, so they are not traced."""
    by_lane = one("LDC", m=Constant(3, 0, Register(4)))

    assert (by_lane.kind, by_lane.traced) == (PASSES, True)
    assert by_lane.interval == H200.constant_cache.indexed.interval
    assert not is_traced(sass("LDC", m=Constant(3, 0)))
    assert not is_traced(sass("LDC", m=Constant(3, 0, Register(4, uniform=True))))
    assert is_traced(sass("MATCH.ANY"))
    assert not is_traced(sass("MATCH.ALL"))


@pytest.mark.parametrize(
    ("mnemonic", "sectors"),
    [("LDG.E", 2), ("LDG.E.LTC64B", 2), ("LDG.E.LTC128B", 4), ("LDG.E.LTC256B", 4), ("LDGSTS.E.BYPASS.LTC128B.128", 4)],
)
def test_a_miss_brings_what_the_hint_says(mnemonic, sectors):
    """64 bytes are two sectors. The second line of a hint of 256 bytes is not brought."""
    assert one(mnemonic).fetch_sectors == sectors


@pytest.mark.parametrize(
    ("mnemonic", "atomic", "is_load"),
    [
        ("RED.E.ADD.STRONG.GPU", ATOMIC, False),
        ("ATOMG.E.ADD.STRONG.GPU", ATOMIC, True),
        ("ATOMG.E.ADD.F32.FTZ.RN.STRONG.GPU", FLOAT_ATOMIC, True),
        ("RED.E.ADD.F16x2.RN.STRONG.GPU", FLOAT_ATOMIC, False),
        ("STG.E", 0, False),
        ("LDG.E", 0, True),
    ],
)
def test_an_atomic_is_of_integers_or_floats_and_may_return(mnemonic, atomic, is_load):
    row = one(mnemonic)

    assert (row.traced, row.atomic, row.is_load) == (True, atomic, is_load)


def test_the_latency_of_a_shared_load_is_that_of_its_width():
    assert [one("LDS", size).latency for size in (1, 4, 8, 16)] == [H200.shared.lds_latency(n) for n in (4, 4, 8, 16)]
    assert (one("LDSM.16.M88.4", 4).bytes, one("LDSM.16.M88.4", 4).latency) == (512, H200.shared.ldmatrix_latency_x1)


def test_a_barrier_has_its_number_count_and_action():
    """96 threads are three warps. A number in a register is known when the barrier is met."""
    sync = one("BAR.SYNC", k=immediate(3), c=immediate(96))
    arrive = one("BAR.ARV", k=immediate(3), c=immediate(96))

    assert (sync.barrier, sync.arrivals, sync.meets) == (3, 3, ARRIVES | WAITS)
    assert (arrive.barrier, arrive.arrivals, arrive.meets) == (3, 3, ARRIVES)
    assert one("BAR.SYNC", k=immediate(0)).arrivals == 0


@pytest.mark.parametrize(
    ("mnemonic", "kind", "cycles"),
    [
        ("MEMBAR.SC.CTA", PIPE, H200.barrier.fences.cta),
        ("MEMBAR.SC.GPU", FENCE, H200.barrier.fences.gpu),
        ("MEMBAR.ALL.GPU", FENCE, H200.barrier.fences.gpu),
        ("MEMBAR.SC.SYS", FENCE, H200.barrier.fences.system),
    ],
)
def test_a_fence_has_the_time_of_its_scope(mnemonic, kind, cycles):
    row = one(mnemonic)

    assert (row.kind, row.latency) == (kind, cycles)


def test_a_barrier_that_was_met_by_register_has_an_entry():
    code = decoded(sass("BAR.SYNC", k=Register(4)), sass("EXIT"))
    found = code.with_barriers([(0, 5, 2), (0, 6, 8)])

    assert found.origin.tolist() == [0, 1, 1, 0, 0]
    assert [(row.barrier, row.arrivals) for row in found.decoded[3:]] == [(5, 2), (6, 8)]
    assert found.decoded[:3] == code.decoded


def test_every_exit_has_an_entry_as_a_last_instruction():
    """Where it stands in the text, only some lanes may leave, and the warp goes on."""
    code = [sass("EXIT"), sass("FFMA"), None, sass("EXIT")]

    assert last_exits(code).tolist() == [4, -1, -1, 5]
    assert decoded(*code).origin.tolist() == [0, 1, 2, 3, 0, 3]
    assert [row.kind for row in decoded(*code).decoded] == [PIPE, PIPE, 0, PIPE, EXIT, EXIT]
    assert traced_in([*code, sass("LDG.E")]).tolist() == [False] * 4 + [True]


def test_a_line_of_the_instruction_cache_begins_every_128_bytes_and_where_jumps_lead():
    """Eight instructions of 16 bytes; a jump leads to instruction 3."""
    rows = decoded(*[sass("FFMA")] * 9, leaders={3}).decoded

    assert [row.line for row in rows] == [0, -1, -1, 0, -1, -1, -1, -1, 1]


@pytest.mark.parametrize(
    ("kernel", "target"),
    [
        pytest.param(kernel, target, marks=() if kernel.name in FEW and target == 90 else pytest.mark.slow)
        for kernel in OWN_KERNELS
        for target in TARGETS
        if kernel.needs <= target
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_no_instruction_of_an_own_kernel_is_refused(kernel, target):
    found = execution(kernel.name, target)
    code = machine_code(found.code, found.rows, H200, found.launch.warps, last_exits(found.code), ())

    assert code.refused == {}
    assert isinstance(code, MachineCode)
    assert len(code.decoded) == len(code.origin) == len(found.code) + int((last_exits(found.code) >= 0).sum())
    assert [row.traced for row in code.decoded[: len(found.code)]] == traced_in(found.code).tolist()


@pytest.mark.parametrize("machine", machine_names())
def test_every_machine_decodes_every_traced_opcode(machine):
    """Machines of Turing have no cp.async."""
    spec = load_machine(machine)
    known = [name for name in TRACED if name != "LDGSTS" or spec.async_copy is not None]

    assert decoded(*map(sass, known), machine=spec).refused == {}
