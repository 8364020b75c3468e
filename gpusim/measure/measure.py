"""Measures one scenario on the GPU part by part. A part that fails is noted, and the others continue."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

import numpy as np

from gpusim.cuda.compiler import find_compiler
from gpusim.cuda.trace import expected_of_all, first_difference, longest_stream, stream_digest
from gpusim.errors import GpusimError
from gpusim.families.registry import family_of
from gpusim.gpu import device, run
from gpusim.gpu.counters import Profile
from gpusim.gpu.module import LoadedKernel, load_kernels
from gpusim.records.pipeline import measured_pipeline
from gpusim.records.record import LoopTime, MeasuredPipeline, Numerics, Record, TraceCheck
from gpusim.results.provenance import commit
from gpusim.scenario.models import Scenario

Part = TypeVar("Part")
Say = Callable[[str], None]


@dataclass(slots=True)
class Attempts:
    """
    Runs parts of a measurement, and collects the reasons of those that fail.

    Attributes:
        say: Called with a line about each part that fails.
        missing: Reason of failure by part.
    """

    say: Say
    missing: dict[str, str] = field(default_factory=dict)

    def __call__(self, part: str, measure: Callable[[], Part]) -> Part | None:
        """Return what ``measure`` returns. If it fails, note the reason and return None."""
        try:
            return measure()
        except (GpusimError, RuntimeError, MemoryError) as error:  # CuPy's errors are RuntimeErrors
            self.missing[part] = " ".join(f"{error}".split()) or type(error).__name__
            self.say(f"{part}: {self.missing[part]}")
            return None


@dataclass(frozen=True, slots=True)
class RecordOrigin:
    """
    The origin of measured figures.

    Attributes:
        environment: GPU, driver, CUDA and clocks (``device.environment``).
        command: The command line.
        commit: Commit of the source tree, or None if unknown.
    """

    environment: dict[str, Any]
    command: tuple[str, ...]
    commit: str | None

    @classmethod
    def here(cls, command: tuple[str, ...], known_commit: str | None = None) -> "RecordOrigin":
        """Return the origin of figures measured on this machine with this source tree."""
        return cls(device.environment(), command, known_commit or commit())


def measure(name: str, scenario: Scenario, origin: RecordOrigin, *, seed: int, say: Say = lambda _: None) -> Record:
    """
    Measure numerics, trace, time and pipeline of a scenario on the current GPU.

    The record has no hardware counters yet; ``with_counters`` adds them.

    Args:
        name: Stem of the scenario's file.
        scenario: The scenario.
        origin: Origin of the figures.
        seed: Seed of the random inputs.
        say: Called with a line about each part that fails.

    Raises:
        BadInput: kernels_cuda has no such kernel.
        CannotRun: CuPy or a GPU is missing, or the plain kernel cannot be compiled or loaded.
    """
    cupy, family = device.import_cupy(), family_of(scenario)
    attempt = Attempts(say)
    plain = load_kernels(cupy, family.cuda.specialisations(scenario, "plain"))
    problem = family.devices.upload(cupy, scenario, seed)
    numerics: Numerics | None = attempt("numerics", lambda: run.check_numerics(plain, problem))
    trace: TraceCheck | None = attempt("trace", lambda: _trace(scenario, problem))
    time_us: LoopTime | None = attempt("time", lambda: run.time_loop(plain, problem))
    pipeline: MeasuredPipeline | None = attempt("pipeline", lambda: _pipeline(scenario, problem, time_us))
    return record_of(
        name,
        scenario,
        origin,
        kernel=facts(plain[0]) | ({"reduction": facts(plain[1])} if plain[1:] else {}),
        numerics=numerics,
        trace=trace,
        time_us=time_us,
        pipeline=pipeline,
        missing=attempt.missing,
    )


def record_of(
    name: str,
    scenario: Scenario,
    origin: RecordOrigin,
    *,
    kernel: dict[str, Any],
    numerics: Numerics | None,
    trace: TraceCheck | None,
    time_us: LoopTime | None,
    pipeline: MeasuredPipeline | None,
    missing: dict[str, str],
) -> Record:
    """Return a record of these parts with the current date and without counters."""
    return Record(
        name=name,
        scenario=scenario.resolved(),
        scenario_sha256=scenario.digest(),
        environment=origin.environment,
        kernel=kernel,
        numerics=numerics,
        trace=trace,
        time_us=time_us,
        pipeline=pipeline,
        counters={},
        opcodes={},
        missing=missing,
        commit=origin.commit,
        date=datetime.now(tz=UTC).isoformat(timespec="seconds"),
        command=origin.command,
    )


def with_counters(record: Record, profile: Profile | None, why_not: str = "") -> Record:
    """Return the record with ncu's counters, or, if ``profile`` is None, with the reason why there are none."""
    missing = {part: reason for part, reason in record.missing.items() if part != "counters"}
    if profile is None:
        return replace(record, counters={}, opcodes={}, missing=missing | {"counters": why_not})
    return replace(record, counters=profile.counters, opcodes=profile.opcodes, missing=missing)


def context_is_lost(cupy: Any) -> bool:
    """Return whether a kernel has broken the CUDA context, so that nothing more can run in this process."""
    try:
        cupy.cuda.runtime.deviceSynchronize()
    except RuntimeError:
        return True
    return False


def _trace(scenario: Scenario, problem: run.DeviceProblem) -> TraceCheck:
    cupy, family = problem.cupy, family_of(scenario)
    schedules = family.schedules.kernels(scenario)
    blocks = [schedule.traced_blocks for schedule in schedules]
    launches, slots = [], 0
    loaded = load_kernels(cupy, family.cuda.specialisations(scenario, "trace"))
    for kernel, schedule, own in zip(loaded, schedules, blocks, strict=True):
        records = run.record_trace(kernel, problem, own, longest_stream(schedule, own))
        records["slot"] += slots
        launches.append(records)
        slots += len(own)
    found, named = np.concatenate(launches), [block for own in blocks for block in own]
    difference = first_difference(expected_of_all(schedules, blocks), found, named, schedules[0].op_kinds)
    return TraceCheck(blocks[0], len(found), stream_digest(found), difference is None, difference)


def _pipeline(scenario: Scenario, problem: run.DeviceProblem, plain: LoopTime | None) -> MeasuredPipeline:
    family = family_of(scenario)
    loaded = load_kernels(problem.cupy, family.cuda.specialisations(scenario, "timeline"))
    stamped = family.schedules.kernels(scenario)[0].stamped
    buffer = run.timeline_buffer(loaded[0], problem, stamped)
    warps = run.record_timeline(loaded[0], problem, stamped, buffer)
    instrumented = None if plain is None else run.time_loop(loaded, problem, buffer.params)
    return measured_pipeline(warps, stamped, plain, instrumented)


def facts(kernel: LoadedKernel) -> dict[str, Any]:
    """Return the facts that a record has about a kernel: compiler, digests, registers, memory, launch."""
    own, compiler = kernel.specialisation, find_compiler()
    return {
        "compiler": f"{compiler.name} {compiler.version}",
        "sources_sha256": own.digest,
        "cubin_sha256": run.cubin_digest(kernel),
        "registers": kernel.registers,
        "local_bytes": kernel.local_bytes,
        "shared_bytes": own.shared_bytes,
        "grid": list(own.grid),
        "block_threads": own.block_threads,
    }
