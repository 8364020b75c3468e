"""Everything measured of one scenario, each part on its own: what fails is noted and the rest goes on."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

from gpusim.cuda.compiler import find_compiler
from gpusim.cuda.trace import Records, first_difference, longest_stream, stream_digest, traced_ctas
from gpusim.cuda.trace_reduction import expected_launches, one_after_another, traced_reduction_ctas
from gpusim.errors import GpusimError
from gpusim.gpu import device, run
from gpusim.gpu.counters import Profile
from gpusim.gpu.module import LoadedKernel, load_kernels
from gpusim.records.pipeline import measured_pipeline
from gpusim.records.record import LoopTime, MeasuredPipeline, Numerics, Record, TraceCheck
from gpusim.results.provenance import commit
from gpusim.scenario.gemm import GemmScenario
from gpusim.scenario.models import Scenario
from gpusim.schedule.reduction import reduction_ops

Part = TypeVar("Part")
Say = Callable[[str], None]


@dataclass(slots=True)
class Attempts:
    """Runs parts, and remembers why those that failed did."""

    say: Say
    missing: dict[str, str] = field(default_factory=dict)

    def __call__(self, part: str, measure: Callable[[], Part]) -> Part | None:
        """What ``measure`` returns; None where it fails, and why is remembered."""
        try:
            return measure()
        except (GpusimError, RuntimeError, MemoryError) as error:  # CuPy's errors are RuntimeErrors
            self.missing[part] = " ".join(f"{error}".split()) or type(error).__name__
            self.say(f"{part}: {self.missing[part]}")
            return None


@dataclass(frozen=True, slots=True)
class Origin:
    """
    Where figures come from.

    Attributes:
        environment: ``device.environment()``.
        command: The command line.
        commit: Of the source tree; None where unknown.
    """

    environment: dict[str, Any]
    command: tuple[str, ...]
    commit: str | None

    @classmethod
    def here(cls, command: tuple[str, ...], known_commit: str | None = None) -> "Origin":
        """Of this machine and tree."""
        return cls(device.environment(), command, known_commit or commit())


def measure(name: str, scenario: GemmScenario, origin: Origin, *, seed: int, say: Say = lambda _: None) -> Record:
    """
    Numerics, trace, time and pipeline of a scenario on the current GPU; the counters are ``with_counters``' business.

    Args:
        name: Stem of the scenario's file.
        seed: Of the random inputs.
        say: Called with a line about each part that fails.

    Raises:
        CannotRun: CuPy or a GPU is missing, or the plain kernel cannot be compiled or loaded.
    """
    cupy = device.import_cupy()
    attempt = Attempts(say)
    plain = load_kernels(cupy, scenario)
    problem = run.upload(cupy, scenario, plain[0].specialisation, seed)
    numerics: Numerics | None = attempt("numerics", lambda: run.check_numerics(plain, problem))
    trace: TraceCheck | None = attempt("trace", lambda: _trace(cupy, scenario, problem))
    time_us: LoopTime | None = attempt("time", lambda: run.time_loop(plain, problem))
    pipeline: MeasuredPipeline | None = attempt("pipeline", lambda: _pipeline(cupy, scenario, problem, time_us))
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
    origin: Origin,
    *,
    kernel: dict[str, Any],
    numerics: Numerics | None,
    trace: TraceCheck | None,
    time_us: LoopTime | None,
    pipeline: MeasuredPipeline | None,
    missing: dict[str, str],
) -> Record:
    """A record of these parts, dated now, without counters."""
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
    """The record with what ncu counted, or with why there are no counters."""
    missing = {part: reason for part, reason in record.missing.items() if part != "counters"}
    if profile is None:
        return replace(record, counters={}, opcodes={}, missing=missing | {"counters": why_not})
    return replace(record, counters=profile.counters, opcodes=profile.opcodes, missing=missing)


def context_is_lost(cupy: Any) -> bool:
    """Whether a kernel has broken the CUDA context, so that nothing more can run in this process."""
    try:
        cupy.cuda.runtime.deviceSynchronize()
    except RuntimeError:
        return True
    return False


def _trace(cupy: Any, scenario: GemmScenario, problem: run.DeviceProblem) -> TraceCheck:
    blocks = traced_ctas(scenario)
    first, *others = load_kernels(cupy, scenario, "trace")

    def record(kernel: LoadedKernel, blocks: tuple[int, ...], longest: int) -> Records:
        return run.record_trace(cupy, kernel, partial(run.pack_params, problem, kernel.specialisation), blocks, longest)

    found = record(first, blocks, longest_stream(scenario, blocks))
    named = blocks
    for second in others:
        reducing = traced_reduction_ctas(scenario)
        records = record(second, reducing, len(reduction_ops(scenario)))
        found, named = one_after_another(found, records, len(blocks)), (*blocks, *reducing)
    difference = first_difference(expected_launches(scenario, blocks), found, named)
    return TraceCheck(blocks, len(found), stream_digest(found), difference is None, difference)


def _pipeline(
    cupy: Any, scenario: GemmScenario, problem: run.DeviceProblem, plain: LoopTime | None
) -> MeasuredPipeline:
    kernels = load_kernels(cupy, scenario, "timeline")
    buffer = run.timeline_buffer(kernels[0], problem, traced_ctas(scenario)[0])
    warps = run.record_timeline(kernels[0], problem, buffer)
    instrumented = None if plain is None else run.time_loop(kernels, problem, buffer.params)
    return measured_pipeline(warps, scenario.kernel.stages, plain, instrumented)


def facts(kernel: LoadedKernel) -> dict[str, Any]:
    """What a record says of a kernel."""
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
