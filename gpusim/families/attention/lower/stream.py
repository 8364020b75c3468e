"""Makes the instruction stream of an attention schedule by stated estimates: two GEMMs, the softmax between them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Literal, get_args

from gpusim.element_types import element_bits
from gpusim.families.attention.lower.softmax import softmax_instructions
from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.attention.program import softmax
from gpusim.families.attention.program.step import AttentionProgram, Step
from gpusim.families.attention.tile.blocks import attention_epilogue, source_parts
from gpusim.families.attention.tile.operands import GEMMS, gemm_operands
from gpusim.families.attention.tile.shape import CTAS_PER_SM, AttentionShape, attention_shape
from gpusim.lower import estimated
from gpusim.lower.estimated_output import OUTPUT_SCOREBOARD, global_load, global_store, integer, repeated
from gpusim.lower.stream import Instruction, Segment, Stream
from gpusim.machine.spec import Machine
from gpusim.schedule import ops
from gpusim.units import VECTOR_BITS

SOFTMAX_OPS = get_args(softmax.SoftmaxOp)

MADE_ANEW = 340
"""
Instructions of CUTLASS's kernel that construct a GEMM's iterators, with run-time extents, in every key block.

By the counters of nine launches (tests/golden/data/cutlass_fmha_h200.json), a warp executes 1,173 to 1,526 instructions
in a key block: 638 to 707 more than are lowered here otherwise. That these construct the iterators is inferred. The
same launches are used to judge cycles.
"""

_ANEW = tuple(
    Instruction(opcode, "pipe", pipe, stall=stall)
    for opcode, pipe, stall in (
        ("IADD3", "alu", 2),
        ("IMAD", "fmaheavy", 1),
        ("LOP3", "alu", 2),
        ("ISETP", "alu", 1),
        ("IMAD", "fmaheavy", 2),
        ("SEL", "alu", 1),
        ("IADD3", "alu", 2),
        ("IMAD", "fmaheavy", 1),
        ("UIADD3", "uniform", 2),
        ("SHF", "alu", 4),
    )
)
"""
Ten of these instructions, mixed like the set-up code before the loops of gpusim's own kernels.

There, 57 to 68 % are on the ALU, 20 to 31 % on the multiplier and 4 to 7 % uniform, and a warp's next instruction may
follow after 1.3 to 2.1 cycles in the mean. With ALU instructions alone, the nine launches had a mean error of 16 %;
with this mix, chosen afterwards, it is 8 %.
"""

SET_UP_AT_RUN_TIME = 300
"""Further instructions of CUTLASS's kernel at the begin and end of a CTA, by the same counters."""

PASSED_BY_BARE_CTAS = 8
"""Instructions that a CTA without a query executes: block indices, the batch's length, a test, the branch."""


