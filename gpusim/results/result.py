"""The result of a run: the fields of result.json, and how they are written and read."""

import json
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from pydantic import TypeAdapter, ValidationError

from gpusim.arguments import word
from gpusim.errors import BadInput
from gpusim.results.plain import frame, plain
from gpusim.results.plausible import implausible

if TYPE_CHECKING:
    import pandas as pd
from gpusim.results.trust import Trust, Validated

RESULT_SCHEMA = "gpusim.result/1"

ELAPSED = "sm__cycles_elapsed.max"
"""ncu's metric of a launch's elapsed cycles."""

StreamOrigin: TypeAlias = Literal["estimated", "compiled"]
"""Origins of an instruction stream."""

ResultTable: TypeAlias = Literal["counters", "bank_conflicts", "stalls", "pipeline"]
"""Tables of a result that ``to_dataframe`` returns."""

_COUNTERS, _STALLS = ("metric", "value"), ("reason", "share")

RUN_TIME_EXTENTS = "run-time extents"
"""``stream_build`` in the provenance of a result whose compiled stream reads the problem's extents at the launch."""

NOT_IN_CUTLASS = "not_in_cutlass"
"""Key in the provenance of a result whose kernel CUTLASS does not have. Its value is the reason."""
NOT_COMPILED = "not_compiled"
"""Key in the provenance of a result with estimated streams although a compiler is installed: the reason."""


@dataclass(frozen=True, slots=True)
class Cycles:
    """
    The duration of a run in SM cycles.

    Attributes:
        elapsed: Elapsed cycles including launch overhead, like ncu's ``sm__cycles_elapsed.max``.
        active: Mean active span of the SMs that had work.
    """

    elapsed: int
    active: int


@dataclass(frozen=True, slots=True)
class Simulated:
    """
    The part of a run that was simulated, as opposed to scaled up.

    Attributes:
        ctas: CTAs simulated.
        k_tiles: k tiles simulated.
        instructions: Warp instructions issued by the simulated SMs.
        seconds: Wall time of the SMs' execution alone; like ``total_seconds`` and ``engine``, not part of the answer.
        sampled: Whether some CTAs were simulated in place of all.
        engine: Execution of the core: "compiled" or "interpreted"; empty in results of older versions.
        total_seconds: Wall time of the whole simulation, lowering and counting included.
        sampling_error_percent: Expected difference of elapsed cycles from those of an exact run, either way; 0 for an
            exact run (D14).
        dram_error_percent: Expected difference of the bytes read from DRAM; 0 for an exact run.
    """

    ctas: int
    k_tiles: int
    instructions: int
    seconds: float = field(compare=False)
    sampled: bool
    engine: str = field(default="", compare=False)
    total_seconds: float = field(default=0.0, compare=False)
    sampling_error_percent: float = 0.0
    dram_error_percent: float = 0.0


@dataclass(frozen=True, slots=True)
class BankConflicts:
    """
    One row of the bank-conflict table, with totals over the grid. ``conflicts`` = wavefronts - ideal_wavefronts.

    The row statistics of attention have rows of their own (operand "statistics"). The wavefronts of their atomics
    depend on the data, so these rows need not equal the hardware's counts.
    """

    op: Literal["ldmatrix", "lds", "sts", "ldgsts", "atoms"]
    operand: str
    requests: int
    wavefronts: int
    ideal_wavefronts: int
    conflicts: int


@dataclass(frozen=True, slots=True)
class ReductionLaunch:
    """
    The second launch of a parallel split-K. The cycles, counters and stalls of the result include it.

    Attributes:
        grid: gridDim x, y, z.
        ctas: CTAs of the launch.
        ctas_per_sm: Resident CTAs of one SM.
        registers_per_thread: Registers allocated to a thread.
        cycles: Cycles of this launch alone.
    """

    grid: tuple[int, int, int]
    ctas: int
    ctas_per_sm: int
    registers_per_thread: int
    cycles: Cycles


@dataclass(frozen=True, slots=True)
class PipelineRow:
    """
    One k tile of warp 0 of CTA 0, in cycles from the CTA's start. ``copy_done`` is None if it cannot be observed.

    For attention, a row is one key block of the first simulated CTA with the most key blocks, numbered in the order of
    execution. It has the copies of K, the first wait, and the MMAs from the first instruction of the first GEMM to the
    last result of the second.
    """

    k_tile: int
    stage: int
    copy_issue: int
    copy_done: int | None
    wait_begin: int
    wait_end: int
    mma_begin: int
    mma_end: int


@dataclass(frozen=True, slots=True)
class RoleWait:
    """
    What the warps of one role of a warp-specialised kernel spend their cycles on.

    Attributes:
        role: The role, such as "producer".
        waits_for: The mbarriers that they wait for, such as "mainloop.full"; another wait; or "issue".
        share: Share of the role's warp cycles, 0 to 1.
    """

    role: str
    waits_for: str
    share: float


