"""The log of a CTA's warps in a launch of a kernel of the user's own: when each was in which state, and before what."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from gpusim.errors import BadInput
from gpusim.results.plain import plain
from gpusim.results.result import damage

WARPS_SCHEMA: Final = "gpusim.warps/1"


@dataclass(frozen=True, slots=True)
class LoggedWarp:
    """
    The states of one warp, in order and without a gap; a list has an entry for each.

    Attributes:
        warp, smsp: Number of the warp in its CTA, and its sub-partition.
        begin, end: First cycle and one past the last, from the launch of the CTA.
        reason: Index into the reasons of the log; "selected" is one issue.
        row: Index into the instructions of the log: the one that the warp issues, or waits to issue.
    """

    warp: int
    smsp: int
    begin: tuple[int, ...]
    end: tuple[int, ...]
    reason: tuple[int, ...]
    row: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class WarpLog:
    """
    The log of a CTA.

    Attributes:
        cta: Linear number of the CTA.
        reasons: Names of the states: ncu's stall reasons.
        instructions: Address and text of each instruction.
        warps: Its warps.
    """

    cta: int
    reasons: tuple[str, ...]
    instructions: tuple[str, ...]
    warps: tuple[LoggedWarp, ...]

    def to_json(self) -> str:
        """Return the text of the log's file."""
        return json.dumps({"schema": WARPS_SCHEMA, **plain(self)}, separators=(",", ":")) + "\n"


_LOG: Final = TypeAdapter(WarpLog)


def load_warp_log(path: Path) -> WarpLog:
    """
    Read the log of a CTA.

    Raises:
        BadInput: The file is missing or no such log, or its lists contradict each other.
    """
    try:
        data: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(f"{path}: not a readable log of warps ({error})") from error
    if not isinstance(data, dict) or data.pop("schema", None) != WARPS_SCHEMA:
        raise BadInput(f"{path}: schema must be {WARPS_SCHEMA!r}")
    try:
        log = _LOG.validate_python(data, extra="forbid")
    except ValidationError as error:
        raise BadInput(f"{path}: {damage(error)}") from error
    for warp in log.warps:
        lengths = {len(warp.begin), len(warp.end), len(warp.reason), len(warp.row)}
        known = all(0 <= one < len(log.reasons) for one in warp.reason)
        known = known and all(0 <= one < len(log.instructions) for one in warp.row)
        if len(lengths) > 1 or not known or any(end < begin for begin, end in zip(warp.begin, warp.end, strict=True)):
            raise BadInput(f"{path}: damaged: the lists of warp {warp.warp} contradict each other")
    return log
