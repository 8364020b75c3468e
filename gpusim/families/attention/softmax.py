"""What attention adds to the instruction set: the softmax between its two GEMMs."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

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
class ScaleScores:
    """
    S * scale * log2(e) in registers; with ``masked``, -inf where the query does not see the key.
    """

    masked: bool


@dataclass(frozen=True, slots=True)
class RowMax:
    """The maximum of the lane's scores of one of its rows. In flash it includes the running maximum."""

    row: int


@dataclass(frozen=True, slots=True)
class AtomicMax:
    """atom.shared.max of the lane's maximum of one of its rows into ``maximum``."""

    row: int


@dataclass(frozen=True, slots=True)
class Shuffle:
    """shfl.sync.bfly, lane XOR ``mask`` (1 or 2), of a value of one of the lane's rows, and the max or sum of both."""

    what: Literal["maximum", "sum"]
    row: int
    mask: int


@dataclass(frozen=True, slots=True)
class LoadStatistic:
    """ld.shared of one float of a statistic. ``index``: the lane's row, the warp column of an owner, or the vector."""

    statistic: Statistic
    at: At
    index: int = 0


@dataclass(frozen=True, slots=True)
class StoreStatistic:
    """st.shared of one float of a statistic, by lanes with lane mod 4 = 0 at ``fragment``."""

    statistic: Statistic
    at: At
    index: int = 0


@dataclass(frozen=True, slots=True)
class RescaleFactor:
    """2^(previous - maximum), 1 where they are equal, and the sum times it: of owned rows, in flash of the lane's."""


@dataclass(frozen=True, slots=True)
class RescaleOutput:
    """The lane's output of one of its rows, times the factor."""

    row: int


@dataclass(frozen=True, slots=True)
class Exponentials:
    """2^(S - maximum) of one of the lane's rows; 0 where the maximum is -inf."""

    row: int


@dataclass(frozen=True, slots=True)
class RowSum:
    """The sum of the lane's exponentials of one of its rows. In flash it is added to the running sum."""

    row: int


@dataclass(frozen=True, slots=True)
class StoreP:
    """st.shared of two neighbouring elements of P, rounded: ``access`` = row * column blocks of 8 + column block."""

    access: int


@dataclass(frozen=True, slots=True)
class AddSums:
    """The running sum of an owned row and the partial sums of all warp columns."""


@dataclass(frozen=True, slots=True)
class Normalise:
    """The lane's output of one of its rows, divided by the sum; 0 where that is 0."""

    row: int


@dataclass(frozen=True, slots=True)
class StoreLse:
    """
    st.global of maximum * ln 2 + ln sum: of an owned row; in flash of a row of the lane, by lanes with lane mod 4 = 0.
    """

    row: int = 0


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
