"""The arithmetic between a loaded accumulator and a stored output, by stated estimates."""

from collections.abc import Iterator

from gpusim.element_types import INTEGERS
from gpusim.lower.stream import Instruction
from gpusim.numerics.output_op import OutputOp

MEMORY_STALL = 2
"""Between two memory instructions, or any without a fixed latency, of one warp: the least that ptxas is seen to put."""

SHORTEST_DEPENDENT = 4
"""Dependent-issue latency of the integer and FP32 pipes since Volta. Source: Jia et al. 2019, table 4.1."""

OUTPUT_SCOREBOARD = 5
"""Of the loads whose data the arithmetic here waits for."""

ACCESS_ARITHMETIC = 3
"""Per global access: a 64-bit pointer add (2) and the predicate's test (1)."""


def integer(count: int, opcode: str = "IADD3") -> Iterator[Instruction]:
    """
    ``count`` integer instructions, of which every second depends on the one before it.

    Half dependent, half not: the shape of ``coordinate, test, coordinate, test`` chains.
    """
    for index in range(count):
        yield Instruction(opcode, "pipe", "alu", stall=SHORTEST_DEPENDENT if index % 2 else 2)


def repeated(opcode: str, pipe: str, count: int, stall: int = 1, *, waits: int = 0) -> Iterator[Instruction]:
    """``count`` instructions of one pipe, independent unless ``stall`` says otherwise; the first has a wait mask."""
    for index in range(count):
        yield Instruction(opcode, "pipe", pipe, stall=stall, wait_mask=0 if index else waits)


def global_opcode(name: str, bits: int) -> str:
    """``LDG.E.128``, ``STG.E.U16``, ...: an access of so many bits."""
    narrow = {8: "U8", 16: "U16", 32: ""}
    suffix = narrow.get(bits, str(bits))
    return f"{name}.E.{suffix}" if suffix else f"{name}.E"


def global_load(bits: int, op: object) -> Iterator[Instruction]:
    """One predicated global load of an epilogue, of so many bits, with the arithmetic of its address."""
    yield from integer(ACCESS_ARITHMETIC)
    opcode = global_opcode("LDG", bits)
    yield Instruction(opcode, "global", stall=MEMORY_STALL, write_scoreboard=OUTPUT_SCOREBOARD, op=op)


def global_store(bits: int, op: object) -> Iterator[Instruction]:
    """One predicated global store of an epilogue, of so many bits, with the arithmetic of its address."""
    yield from integer(ACCESS_ARITHMETIC)
    yield Instruction(global_opcode("STG", bits), "global", stall=MEMORY_STALL, guard="predicate", op=op)


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
        yield from repeated(opcode, pipe, elements, waits=waits)


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
        yield from repeated(scale, pipe, count)
    if does.compute == "f32" and does.accumulator in INTEGERS:
        yield from repeated("I2FP.F32.S32", "alu", count)
    yield from repeated(both if does.with_source else scale, pipe, count)
    if does.with_bias:
        yield from repeated(add, "alu" if does.compute == "s32" else pipe, count)
    if does.with_relu:
        yield from repeated(most, "alu", count)


def _conversion(does: OutputOp, elements: int) -> Iterator[Instruction]:
    """From the type computed in to the output's."""
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
