"""Estimates the error of a predicted time: the validation error of similar kernels, from a shipped file."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args

from pydantic import TypeAdapter, ValidationError

from gpusim.errors import BadInput
from gpusim.machine.load import load_machine, machine_names

ValidatedHalf: TypeAlias = Literal["held-out", "development", "cutlass"]
"""Kernels of a validation: those of either half of the records, or CUTLASS's own."""

VALIDATED_SCHEMA: Final = "gpusim.validated/1"

VALIDATED: Final = Path(__file__).parent / "validated"
"""Folder of the files, one for each machine that has records."""

FEWEST_KERNELS: Final = 5
"""Fewest kernels of a group from which the error of another kernel is predicted."""

_USUAL_MAINLOOP: Final = {
    **dict.fromkeys(("gemm", "conv2d_fprop", "conv2d_dgrad"), "multistage"),
    "attention": "attention",
}
"""The usual mainloop of each kind of problem; ``kind_of`` omits its name."""

_WAVE_CLASSES: Final = ((1, "below 1 wave"), (3, "1 to 3 waves"), (10, "3 to 10 waves"))
_MOST_WAVES: Final = "10 waves and more"


@dataclass(frozen=True, slots=True)
class Validated:
    """
    The validation error of one group of kernels.

    Attributes:
        half: Half of the records, or CUTLASS's kernels.
        stream: Origin of their instruction streams.
        kind: Kind of the kernels, from ``kind_of``; empty for all kinds.
        size: Class of their size, from ``size_of``; empty for all sizes.
        kernels: Number of kernels.
        elapsed_error_percent: Mean absolute error of their elapsed cycles.
        elapsed_error_p90_percent: 90th percentile of these errors: one kernel in ten is off by more. None in older
            results.
    """

    half: ValidatedHalf
    stream: str
    kind: str
    size: str
    kernels: int
    elapsed_error_percent: float
    elapsed_error_p90_percent: float | None = None


@dataclass(frozen=True, slots=True)
class Trust:
    """
    The expected error of a predicted time.

    Attributes:
        elapsed_error_percent: Mean absolute error of the elapsed cycles of the kernels in ``validated_on``.
        validated_on: The group of similar kernels.
    """

    elapsed_error_percent: float
    validated_on: Validated


_NO_RECORD = "no record of this machine"

_ROWS = TypeAdapter(tuple[Validated, ...])


def kind_of(scenario: Mapping[str, Any]) -> str:
    """Return the kind of a kernel in words: that of its problem, and its mainloop unless it is the usual one."""
    kind, mainloop = str(scenario["problem"]["kind"]), str(scenario["kernel"]["mainloop"])
    split = f", split-K {scenario['problem']['split_k']}" if scenario["problem"].get("split_k_slices", 1) > 1 else ""
    return kind + ("" if mainloop == _USUAL_MAINLOOP[kind] else f", {mainloop}") + split


def size_of(waves: float) -> str:
    """Return the size class of a grid, by its waves of CTAs."""
    return next((name for below, name in _WAVE_CLASSES if waves < below), _MOST_WAVES)


def trust_of(
    scenario: Mapping[str, Any], machine: Mapping[str, Any], stream: str, waves: float, *, own_code: bool = False
) -> Trust | None:
    """
    Return the expected error of a kernel's time, from the most similar group of validated kernels.

    Groups of the held-out half come before those of the development half, and groups of the same kind and size before
    those of the same kind. Kernels with CUTLASS's code are one group.

    Args:
        scenario: The resolved scenario, as plain data.
        machine: ``name`` and ``digest`` of the machine.
        stream: Origin of the instruction streams.
        waves: Waves of CTAs of the grid.
        own_code: Whether the machine code is the user's.

    Returns:
        None if no similar kernel was validated: the machine has no records or has the user's figures, or its kind has
        fewer than ``FEWEST_KERNELS``, or the machine code is the user's.

    Raises:
        BadInput: The shipped file is damaged.
    """
    if own_code or not _is_shipped(machine):
        return None
    cutlass = scenario["kernel"].get("code", "gpusim") == "cutlass"
    kind, size = ("", "") if cutlass else (kind_of(scenario), size_of(waves))
    known = [row for row in validated(machine["name"]) if row.stream == stream and row.kernels >= FEWEST_KERNELS]
    rows = {(row.half, row.kind, row.size): row for row in known}
    halves: tuple[ValidatedHalf, ...] = ("cutlass",) if cutlass else ("held-out", "development")
    nearest = ((half, kind, own_size) for half in halves for own_size in dict.fromkeys((size, "")))
    row = next((rows[key] for key in nearest if key in rows), None)
    return None if row is None else Trust(row.elapsed_error_percent, row)


def trust_line(trust: Trust | None, machine: str) -> str:
    """
    Return the trust in a predicted time as text.

    For example "mean error 5 %, one in ten is off by more than 9 %: 61 held-out kernels like it".

    Args:
        trust: From ``trust_of``.
        machine: Name of the machine.
    """
    if trust is None:
        records = f"fewer than {FEWEST_KERNELS} records of kernels like it" if validated(machine) else _NO_RECORD
        return f"{records}: unvalidated"
    on = trust.validated_on
    like = "kernels of CUTLASS's" if on.half == "cutlass" else f"{on.half} kernels like it"
    most = on.elapsed_error_p90_percent
    tenth = "" if most is None else f", one in ten is off by more than {_percent(most)}"
    return f"mean error {_percent(trust.elapsed_error_percent)}{tenth}: {on.kernels:,} {like}"


def _percent(error: float) -> str:
    return f"{max(1, round(error))} %"


@cache
def validated(machine: str) -> tuple[Validated, ...]:
    """
    Return the validation errors on a machine, by group of kernels; empty if it has no records.

    Raises:
        BadInput: The shipped file is damaged.
    """
    file = VALIDATED / f"{machine}.json"
    if machine not in machine_names() or not file.is_file():
        return ()
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        if data["schema"] != VALIDATED_SCHEMA:
            raise BadInput(f"{file}: schema must be {VALIDATED_SCHEMA!r}, got {data['schema']!r}")
        return _ROWS.validate_python(data["rows"], extra="forbid")
    except (ValueError, KeyError, TypeError, ValidationError) as error:
        raise BadInput(f"{file}: not readable as errors of validation ({error})") from error


def validated_text(rows: tuple[Validated, ...]) -> str:
    """Return the text of a machine's file, a row a line: held-out before development, and all kinds in order."""
    halves = get_args(ValidatedHalf)
    ordered = sorted(rows, key=lambda row: (halves.index(row.half), row.stream, row.kind, row.size))
    lines = ",\n".join(f"  {json.dumps(one)}" for one in _ROWS.dump_python(tuple(ordered)))
    return f'{{\n "schema": "{VALIDATED_SCHEMA}",\n "rows": [\n{lines}\n ]\n}}\n'


def _is_shipped(machine: Mapping[str, Any]) -> bool:
    """Return whether a machine has the figures of the shipped file of its name, which were validated."""
    name = str(machine["name"])
    return name in machine_names() and load_machine(name).digest() == machine.get("digest")