@dataclass(frozen=True, slots=True)
class Result:
    """
    The result of one run. Totals are over the grid unless a field says otherwise.

    Attributes:
        scenario: The resolved scenario, as plain data.
        machine: Name of the machine file, its hash, and the count of figures by kind.
        counters: Value of each counter, by its full ncu metric name with suffix.
        stalls: Share of all warp cycles by stall reason; the shares sum to 1.
        bound: The bound of the run: a resource or a stall reason, with its reason in words.
        provenance: Version, commit, hashes, time. ``stream_build`` if a compiled stream is of a build with run-time
            extents. ``not_in_cutlass``, the reason why CUTLASS has no such kernel. ``not_compiled``, the reason why
            streams are estimated although a compiler is installed.
        reduction: The second launch of a parallel split-K. Cycles, time, counters and stalls are those of both launches
            together; grid, occupancy, bank conflicts and pipeline are the first one's.
        trust: Validation error of similar kernels; None if no similar kernel was validated.
        roles: What each role of a warp-specialised kernel waits for; empty for other kernels.
    """

    scenario: dict[str, Any]
    machine: dict[str, Any]
    stream: StreamOrigin
    grid: tuple[int, int, int]
    ctas: int
    ctas_per_sm: int
    registers_per_thread: int
    shared_bytes: int
    waves: float
    cycles: Cycles
    clock_mhz: int
    time_us: float
    tflops: float
    simulated: Simulated
    counters: dict[str, float]
    bank_conflicts: tuple[BankConflicts, ...]
    stalls: dict[str, float]
    pipeline: tuple[PipelineRow, ...]
    hazards: tuple[dict[str, Any], ...]
    bound: dict[str, Any]
    provenance: dict[str, Any]
    reduction: ReductionLaunch | None = None
    trust: Trust | None = None
    roles: tuple[RoleWait, ...] = ()
    schema: str = field(default=RESULT_SCHEMA)

    def __hash__(self) -> int:
        """Return a hash; equal results have equal hashes."""
        return hash((self.stream, self.grid, self.cycles, self.time_us))

    def to_dict(self) -> dict[str, Any]:
        """Return the fields of result.json as plain data, as ``gpusim run --json`` prints them."""
        return {each.name: plain(getattr(self, each.name)) for each in fields(Result)}

    def to_dataframe(self, table: ResultTable = "counters") -> "pd.DataFrame":
        """
        Return one table of the result as a pandas data frame.

        Args:
            table: "counters" (metric, value), "bank_conflicts" (a row for each op and operand), "stalls" (reason,
                share) or "pipeline" (a row for each k tile).

        Raises:
            BadInput: There is no such table.
            CannotRun: pandas is not installed.
        """
        match word("table", table, get_args(ResultTable)):
            case "counters":
                return frame([{"metric": name, "value": value} for name, value in self.counters.items()], _COUNTERS)
            case "bank_conflicts":
                return frame(self.bank_conflicts, [each.name for each in fields(BankConflicts)])
            case "stalls":
                return frame([{"reason": reason, "share": share} for reason, share in self.stalls.items()], _STALLS)
            case _:
                return frame(self.pipeline, [each.name for each in fields(PipelineRow)])


def to_json(result: Result) -> str:
    """Return the text of result.json. Keys are in field order, so equal results have equal bytes."""
    return json.dumps(result.to_dict(), indent=1) + "\n"


_RESULT = TypeAdapter(Result)


def damage(error: ValidationError) -> str:
    """Describe, in one line, the first field of a file written by gpusim that is not valid."""
    first = error.errors(include_url=False)[0]
    return f"damaged: {'.'.join(map(str, first['loc']))}: {first['msg']}"


def load(path: Path) -> Result:
    """
    Read a result.json.

    Raises:
        BadInput: The file is missing, is not JSON or has another schema, or a field is missing, unknown or of another
            type.
    """
    try:
        text = path.read_text(encoding="utf-8")
        data = json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(f"{path}: not a readable result.json ({error})") from error
    if not isinstance(data, dict) or data.get("schema") != RESULT_SCHEMA:
        found = data.get("schema") if isinstance(data, dict) else type(data).__name__
        raise BadInput(f"{path}: schema must be {RESULT_SCHEMA!r}, got {found!r}")
    try:
        _RESULT.validate_json(text, strict=True, extra="forbid")
    except ValidationError as error:
        raise BadInput(f"{path}: {damage(error)}") from error
    wrong = implausible(data)
    if wrong:
        raise BadInput(f"{path}: damaged: {wrong}")
    data["cycles"] = Cycles(**data["cycles"])
    data["simulated"] = Simulated(**data["simulated"])
    data["bank_conflicts"] = tuple(BankConflicts(**row) for row in data["bank_conflicts"])
    data["pipeline"] = tuple(PipelineRow(**row) for row in data["pipeline"])
    data["roles"] = tuple(RoleWait(**row) for row in data.get("roles", ()))
    data["hazards"] = tuple(data["hazards"])
    data["grid"] = tuple(data["grid"])
    if data.get("reduction") is not None:
        second = data["reduction"]
        data["reduction"] = ReductionLaunch(
            **second | {"grid": tuple(second["grid"]), "cycles": Cycles(**second["cycles"])}
        )
    if data.get("trust") is not None:
        data["trust"] = Trust(data["trust"]["elapsed_error_percent"], Validated(**data["trust"]["validated_on"]))
    return Result(**data)
