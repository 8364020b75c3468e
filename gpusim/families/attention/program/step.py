"""One op of an attention program with its phase, its key block and its column block."""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from gpusim.families.attention.program.softmax import SoftmaxOp
from gpusim.schedule.ops import Op

Phase: TypeAlias = Literal["start", "qk", "softmax", "pv", "buffer", "normalise", "epilogue", "lse"]
"""
start: clears the statistics. qk, pv: the two GEMMs. softmax: between them. buffer: an epilogue to the f32 buffer.
normalise: the division of an output in registers. epilogue: to the output. lse: the log-sum-exp.
"""


@dataclass(frozen=True, slots=True)
class Step:
    """
    One op of an attention program.

    Attributes:
        phase: Phase of the op. Operands a and b are q and k in ``qk``, p and v in ``pv``.
        key_block: Number of the key block, in the order of the keys; -1 outside the key loop.
        column_block: Tile of the second GEMM along head_dim_v.
        op: The op. Its k tile, k group, fetch and stage count from 0 in each GEMM.
    """

    phase: Phase
    key_block: int
    column_block: int
    op: Op | SoftmaxOp


OP_KINDS: Final = (*get_args(Op), *get_args(SoftmaxOp))
"""Types of the ops of an attention program."""

AttentionProgram: TypeAlias = tuple[Step, ...]
"""The ordered steps of one CTA. Every warp executes all of them; lanes differ in addresses and predicates."""
