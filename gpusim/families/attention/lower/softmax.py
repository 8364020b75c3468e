"""Lowers the ops between attention's two GEMMs to instructions on their pipes, by stated rules."""

from collections.abc import Iterator
from dataclasses import replace

from gpusim.families.attention.program import softmax
from gpusim.families.attention.program.step import Step
from gpusim.families.attention.tile.shape import AttentionShape
from gpusim.lower.estimated_output import MEMORY_STALL, SHORTEST_DEPENDENT, global_store, integer, repeated
from gpusim.lower.stream import Instruction

OWNER_SCOREBOARD = 5
"""Scoreboard of the row that a lane owns. Scoreboards 0 to 3, of a GEMM's fragments, serve rows of S round robin."""

ROW_SCOREBOARDS = 4

ORDERED_BITS = 2
"""Instructions that convert a float to an integer of the same order, or back: spread the sign over all bits, XOR."""

MASK_ROW = 3
"""Instructions per row of a masked block: the last key that its query sees (two), less the lane's first key."""

RECIPROCAL_STEPS = 4
"""FFMA instructions that round MUFU.RCP's result to nearest (__frcp_rn): a Newton step, and its remainder."""

SUBNORMAL_TEST = 3
"""Instructions around MUFU.LG2, which takes no subnormal (lg2.approx without ftz): test, scaling, correction."""


def softmax_instructions(step: Step, shape: AttentionShape, *, masked: bool = False) -> Iterator[Instruction]:
    """
    Lower one softmax op. All of its instructions refer to the step.

    Maxima (FMNMX), tests and selections run on the ALU, as F2FP does, products, sums and differences on the FMA pipe,
    2^x, 1/x and log2 on the MUFU. Shuffles, and loads, stores and atomics of row statistics, pass the MIO. With n
    scores and c columns of the output in a row of a lane, as kernels_cuda/attention computes them:

    - ScaleScores: nothing, the scale is in the exponential's FFMA; masked, ``MASK_ROW``, n tests and selections a row.
    - RowMax: n - 1 maxima and the scale; in flash the running maximum too. RowSum: n sums. Both in two chains.
    - AtomicMax: ``ORDERED_BITS``, ATOMS. Shuffle: SHFL, and a maximum or a sum of what it brings.
    - RescaleFactor: a difference, 2^x and a product of the sum; in flash for each row, else for the owned one, besides
      its maximum's ``ORDERED_BITS``, a test and a selection.
    - RescaleOutput: c products.
    - Exponentials: n FFMA, n times 2^x; masked, a test and a selection for a maximum of -inf; in ``attention`` the
      maximum's ``ORDERED_BITS``.
    - StoreP: F2FP, STS. AddSums: a sum for each warp column.
    - Normalise: 1/x, ``RECIPROCAL_STEPS``, a test, a selection, c products.
    - StoreLse: log2, ``SUBNORMAL_TEST``, a sum and a product, a test and a selection, STG.

    Args:
        masked: Whether scores of the key block may be invisible.
    """
    for instruction in _of(step, shape, masked=masked):
        yield replace(instruction, op=step)


