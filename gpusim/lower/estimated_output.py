"""The arithmetic between a loaded accumulator and a stored output, and the reduction's stream, by stated estimates."""

from collections.abc import Iterator

from gpusim.element_types import INTEGERS, element_bits
from gpusim.lower.stream import Instruction, Segment, Stream
from gpusim.numerics.output_op import OutputOp, reduction_output_op
from gpusim.scenario.gemm import GemmScenario
from gpusim.schedule.ops import LoadBias, LoadPartial, Op, StoreGlobal
from gpusim.schedule.reduction import reduction_ops, stage_ends
from gpusim.tile.reduction import ReductionTile

MEMORY_STALL = 2
"""Between two memory instructions, or any without a fixed latency, of one warp: the least that ptxas is seen to put."""

SHORTEST_DEPENDENT = 4
"""Dependent-issue latency of the integer and FP32 pipes since Volta. Source: Jia et al. 2019, table 4.1."""

OUTPUT_SCOREBOARD = 5
"""Of the loads whose data the arithmetic here waits for."""

ACCESS_ARITHMETIC = 3
"""Per global access: a 64-bit pointer add (2) and the predicate's test (1)."""

REDUCTION_SETUP = 24
"""Before the first load: indices of block and thread (4), row, column, their tests (8), three 64-bit offsets (12)."""

REDUCTION_REGISTERS_BEYOND_DATA = 16
"""Pointers, offsets and predicate of one thread of the reduction."""


def integer(count: int, opcode: str = "IADD3") -> Iterator[Instruction]:
    """
    ``count`` integer instructions, of which every second depends on the one before it.

    Half dependent, half not: the shape of ``coordinate, test, coordinate, test`` chains.
    """
    for index in range(count):
        yield Instruction(opcode, "pipe", "alu", stall=SHORTEST_DEPENDENT if index % 2 else 2)


def global_opcode(name: str, bits: int) -> str:
    """``LDG.E.128``, ``STG.E.U16``, ...: an access of so many bits."""
    narrow = {8: "U8", 16: "U16", 32: ""}
    suffix = narrow.get(bits, str(bits))
    return f"{name}.E.{suffix}" if suffix else f"{name}.E"


def output_arithmetic(does: OutputOp, elements: int) -> Iterator[Instruction]:
    """
    What one vector of the output takes, the first instruction waiting for what was loaded.

    In f32, each element: I2FP where accumulators are integers; FMUL, or with a source its conversion, FMUL and FFMA;
    FADD of a bias that was converted when it was loaded; FMNMX. Then F2FP for two 16-bit results, F2IP for two of 8
    bits, F2I for any other integer, and I2IP for two of 4 bits. In f16, each pair: HMUL2, or with a source HMUL2 and
    HFMA2; HADD2; HMNMX2. In s32, each element: IMAD, one more with a source, IADD3, VIMNMX. Partial sums are stored as
    they are.
    """
    if not does.scaled:
        return
    made = list(_combination(does, elements)) + list(_conversion(does, elements))
    first, *rest = made
    yield Instruction(first.opcode, "pipe", first.pipe, stall=first.stall, wait_mask=1 << OUTPUT_SCOREBOARD)
    yield from rest


def bias_arithmetic(does: OutputOp, elements: int) -> Iterator[Instruction]:
    """Conversion of a loaded vector of the bias to the type that is computed in."""
    yield from _to_compute(does, elements, waits=1 << OUTPUT_SCOREBOARD)


def _to_compute(does: OutputOp, elements: int, waits: int = 0) -> Iterator[Instruction]:
    if does.compute == "f32" and does.output != "f32":
        opcode, pipe = ("I2FP.F32.S32", "alu") if does.output in INTEGERS else ("HADD2.F32", "half")
        for element in range(elements):
            yield Instruction(opcode, "pipe", pipe, wait_mask=0 if element else waits)


