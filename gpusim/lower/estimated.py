"""Estimates the instruction stream of a schedule by stated rules, for kernels without available machine code.

The schedule's ops are exact. The arithmetic between them is counted from the sources of kernels_cuda's iterators
(``IteratorArithmetic``). Instructions are placed as an assembler places them: the other instructions of a k group are
spread evenly among its MMAs, but never across a wait or a barrier. Registers follow from the fragments. Nothing here is
fitted (D1).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpusim.element_types import Mma, tensor_opcode
from gpusim.errors import BadInput
from gpusim.lower.estimated_output import (
    MEMORY_STALL,
    OUTPUT_SCOREBOARD,
    bias_arithmetic,
    global_load,
    global_store,
    integer,
    output_arithmetic,
)
from gpusim.lower.stream import Instruction
from gpusim.machine.spec import Machine, TensorSpec
from gpusim.numerics.output_op import OutputOp
from gpusim.schedule import ops
from gpusim.tile.epilogue import EpilogueTile
from gpusim.tile.ldmatrix import FragmentLoads, fragment_loads
from gpusim.tile.operand import SIDES, Operand, Side
from gpusim.units import WARP_SIZE

COPY_SCOREBOARD = 4
"""Scoreboard that copies hold until their addresses are read. No instruction waits for it (D1)."""

EPILOGUE_SCOREBOARD = OUTPUT_SCOREBOARD
"""
Scoreboard of the epilogue's loads: shared memory, source and bias.

Fragment loads use scoreboards 0 to 3: two operands, and two k groups in alternation.
"""

TILE_SCOREBOARDS = {"a": 4, "b": 5}
"""
Scoreboards of a pipelined mainloop's global loads and of the stores of the loaded registers, by operand.

A load holds its scoreboard until the data is in the registers, a store until the registers are read. Copies and the
epilogue also use these two scoreboards, but never at the same time.
"""


KERNEL_SETUP = 40
"""Instructions before the iterators: parameters, block and warp indices, tile coordinates, base of the accumulators."""

LOOP_CONTROL = 10
"""Instructions per k tile: rotating the stages (two compares, four selects), loop counter, compare, two adds."""

EPILOGUE_SETUP = 40
"""Instructions before the epilogue's first step: output pointers, column predicates, shared-memory offsets."""

EPILOGUE_STEP = 8
"""Instructions per step of the epilogue: row predicate, pointer advance, loop control."""

BRANCH_STALL = 5
"""Stall count of a backward branch, as ptxas sets it. Fetching its target also takes the machine's branch latency."""

REGISTERS_BEYOND_FRAGMENTS = 40
"""
Registers of one thread for pointers, masks, loop state and addresses.

A round number from the kernels' constructors. A compiled stream has the exact number of registers.
"""


def tensor_pipe(mma: Mma) -> str:
    """
    Return the key of a mma.sync in a machine's ``tensor`` table.

    Unsigned integers share the figures of signed ones, because signedness is two bits of the same instruction
    (IMMA.16832.U8.U8).
    """
    m, n, k = mma.instruction
    return f"m{m}n{n}k{k}.{mma.ab.replace('u', 's')}.{mma.accumulator}"


def tensor_mnemonic(mma: Mma) -> str:
    """Return the SASS mnemonic of a mma.sync, such as HMMA.16816.F32.BF16 or IMMA.16832.S8.S8.SAT."""
    m, n, k = mma.instruction
    ab, accumulator = mma.ab.upper(), mma.accumulator.upper()
    opcode = tensor_opcode(mma.ab)
    if opcode == "IMMA":
        return f"{opcode}.{m}{n}{k}.{ab}.{ab}.SAT"
    return f"{opcode}.{m}{n}{k}.{accumulator}" + (f".{ab}" if ab in ("BF16", "TF32") else "")


def tensor_core(mma: Mma, machine: Machine) -> TensorSpec:
    """
    Return the issue interval and latency of a mma.sync.

    Raises:
        BadInput: The machine file has no figure for this mma.sync.
    """
    name = tensor_pipe(mma)
    if name not in machine.tensor:
        raise BadInput(
            f"{machine.name}: no figure for mma.sync {name}; the machine file has {', '.join(sorted(machine.tensor))}"
        )
    return machine.tensor[name]