def _of(step: Step, shape: AttentionShape, *, masked: bool) -> Iterator[Instruction]:
    scores = shape.scores_of_row
    match step.op:
        case softmax.ScaleScores(hides):
            yield from _mask(shape.rows_of_lane if hides else 0, scores)
        case softmax.RowMax(_):
            yield from _chains("FMNMX", "alu", scores - 1, 0)
            yield from repeated("FMUL", "fma", 1, SHORTEST_DEPENDENT)
            yield from repeated("FMNMX", "alu", int(shape.flash), SHORTEST_DEPENDENT)
        case softmax.RowSum(row):
            yield from _chains("FADD", "fma", scores, _board(row))
        case softmax.RescaleFactor():
            yield from _factors(shape)
        case softmax.Exponentials(row):
            yield from _exponentials(scores, _board(row), masked=masked, ordered=not shape.flash)
        case softmax.AddSums():
            yield from repeated("FADD", "fma", shape.warp_columns, SHORTEST_DEPENDENT, waits=1 << OWNER_SCOREBOARD)
        case softmax.RescaleOutput() | softmax.Normalise():
            yield from _of_output(step.op, shape.pv.warp[1] // 4)
        case _:
            yield from _memory(step, shape)


def _of_output(op: softmax.RescaleOutput | softmax.Normalise, columns: int) -> Iterator[Instruction]:
    """Lower the products of one row of the output."""
    waits = 1 << _board(op.row)
    if isinstance(op, softmax.Normalise):
        yield Instruction("MUFU.RCP", "pipe", "mufu", write_scoreboard=_board(op.row), wait_mask=waits)
        yield from repeated("FFMA", "fma", RECIPROCAL_STEPS, SHORTEST_DEPENDENT, waits=waits)
        yield from _selected()
    yield from repeated("FMUL", "fma", columns, waits=waits)


def _memory(step: Step, shape: AttentionShape) -> Iterator[Instruction]:
    """Lower an op whose value passes through the MIO."""
    match step.op:
        case softmax.LoadStatistic(_, at, index):
            board = _board(index) if at == "fragment" else OWNER_SCOREBOARD
            yield Instruction("LDS", "shared", stall=MEMORY_STALL, write_scoreboard=board)
        case softmax.AtomicMax(_):
            yield from integer(ORDERED_BITS, "LOP3")
            yield Instruction("ATOMS.MAX", "shared", stall=MEMORY_STALL)
        case softmax.Shuffle(what, row):
            yield Instruction("SHFL.BFLY", "shared", stall=MEMORY_STALL, write_scoreboard=_board(row))
            opcode, pipe = ("FMNMX", "alu") if what == "maximum" else ("FADD", "fma")
            yield from repeated(opcode, pipe, 1, SHORTEST_DEPENDENT, waits=1 << _board(row))
        case softmax.StoreStatistic():
            yield Instruction("STS", "shared", stall=MEMORY_STALL)
        case softmax.StoreP(access):
            blocks = shape.qk.warp[1] // 8
            # The first pair of a row waits for its exponentials.
            waits = 0 if access % blocks else 1 << _board(access // blocks)
            yield Instruction("F2FP.PACK_AB", "pipe", "alu", stall=SHORTEST_DEPENDENT, wait_mask=waits)
            yield Instruction("STS", "shared", stall=MEMORY_STALL)
        case softmax.StoreLse():
            yield from _log_sum_exp()
        case _:
            raise TypeError(f"{step.op} is no op between attention's GEMMs")


def _log_sum_exp() -> Iterator[Instruction]:
    waits = 1 << OWNER_SCOREBOARD
    yield from repeated("FSETP", "alu", SUBNORMAL_TEST, waits=waits)
    yield Instruction("MUFU.LG2", "pipe", "mufu", write_scoreboard=OWNER_SCOREBOARD)
    yield from repeated("FADD", "fma", 2, SHORTEST_DEPENDENT, waits=waits)
    yield from _selected()
    yield from global_store(32, None)


def _board(row: int) -> int:
    return row % ROW_SCOREBOARDS


def _chains(opcode: str, pipe: str, count: int, board: int) -> Iterator[Instruction]:
    """Lower a reduction in two interleaved chains: an instruction depends on the second one before it."""
    waits = 1 << board if pipe == "fma" else 0
    yield from repeated(opcode, pipe, count, SHORTEST_DEPENDENT // 2, waits=waits)


def _mask(rows: int, scores: int) -> Iterator[Instruction]:
    for _ in range(rows):
        yield from integer(MASK_ROW)
        for _ in range(scores):
            yield from repeated("ISETP", "alu", 1, 2)
            yield from repeated("FSEL", "alu", 1, 2)


def _factors(shape: AttentionShape) -> Iterator[Instruction]:
    for row in range(shape.rows_of_lane if shape.flash else 1):
        board = _board(row) if shape.flash else OWNER_SCOREBOARD
        waits = 1 << board
        if not shape.flash:
            yield from repeated("LOP3", "alu", ORDERED_BITS, SHORTEST_DEPENDENT, waits=waits)
        yield from repeated("FADD", "fma", 1, SHORTEST_DEPENDENT, waits=waits)
        yield Instruction("MUFU.EX2", "pipe", "mufu", write_scoreboard=board)
        if not shape.flash:
            yield from _selected()
        yield from repeated("FMUL", "fma", 1, SHORTEST_DEPENDENT, waits=waits)


def _selected() -> Iterator[Instruction]:
    """Yield a test, and a selection by its result."""
    yield from repeated("FSETP", "alu", 1, SHORTEST_DEPENDENT)
    yield from repeated("FSEL", "alu", 1, SHORTEST_DEPENDENT)


def _exponentials(scores: int, board: int, *, masked: bool, ordered: bool) -> Iterator[Instruction]:
    made = list(repeated("LOP3", "alu", ORDERED_BITS if ordered else 0, SHORTEST_DEPENDENT))
    made += _selected() if masked else ()
    for _ in range(scores):
        # The next difference is computed under the last one's 2^x.
        made += repeated("FFMA", "fma", 1, 2)
        made.append(Instruction("MUFU.EX2", "pipe", "mufu", stall=2, write_scoreboard=board))
    yield replace(made[0], wait_mask=1 << board)
    yield from made[1:]
