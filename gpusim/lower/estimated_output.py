"""Estimates the instructions between loading accumulators and storing the output, by stated rules."""

from collections.abc import Iterator

from gpusim.element_types import INTEGERS
from gpusim.lower.stream import Instruction
from gpusim.numerics.output_op import OutputOp

MEMORY_STALL = 2
"""Stall count after an instruction of variable latency, such as a memory access: the least that ptxas sets."""

SHORTEST_DEPENDENT = 4
"""Dependent-issue latency of the integer and FP32 pipes since Volta. Source: Jia et al. 2019, table 4.1."""

OUTPUT_SCOREBOARD = 5
"""Scoreboard of the loads whose data this arithmetic waits for."""

ACCESS_ARITHMETIC = 3
"""Instructions per global access: a 64-bit pointer add (2) and a test of the predicate (1)."""


def integer(count: int, opcode: str = "IADD3") -> Iterator[Instruction]:
    """
    Yield ``count`` integer instructions, every second of which depends on the one before it.

    This models a chain ``coordinate, test, coordinate, test``.
    """
    for index in range(count):
        yield Instruction(opcode, "pipe", "alu", stall=SHORTEST_DEPENDENT if index % 2 else 2)


def repeated(opcode: str, pipe: str, count: int, stall: int = 1, *, waits: int = 0) -> Iterator[Instruction]:
    """Yield ``count`` instructions of one pipe, independent unless ``stall`` is larger; the first has a wait mask."""
    for index in range(count):
        yield Instruction(opcode, "pipe", pipe, stall=stall, wait_mask=0 if index else waits)


def global_opcode(name: str, bits: int) -> str:
    """Return the opcode of a global access of ``bits`` bits, such as ``LDG.E.128`` or ``STG.E.U16``."""
    narrow = {8: "U8", 16: "U16", 32: ""}
    suffix = narrow.get(bits, str(bits))
    return f"{name}.E.{suffix}" if suffix else f"{name}.E"


def global_load(bits: int, op: object) -> Iterator[Instruction]:
    """Yield one predicated global load of an epilogue, ``bits`` wide, with its address arithmetic."""
    yield from integer(ACCESS_ARITHMETIC)
    opcode = global_opcode("LDG", bits)
    yield Instruction(opcode, "global", stall=MEMORY_STALL, write_scoreboard=OUTPUT_SCOREBOARD, op=op)


def global_store(bits: int, op: object) -> Iterator[Instruction]:
    """Yield one predicated global store of an epilogue, ``bits`` wide, with its address arithmetic."""
    yield from integer(ACCESS_ARITHMETIC)
    yield Instruction(global_opcode("STG", bits), "global", stall=MEMORY_STALL, guard="predicate", op=op)


def output_arithmetic(does: OutputOp, elements: int) -> Iterator[Instruction]:
    """
    Yield the arithmetic of one vector of the output. Its first instruction waits for the loads.

    In f32, each element takes I2FP if accumulators are integers; FMUL, or with a source its conversion, FMUL and FFMA;
    FADD for a bias, which was converted when it was loaded; FMNMX for ReLU. Then follow F2FP for two 16-bit results,
    F2IP for two of 8 bits, F2I for any other integer, and I2IP for two of 4 bits. In f16, each pair takes HMUL2, or
    with a source HMUL2 and HFMA2; HADD2; HMNMX2. In s32, each element takes IMAD, one more with a source, IADD3,
    VIMNMX. Partial sums are stored without arithmetic.

    Args:
        does: The output operation.
        elements: Elements of the vector.
    """
    if not does.scaled:
        return
    made = list(_combination(does, elements)) + list(_conversion(does, elements))
    first, *rest = made
    yield Instruction(first.opcode, "pipe", first.pipe, stall=first.stall, wait_mask=1 << OUTPUT_SCOREBOARD)
    yield from rest


def bias_arithmetic(does: OutputOp, elements: int) -> Iterator[Instruction]:
    """Yield the conversion of a loaded vector of the bias to the compute type. It waits for the load."""
    yield from _to_compute(does, elements, waits=1 << OUTPUT_SCOREBOARD)


def _to_compute(does: OutputOp, elements: int, waits: int = 0) -> Iterator[Instruction]:
    if does.compute == "f32" and does.output != "f32":
        opcode, pipe = ("I2FP.F32.S32", "alu") if does.output in INTEGERS else ("HADD2.F32", "half")
        yield from repeated(opcode, pipe, elements, waits=waits)


def _combination(does: OutputOp, elements: int) -> Iterator[Instruction]:
    """Yield scaling, sums and activation of one vector."""
    scale, both, add, most, pipe = {
        "f32": ("FMUL", "FFMA", "FADD", "FMNMX", "fma"),
        "f16": ("HMUL2", "HFMA2", "HADD2", "HMNMX2", "half"),
        "s32": ("IMAD", "IMAD", "IADD3", "VIMNMX", "fmaheavy"),
    }[does.compute]
    count = -(-elements // 2) if does.compute == "f16" else elements
    if does.with_source:
        yield from _to_compute(does, elements)
        yield from repeated(scale, pipe, count)
    if does.compute == "f32" and does.accumulator in INTEGERS:
        yield from repeated("I2FP.F32.S32", "alu", count)
    yield from repeated(both if does.with_source else scale, pipe, count)
    if does.with_bias:
        yield from repeated(add, "alu" if does.compute == "s32" else pipe, count)
    if does.with_relu:
        yield from repeated(most, "alu", count)


def _conversion(does: OutputOp, elements: int) -> Iterator[Instruction]:
    """Yield the conversion from the compute type to the output type."""
    if does.compute != "f32":
        return
    pairs = -(-elements // 2)
    if does.output in ("s8", "u8"):
        yield from repeated(f"F2IP.{does.output.upper()}.F32.NTZ", "alu", pairs)
    elif does.output in INTEGERS:
        yield from repeated("F2I.NTZ", "mufu", elements)
        yield from repeated("I2IP.SAT", "alu", pairs if does.output in ("s4", "u4") else 0)
    elif does.output != "f32":
        yield from repeated(f"F2FP.{does.output.upper()}.F32.PACK_AB", "half", elements // 2, 2)