def _combination(does: OutputOp, elements: int) -> Iterator[Instruction]:
    """Scales, sums and activation."""
    scale, both, add, most, pipe = {
        "f32": ("FMUL", "FFMA", "FADD", "FMNMX", "fma"),
        "f16": ("HMUL2", "HFMA2", "HADD2", "HMNMX2", "half"),
        "s32": ("IMAD", "IMAD", "IADD3", "VIMNMX", "fmaheavy"),
    }[does.compute]
    count = -(-elements // 2) if does.compute == "f16" else elements
    if does.with_source:
        yield from _to_compute(does, elements)
        yield from _repeated(scale, pipe, count)
    if does.compute == "f32" and does.accumulator in INTEGERS:
        yield from _repeated("I2FP.F32.S32", "alu", count)
    yield from _repeated(both if does.with_source else scale, pipe, count)
    if does.with_bias:
        yield from _repeated(add, "alu" if does.compute == "s32" else pipe, count)
    if does.with_relu:
        yield from _repeated(most, "alu", count)


def _conversion(does: OutputOp, elements: int) -> Iterator[Instruction]:
    """From the type computed in to the output's."""
    if does.compute != "f32":
        return
    pairs = -(-elements // 2)
    if does.output in ("s8", "u8"):
        yield from _repeated(f"F2IP.{does.output.upper()}.F32.NTZ", "alu", pairs)
    elif does.output in INTEGERS:
        yield from _repeated("F2I.NTZ", "mufu", elements)
        yield from _repeated("I2IP.SAT", "alu", pairs if does.output in ("s4", "u4") else 0)
    elif does.output != "f32":
        for _ in range(elements // 2):
            yield Instruction(f"F2FP.{does.output.upper()}.F32.PACK_AB", "pipe", "half", stall=2)


def _repeated(opcode: str, pipe: str, count: int) -> Iterator[Instruction]:
    for _ in range(count):
        yield Instruction(opcode, "pipe", pipe)


def estimated_reduction(scenario: GemmScenario) -> Stream:
    """
    The stream of a parallel split-K's second kernel, one segment.

    Raises:
        BadInput: The scenario has no parallel split-K.
    """
    tile, does = scenario.reduction, reduction_output_op(scenario)
    instructions = [*integer(REDUCTION_SETUP)]
    ends = stage_ends(tile.slices)
    added = 0
    for op in reduction_ops(scenario):
        instructions += _reduction_access(tile, does, op)
        if isinstance(op, LoadPartial) and op.access == tile.loads_per_slice - 1 and op.slice_ + 1 in ends:
            instructions += _additions(tile, op.slice_ + 1 - added)
            added = op.slice_ + 1
    instructions.append(Instruction("EXIT", "exit"))
    return Stream("estimated", _registers(tile, does), (Segment("epilogue", tuple(instructions)),))


def _reduction_access(tile: ReductionTile, does: OutputOp, op: Op) -> Iterator[Instruction]:
    if isinstance(op, StoreGlobal):
        yield from output_arithmetic(does, tile.elements_per_access)
        yield from integer(ACCESS_ARITHMETIC)
        yield Instruction(
            global_opcode("STG", tile.access_bits), "global", stall=MEMORY_STALL, guard="predicate", op=op
        )
        return
    yield from integer(ACCESS_ARITHMETIC)
    bits = tile.load_bytes * 8 if isinstance(op, LoadPartial) else tile.access_bits
    yield Instruction(
        global_opcode("LDG", bits), "global", stall=MEMORY_STALL, write_scoreboard=OUTPUT_SCOREBOARD, op=op
    )
    if isinstance(op, LoadBias):
        yield from bias_arithmetic(does, tile.elements_per_access)


def _additions(tile: ReductionTile, slices: int) -> Iterator[Instruction]:
    """Sums of the slices that were loaded since the last, the first waiting for their data."""
    opcode, pipe = {"f32": ("FADD", "fma"), "f16": ("HADD2", "half"), "s32": ("IADD3", "alu")}[tile.accumulator_type]
    count = tile.elements_per_access if tile.accumulator_type != "f16" else -(-tile.elements_per_access // 2)
    for index in range(slices * count):
        yield Instruction(opcode, "pipe", pipe, wait_mask=0 if index else 1 << OUTPUT_SCOREBOARD)


def _registers(tile: ReductionTile, does: OutputOp) -> int:
    """Sums, the partial sums of one stage, source and bias, and a constant for the rest; a multiple of 8."""
    words = -(-tile.elements_per_access * element_bits(tile.accumulator_type) // 32)
    held = words * (1 + min(tile.slices, stage_ends(tile.slices)[0]))
    held += -(-tile.access_bits // 32) * (does.with_source + does.with_bias)
    return -(-(held + REDUCTION_REGISTERS_BEYOND_DATA) // 8) * 8