def attention_registers(scenario: AttentionScenario, machine: Machine) -> int:
    """
    Estimate the registers of one thread.

    Registers hold the accumulators of both GEMMs, two fragments of each operand of one GEMM, and a constant number of
    other values. In flash the first GEMM's accumulators are the second one's A fragments, and a row's maximum and sum
    stay in registers. If the output has a buffer, accumulators end with their GEMM. ``CTAS_PER_SM`` limits the number.

    Not modelled: spills of a kernel that would need more (D17).

    Returns:
        A multiple of 8, at most the architecture's limit.
    """
    shape = attention_shape(scenario)
    scores, output = (warp[0] * warp[1] // 32 for warp in (shape.qk.warp, shape.pv.warp))
    accumulators = scores + output if shape.in_registers else max(scores, output)
    bits = element_bits(scenario.problem.dtype.ab) * scenario.instruction[2]
    rows = shape.qk.warp[0] + shape.qk.warp[1], (0 if shape.flash else shape.pv.warp[0]) + shape.pv.warp[1]
    fragments = 2 * max(rows) * bits // 32 // 32
    statistics = 2 * shape.rows_of_lane if shape.flash else 0
    total = accumulators + fragments + statistics + estimated.REGISTERS_BEYOND_FRAGMENTS
    shared_out = machine.limits.registers // (CTAS_PER_SM[scenario.kernel.mainloop] * shape.threads) // 8 * 8
    return min(-(-total // 8) * 8, shared_out, machine.limits.registers_per_thread)


def attention_stream(scenario: AttentionScenario, program: AttentionProgram | None, machine: Machine) -> Stream:
    """
    Lower a CTA's program by the stated estimates.

    Consecutive key blocks with equal steps are trips of one segment. The first key block, masked ones and a shorter
    last one are segments of their own.

    Args:
        program: The program; None for a CTA without queries, which ends at once.

    Raises:
        BadInput: The machine has no figure for the kernel's mma.sync.
    """
    end = Instruction("EXIT", "exit")
    registers = attention_registers(scenario, machine)
    if program is None:
        return Stream("estimated", registers, (Segment("prologue", (*integer(PASSED_BY_BARE_CTAS), end)),))
    lowering = AttentionLowering(scenario, machine)
    segments = [Segment("prologue", tuple(lowering.setup()))]
    for _, group in groupby(_stretches(program, flash=scenario.flash), key=lambda one: (one.name, one.alike)):
        stretch, *others = group
        code = tuple(lowering.stretch(stretch.steps))
        if stretch.name == "mainloop":
            segments.append(Segment("mainloop", (*code, *lowering.loop_control()), 1 + len(others), 1))
        else:
            segments.append(Segment(stretch.name, code))
    return Stream("estimated", registers, (*segments, Segment("epilogue", (end,))))


@dataclass(frozen=True, slots=True)
class _Stretch:
    """
    A run of steps: those before the key loop, of one of its trips, or after it.

    Attributes:
        alike: Equal for trips of one loop: the steps, their key blocks counted from the trip's own.
    """

    name: Literal["prologue", "mainloop", "epilogue"]
    alike: tuple[tuple[object, ...], ...]
    steps: tuple[Step, ...]


def key_block_trips(program: Sequence[Step]) -> list[int]:
    """
    Return the key block in whose trip of the key loop each step is executed; -1 outside the loop.

    A step that only copies belongs to the trip of the next other step: flash copies a key block's keys a trip earlier.
    """
    trips: list[int] = []
    trip = -1
    for step in reversed(program):
        if not trips or not isinstance(step.op, ops.CopyAsync | ops.CommitGroup) or step.key_block < 0:
            trip = step.key_block
        trips.append(trip)
    return trips[::-1]


def _stretches(program: AttentionProgram, *, flash: bool) -> list[_Stretch]:
    """Cut a program at the trips of its key loop."""
    onward = -1 if flash else 1
    stretches: list[_Stretch] = []
    for trip, group in groupby(zip(key_block_trips(program), program, strict=True), key=lambda pair: pair[0]):
        steps = tuple(step for _, step in group)
        if trip >= 0:
            alike = tuple((step.phase, onward * (step.key_block - trip), step.column_block, step.op) for step in steps)
            stretches.append(_Stretch("mainloop", alike, steps))
        else:
            stretches.append(_Stretch("epilogue" if stretches else "prologue", (), steps))
    return stretches


class AttentionLowering:
    """Turns steps into instructions for one attention scenario, one lowering of a GEMM for each of its two."""

    def __init__(self, scenario: AttentionScenario, machine: Machine) -> None:
        self.scenario = scenario
        self.shape: AttentionShape = attention_shape(scenario)
        self.epilogue = attention_epilogue(scenario)
        self.gemms = {
            gemm: estimated.Lowering(gemm_operands(scenario, gemm), scenario.mma, machine, self.epilogue)
            for gemm in GEMMS
        }
        self.tensor_latency = estimated.tensor_core(scenario.mma, machine).latency
        self.cutlass = scenario.kernel.code == "cutlass"

    def setup(self) -> Iterator[Instruction]:
        """Lower the code before the first op: parameters, lengths, tile coordinates, the iterators of Q, K and V."""
        yield from integer(estimated.KERNEL_SETUP + (SET_UP_AT_RUN_TIME if self.cutlass else 0))
        for lowering in self.gemms.values():
            for arithmetic in lowering.arithmetic.values():
                yield from integer(arithmetic.setup)

    def loop_control(self) -> Iterator[Instruction]:
        """Lower the end of a trip of the key loop: its counter, the key block's extent, the pointers of K and V."""
        yield from integer(estimated.LOOP_CONTROL)
        for lowering in self.gemms.values():
            yield from integer(lowering.arithmetic["b"].advance)
        yield Instruction("BRA", "pipe", "branch", stall=estimated.BRANCH_STALL)

    def stretch(self, steps: Sequence[Step]) -> Iterator[Instruction]:
        """Lower steps in order; the other instructions of a k group are interleaved with its MMAs."""
        masked = any(isinstance(step.op, softmax.ScaleScores) and step.op.masked for step in steps)
        begun: set[str] = set()
        for kind, group in groupby(steps, key=_kind):
            run = tuple(group)
            if kind == "gemm":
                if self.cutlass:
                    phases = {step.phase for step in run if isinstance(step.op, ops.WarpMma)} - begun
                    begun |= phases
                    yield from _ANEW * (MADE_ANEW // len(_ANEW) * len(phases))
                yield from self.gemm(run)
            elif kind == "softmax":
                for step in rows_together(run):
                    yield from softmax_instructions(step, self.shape, masked=masked)
            else:
                yield from self.output(run)

    def gemm(self, steps: Sequence[Step]) -> Iterator[Instruction]:
        """
        Lower copies, waits, barriers, fragments and MMAs of both GEMMs.

        Instructions that read the accumulators after the last MMA wait for its latency.
        """
        *before, last = estimated.under_mmas((step.op, self.instructions(step)) for step in steps)
        if last.mmas:
            last.mmas[-1] = replace(last.mmas[-1], stall=self.tensor_latency)
        for mmas, beside in (*before, last):
            yield from estimated.spread(mmas, beside)

    def instructions(self, step: Step) -> Iterator[Instruction]:
        """Lower one step of a GEMM with the arithmetic it needs."""
        op = step.op
        gemm = step.phase if step.phase in GEMMS else "pv"
        if isinstance(op, ops.WarpMma) and self.shape.flash and gemm == "pv":
            # The A fragment: accumulators of S rounded to the operands' type, two to a register.
            m, _, k = self.scenario.instruction
            count = self.shape.pv.warp[0] // m * m * k // 32 // 2
            yield from (replace(one, op=step) for one in repeated("F2FP.PACK_AB", "alu", count, 2))
        for instruction in self.gemms[gemm].instructions(op):  # type: ignore[arg-type]
            yield _of(step, instruction)

    def output(self, steps: Sequence[Step]) -> Iterator[Instruction]:
        """
        Lower an epilogue to the buffer or the output.

        Each element takes an FFMA if the buffer is read and rescaled, an FMUL by the reciprocal of the sum if the
        output is normalised, and half an F2FP for a 16-bit output. Each vector computes the reciprocal once.
        """
        source = any(isinstance(step.op, ops.LoadSource) for step in steps)
        division = any(isinstance(step.op, softmax.LoadStatistic) and step.op.statistic == "sum" for step in steps)
        accesses = ((step, self.output_access(step, source=source, division=division)) for step in steps)
        yield from estimated.in_epilogue((step.op, (_of(step, one) for one in made)) for step, made in accesses)

    def output_access(self, step: Step, *, source: bool, division: bool) -> Iterator[Instruction]:
        """Lower one step of an epilogue with the arithmetic it needs; a store first computes its elements."""
        tile, lowering = self.epilogue, self.gemms["pv"]
        match step.op:
            case softmax.LoadStatistic():
                yield from softmax_instructions(step, self.shape)
            case ops.LoadSource() as op:
                yield from global_load(VECTOR_BITS, op)
            case ops.StoreGlobal() as op:
                parts = source_parts(self.scenario) if step.phase == "buffer" else 1
                elements = tile.elements_per_access // parts
                bits = VECTOR_BITS if step.phase == "buffer" else tile.access_bits
                yield from self.output_arithmetic(elements, source=source, division=division, bits=bits // elements)
                yield from global_store(bits, op)
            case ops.StoreShared() | ops.LoadShared() as op:
                yield lowering.exchange(op)
            case op:
                yield from lowering.instructions(op)  # type: ignore[arg-type]

    def output_arithmetic(self, elements: int, *, source: bool, division: bool, bits: int) -> Iterator[Instruction]:
        """Lower the arithmetic of one store's elements: a wait for loaded data, and a reciprocal to normalise."""
        board = OUTPUT_SCOREBOARD
        made = [Instruction("MUFU.RCP", "pipe", "mufu", write_scoreboard=board)] if division else []
        made += repeated("FFMA", "fma", elements if source else 0, 2)
        made += [Instruction("FMUL", "pipe", "fma", stall=2, wait_mask=1 << board)] * (elements if division else 0)
        made += repeated("F2FP.PACK_AB", "alu", elements // 2 if bits == 16 else 0, 2)
        first, *rest = made or [Instruction("MOV", "pipe", "alu")]
        yield replace(first, wait_mask=1 << board)
        yield from rest


def _of(step: Step, instruction: Instruction) -> Instruction:
    """Return an op's instruction with a reference to the op's step."""
    return instruction if instruction.op is None else replace(instruction, op=step)


def rows_together(steps: Sequence[Step]) -> list[Step]:
    """
    Return softmax steps as an assembler places them: each op of all rows, then the next op of all rows.

    Steps without a row stay where they are; nothing passes them.
    """
    ordered: list[Step] = []
    for has_row, group in groupby(steps, key=lambda step: row_of(step) >= 0):
        if not has_row:
            ordered += group
            continue
        alike: dict[Step, list[Step]] = {}
        for step in group:
            op: Any = step.op
            first = replace(op, **{"index" if isinstance(op, softmax.StatisticAccess) else "row": 0})
            alike.setdefault(replace(step, op=first), []).append(step)
        ordered += [step for steps_alike in alike.values() for step in steps_alike]
    return ordered


def row_of(step: Step) -> int:
    """Return the lane's row that a softmax step accesses; -1 for all rows, an owned row, or P."""
    op = step.op
    if isinstance(op, softmax.StatisticAccess):
        return op.index if op.at == "fragment" else -1
    return op.row if isinstance(op, softmax.RowOp | softmax.Shuffle) else -1


def _kind(step: Step) -> Literal["gemm", "softmax", "output"]:
    if step.phase in ("epilogue", "buffer"):
        return "output"
    return "softmax" if isinstance(step.op, SOFTMAX_OPS) else "gemm"
