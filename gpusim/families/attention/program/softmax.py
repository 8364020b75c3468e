"""The ops of attention's softmax, which extend the instruction set of ``schedule.ops``."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from gpusim.schedule.ops import WarpOp

Statistic: TypeAlias = Literal["maximum", "previous", "sum", "rescale", "partial_sum"]
"""
Rows of the CTA in shared memory, f32: the running maximum of log2(e) * scale * S, what it was a key block ago, the sum
of 2^(S - maximum), the factor by which older results shrink, and the sums of this key block, one for each warp column.
"""

At: TypeAlias = Literal["fragment", "owner", "output"]
"""
Which row an access means. fragment: the lane's ``index``-th row of S. owner: row warp * rows + lane of the rows each
warp updates, by as many lanes. output: the row of the epilogue's vector ``index`` = step * vectors of a step + access.
"""


@dataclass(frozen=True, slots=True)
class RowOp(WarpOp):
    """An op on one of the rows of S, and of the output, that a lane holds accumulators of."""

    row: int


@dataclass(frozen=True, slots=True)
class StatisticAccess(WarpOp):
    """
    One warp-wide access of a row statistic, a float for each lane that takes part.

    Attributes:
        statistic: The statistic.
        at: Rule that gives a lane its row.
        index: The lane's row, the warp column of an owner's partial sum, or the epilogue's vector.
    """

    statistic: Statistic
    at: At
    index: int = 0


@dataclass(frozen=True, slots=True)
class ScaleScores(WarpOp):
    """
    Multiplies S in registers by scale * log2(e).

    Attributes:
        masked: Whether a score is -inf where the query does not see the key.
    """

    masked: bool


class RowMax(RowOp):
    """Takes the maximum of the lane's scores of the row. In flash it includes the running maximum."""


class AtomicMax(RowOp):
    """atom.shared.max of the lane's maximum of the row into ``maximum``."""

    opcode = "ATOMS"
    traced_as = 17


@dataclass(frozen=True, slots=True)
class Shuffle(WarpOp):
    """
    shfl.sync.bfly of a value of one of the lane's rows, and the maximum or sum of both lanes' values.

    Attributes:
        what: The value, and the operation that combines both.
        row: Row of the lane.
        mask: 1 or 2; the other lane is lane XOR mask.
    """

    opcode = "SHFL"
    found_by_address = False
    traced_as = 18

    what: Literal["maximum", "sum"]
    row: int
    mask: int


class LoadStatistic(StatisticAccess):
    """ld.shared of one float of a statistic."""

    opcode = "LDS"
    traced_as = 19


class StoreStatistic(StatisticAccess):
    """st.shared of one float of a statistic; at ``fragment`` by lanes with lane mod 4 = 0."""

    opcode = "STS"
    traced_as = 20


@dataclass(frozen=True, slots=True)
class RescaleFactor(WarpOp):
    """Computes 2^(previous - maximum), 1 where both are equal, and scales the sum: owned rows, in flash the lane's."""


class RescaleOutput(RowOp):
    """Multiplies the lane's output of the row by the rescale factor."""


class Exponentials(RowOp):
    """Replaces the lane's scores of the row by 2^(S - maximum); by 0 where the maximum is -inf."""


class RowSum(RowOp):
    """Adds up the lane's exponentials of the row. In flash they are added to the running sum."""


@dataclass(frozen=True, slots=True)
class StoreP(WarpOp):
    """st.shared of two neighbouring elements of P, rounded: ``access`` = row * column blocks of 8 + column block."""

    opcode = "STS"
    traced_as = 25

    access: int


@dataclass(frozen=True, slots=True)
class AddSums(WarpOp):
    """Adds the partial sums of all warp columns to the running sum of an owned row."""


class Normalise(RowOp):
    """Divides the lane's output of the row by the sum; the output is 0 where the sum is 0."""


class StoreLse(RowOp):
    """
    st.global of maximum * ln 2 + ln sum: of an owned row; in flash of a row of the lane, by lanes with lane mod 4 = 0.
    """

    opcode = "STG"
    traced_as = 28


SoftmaxOp: TypeAlias = (
    ScaleScores
    | RowMax
    | AtomicMax
    | Shuffle
    | LoadStatistic
    | StoreStatistic
    | RescaleFactor
    | RescaleOutput
    | Exponentials
    | RowSum
    | StoreP
    | AddSums
    | Normalise
    | StoreLse
)
