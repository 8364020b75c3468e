"""Validates the files of a sweep's folder: the axes, and a row for each finished point."""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model

from gpusim.results.result import StreamOrigin, damage
from gpusim.verbs.sweeping.axes import Axis
from gpusim.verbs.sweeping.point import STALL_COLUMNS

_MOST = 1 << 60

_Count = Annotated[int, Field(ge=0, lt=_MOST)]
_Some = Annotated[int, Field(ge=1, lt=_MOST)]
_Amount = Annotated[float, Field(ge=0, lt=_MOST, allow_inf_nan=False)]
_Share = Annotated[float, Field(ge=0, le=1)]


class _Refused(BaseModel):
    """The row of a refused point."""

    model_config = ConfigDict(strict=True, extra="forbid")
    error: str


class _Simulated(BaseModel):
    """The row of a simulated point, without its stalls."""

    model_config = ConfigDict(strict=True, extra="forbid")
    cycles: _Some
    active_cycles: _Count
    time_us: _Amount
    tflops: _Amount
    waves: _Amount
    ctas_per_sm: _Some
    occupancy: _Amount
    registers: _Count
    shared_bytes: _Count
    bank_conflicts: _Count
    bound: str
    bound_utilisation: _Amount
    stream: StreamOrigin
    sampled: bool


class _Position(BaseModel):
    """An axis in the definition of a sweep."""

    model_config = ConfigDict(strict=True, extra="forbid")
    name: str
    settings: Annotated[list[Annotated[dict[str, Any], Field(min_length=1)]], Field(min_length=1)]


_STALLS: Any = dict.fromkeys(STALL_COLUMNS.values(), (_Share, ...))
_Row = create_model("_Row", __base__=_Simulated, **_STALLS)
_AXES = TypeAdapter(Annotated[list[_Position], Field(min_length=1)])


def row_damage(read: object, points: int) -> str:
    """
    Return the error in a line of the journal.

    Args:
        read: The line, parsed as JSON.
        points: Points of the sweep.

    Returns:
        The field and its rule; "" if nothing is wrong.
    """
    if not isinstance(read, Mapping) or set(read) != {"point", "row"}:
        return "must have a point and its row"
    number, row = read["point"], read["row"]
    if type(number) is not int or not 0 <= number < points:
        return f"point must be 0 to {points - 1}, got {number!s:.20}"
    model = _Refused if isinstance(row, Mapping) and "error" in row else _Row
    try:
        model.model_validate(row)
    except ValidationError as error:
        return damage(error).removeprefix("damaged: ")
    return ""


def axes_of_definition(data: Mapping[str, Any]) -> tuple[Axis, ...]:
    """
    Return the axes in the definition of a sweep.

    Raises:
        ValueError: It has no axes; the message is one line.
    """
    try:
        read = _AXES.validate_python(data.get("axes"))
    except ValidationError as error:
        raise ValueError(f"axes: {damage(error)}") from error
    axes = tuple(Axis(one.name, tuple(one.settings)) for one in read)
    if any(set(setting) != set(axis.keys) for axis in axes for setting in axis.settings):
        raise ValueError("axes: every position of an axis must set the same keys")
    return axes


def count_points(axes: Sequence[Mapping[str, Any]]) -> int:
    """Return the number of points of a definition's axes."""
    return prod(len(axis["settings"]) for axis in axes)