class Lowering:
    """
    Turns the ops of one GEMM into instructions, with scoreboards and the arithmetic between ops.

    Args:
        operands: Operands A and B of the GEMM.
        mma: The mma.sync of the GEMM.
        machine: The machine, which has the latency of the mma.sync.
        epilogue: Tile of its epilogue.
    """

    def __init__(self, operands: Mapping[Side, Operand], mma: Mma, machine: Machine, epilogue: EpilogueTile) -> None:
        self.tiling = operands["a"].tiling
        self.tensor_pipe = tensor_pipe(mma)
        self.mma_opcode = tensor_mnemonic(mma)
        self.load_opcode = {side: _load_opcode(fragment_loads(operand)) for side, operand in operands.items()}
        self.arithmetic = {side: operand.source.arithmetic for side, operand in operands.items()}
        self.access_bits = {side: operand.access_bytes * 8 for side, operand in operands.items()}
        self.epilogue_tile = epilogue
        # With few MMAs in a k group, an accumulator is read again before the MMA that writes it has finished.
        self.mma_stall = max(2, -(-tensor_core(mma, machine).latency // self.tiling.mmas))

    def prologue(self, program: ops.Program) -> Iterator[Instruction]:
        """Yield the prologue: the iterators' constructors, then the copies, waits and fragment loads of the program."""
        yield from integer(KERNEL_SETUP)
        accesses = {
            operand: len(
                {
                    op.access
                    for op in program.prologue
                    if isinstance(op, ops.CopyAsync | ops.LoadGlobal) and op.operand == operand
                }
            )
            for operand in SIDES
        }
        for operand, count in accesses.items():
            yield from integer(self.arithmetic[operand].setup * count)
        yield from integer(self.tiling.warp[0] * self.tiling.warp[1] // WARP_SIZE, "MOV")
        yield from self.straight(program.prologue)

    def straight(self, steps: Sequence[ops.Op]) -> Iterator[Instruction]:
        """Yield the instructions of ops in the given order, each op after the arithmetic that it needs."""
        for op in steps:
            yield from self.instructions(op)

    def iteration(self, steps: Sequence[ops.Op]) -> Iterator[Instruction]:
        """Yield one k tile of the mainloop, loop control and backward branch included."""
        control = list(integer(LOOP_CONTROL))
        for operand in SIDES:
            control += integer(self.arithmetic[operand].advance)
        through_registers = any(isinstance(op, ops.StoreTile) for op in steps)
        yield from (self.k_tile_through_registers if through_registers else self.copied_k_tile)(steps, control)
        yield Instruction("BRA", "pipe", "branch", stall=BRANCH_STALL)

    def copied_k_tile(self, steps: Sequence[ops.Op], control: list[Instruction]) -> Iterator[Instruction]:
        """
        Yield one k tile of a multistage mainloop, whose copies (cp.async) bypass the registers.

        The other instructions of a k group are spread among its MMAs. Loop control is part of the last k group.
        """
        *before, last = under_mmas((op, self.instructions(op)) for op in steps)
        for mmas, beside in before:
            yield from spread(mmas, beside)
        yield from spread(last.mmas, last.beside + control)

    def k_tile_through_registers(self, steps: Sequence[ops.Op], control: list[Instruction]) -> Iterator[Instruction]:
        """
        Yield one k tile of a pipelined mainloop, whose operands pass through registers.

        The stores to shared memory wait for global loads, so they come as late as an assembler can put them: among the
        last MMAs, which do not depend on them. The barrier and the next k tile's first fragment loads follow.
        """
        beside, stores, following = control, list[Instruction](), list[Instruction]()
        for op in steps:
            if isinstance(op, ops.StoreTile):
                stores += self.instructions(op)
            elif isinstance(op, ops.Barrier) or following:
                following += self.instructions(op)
            elif isinstance(op, ops.WarpMma):
                yield from spread(list(self.instructions(op)), beside)
                beside = []
            else:
                beside += self.instructions(op)
        mmas = [one for one in following if one.unit == "tensor"]
        late = mmas[-len(stores) :]
        yield from mmas[: -len(stores)]
        yield from spread(late, stores)
        yield from (one for one in following if one.unit != "tensor")

    def epilogue(self, steps: Sequence[ops.Op], does: OutputOp) -> Iterator[Instruction]:
        """Yield the epilogue: accumulators pass through shared memory to global memory, step by step; then EXIT."""
        yield from in_epilogue((op, self.epilogue_access(op, does)) for op in steps)
        yield Instruction("EXIT", "exit")

    def instructions(self, op: ops.Op) -> Iterator[Instruction]:
        """
        Yield the instructions of one op: first the arithmetic that it needs, then its own.

        Raises:
            TypeError: The op is not a mainloop op.
        """
        match op:
            case ops.CopyAsync():
                yield from self.address(op)
                yield Instruction(
                    "LDGSTS.E.BYPASS.128" if op.cache == "cg" else "LDGSTS.E.128",
                    "ldgsts",
                    stall=MEMORY_STALL,
                    read_scoreboard=COPY_SCOREBOARD,
                    guard="zero-fill" if op.zfill else "predicate",
                    op=op,
                )
            case ops.LoadGlobal() | ops.StoreTile():
                yield from self.tile_access(op)
            case ops.CommitGroup():
                yield Instruction("LDGDEPBAR", "commit", stall=MEMORY_STALL, op=op)
            case ops.WaitGroup():
                yield Instruction("DEPBAR.LE", "depbar", stall=MEMORY_STALL, op=op)
            case ops.Barrier():
                yield Instruction("BAR.SYNC", "barrier", stall=MEMORY_STALL, op=op)
            case ops.Ldmatrix() | ops.LoadFragment():
                if op.instruction == 0:
                    yield from integer(1, "LOP3")
                board = _fragment_scoreboard(op.operand, op.k_group)
                opcode = self.load_opcode[op.operand]
                yield Instruction(opcode, "shared", stall=MEMORY_STALL, write_scoreboard=board, op=op)
            case ops.WarpMma():
                yield from self.mma(op)
            case _:
                raise TypeError(f"{op} is no op of a mainloop")

    def tile_access(self, op: ops.LoadGlobal | ops.StoreTile) -> Iterator[Instruction]:
        """
        Yield a global load into the threadblock fragment, or the store of that fragment to shared memory.

        The first store waits for the operand's loads. The registers of a load are cleared first, because lanes that are
        predicated off must find zeros. The first such clearing waits until the stores have read the registers.
        """
        board = TILE_SCOREBOARDS[op.operand]
        waits = 0 if op.access else 1 << board
        if isinstance(op, ops.StoreTile):
            yield Instruction("STS.128", "shared", stall=MEMORY_STALL, read_scoreboard=board, wait_mask=waits, op=op)
            return
        bits = self.access_bits[op.operand]
        yield from self.address(op)
        for pair in range(-(-bits // 64)):
            yield Instruction("CS2R", "pipe", "alu", stall=2, wait_mask=0 if pair or op.vec else waits)
        opcode = "LDG.E.LTC128B" + (f".{bits}" if bits > 32 else "")
        yield Instruction(opcode, "global", stall=MEMORY_STALL, write_scoreboard=board, guard="predicate", op=op)

    def address(self, op: ops.CopyAsync | ops.LoadGlobal) -> Iterator[Instruction]:
        """Yield the arithmetic for address and predicate of a copy or load. Further vecs of an access need less."""
        arithmetic = self.arithmetic[op.operand]
        yield from integer(arithmetic.vec if op.vec else arithmetic.access)

    def mma(self, op: ops.WarpMma) -> Iterator[Instruction]:
        """Yield the mma.sync of a warp-level MMA. The first one waits for the fragments of both operands."""
        boards = (1 << _fragment_scoreboard("a", op.k_group)) | (1 << _fragment_scoreboard("b", op.k_group))
        for part in range(self.tiling.mmas):
            yield Instruction(
                self.mma_opcode,
                "tensor",
                self.tensor_pipe,
                stall=self.mma_stall,
                wait_mask=boards if part == 0 else 0,
                op=op,
                part=part,
            )

    def epilogue_access(self, op: ops.Op, does: OutputOp) -> Iterator[Instruction]:
        """Yield one access of the epilogue. A global store first scales and converts its elements."""
        tile = self.epilogue_tile
        elements = tile.elements_per_access
        match op:
            case ops.StoreShared() | ops.LoadShared():
                yield self.exchange(op)
            case ops.LoadSource() | ops.LoadBias():
                yield from global_load(tile.access_bits, op)
                if isinstance(op, ops.LoadBias):
                    yield from bias_arithmetic(does, elements)
            case ops.StoreGlobal():
                yield from output_arithmetic(does, elements)
                yield from global_store(tile.access_bits, op)
            case _:
                yield from self.instructions(op)

    def exchange(self, op: ops.StoreShared | ops.LoadShared) -> Instruction:
        """Return the instruction of one access to the epilogue's staging in shared memory."""
        tile = self.epilogue_tile
        if isinstance(op, ops.StoreShared):
            return Instruction(f"STS.{tile.store_bytes * 8}", "shared", stall=MEMORY_STALL, op=op)
        opcode = f"LDS.{tile.load_bytes * 8}"
        return Instruction(opcode, "shared", stall=MEMORY_STALL, write_scoreboard=EPILOGUE_SCOREBOARD, op=op)


def in_epilogue(
    lowered: Iterable[tuple[object, Iterable[Instruction]]], setup: int = EPILOGUE_SETUP
) -> Iterator[Instruction]:
    """
    Yield the instructions of an epilogue's ops, with the arithmetic of its setup and of each step.

    Args:
        lowered: Ops in order, each with its instructions.
        setup: Instructions before the first step.
    """
    yield from integer(setup)
    step = -1
    for op, made in lowered:
        if isinstance(op, ops.StoreShared) and op.step != step:
            step = op.step
            yield from integer(EPILOGUE_STEP)
        yield from made


class KGroup(NamedTuple):
    """
    Instructions that are issued together.


    Attributes:
        mmas: MMAs of a k group; empty if the group only loads.
        beside: Other instructions that are spread among the MMAs.
    """

    mmas: list[Instruction]
    beside: list[Instruction]


def under_mmas(lowered: Iterable[tuple[object, Iterable[Instruction]]]) -> Iterator[KGroup]:
    """
    Group the instructions of a mainloop's ops with the MMAs among which they are issued.

    The fragment loads of the first k group come before its MMAs. Copies and the fragment loads of the next k group are
    spread among the MMAs. No instruction moves across a wait or a barrier.

    Args:
        lowered: Ops in order, each with its instructions.
    """
    group = KGroup([], [])
    loading: tuple[int, int] | None = None
    for op, made in lowered:
        if isinstance(op, ops.CommitGroup | ops.WaitGroup | ops.Barrier):
            yield group
            yield KGroup([], list(made))
            group = KGroup([], [])
        elif isinstance(op, ops.WarpMma):
            group.mmas.extend(made)
        else:
            if isinstance(op, ops.Ldmatrix | ops.LoadFragment):
                if group.mmas or (op.k_tile, op.k_group) != loading:
                    yield group
                    group = KGroup([], [])
                loading = op.k_tile, op.k_group
            group.beside.extend(made)
    yield group


def spread(mmas: list[Instruction], beside: list[Instruction]) -> Iterator[Instruction]:
    """
    Interleave ``beside`` evenly among ``mmas``, keeping the order of both.

    The next k group's fragment loads come first in ``beside``. They issue among the first MMAs and have the rest of the
    k group to complete, as an assembler places them.
    """
    position = 0
    for index, mma in enumerate(mmas):
        yield mma
        upto = len(beside) * (index + 1) // len(mmas)
        yield from beside[position:upto]
        position = upto
    yield from beside[position:]


def _load_opcode(loads: FragmentLoads) -> str:
    return "LDS" if loads.words else f"LDSM.16.{'MT88' if loads.trans else 'M88'}.{loads.matrices}"


def _fragment_scoreboard(operand: str, k_group: int) -> int:
    return (0 if operand == "a" else 1) + 2 * (k_group % 2)
