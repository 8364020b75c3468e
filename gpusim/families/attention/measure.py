"""Everything measured of one attention scenario, each part on its own; the counters are ncu's business."""

from functools import partial
from typing import cast

from gpusim.cuda.compiler import compile_cubin
from gpusim.cuda.specialise import Build
from gpusim.cuda.trace import first_difference, stream_digest
from gpusim.families.attention import device as attention_run
from gpusim.families.attention.cuda import specialise_attention
from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.attention.trace import expected_attention_records, traced_attention_ctas
from gpusim.gpu import run
from gpusim.gpu.device import import_cupy
from gpusim.gpu.module import LoadedKernel, architecture
from gpusim.measure import measure
from gpusim.measure.measure import Attempts, Origin, Say, facts, record_of
from gpusim.records.record import Record, TraceCheck
from gpusim.scenario.gemm import GemmScenario
from gpusim.scenario.models import Scenario

NO_PIPELINE = "no build of an attention kernel stamps its k tiles"


def measure_attention(
    name: str, scenario: AttentionScenario, origin: Origin, *, seed: int, say: Say = lambda _: None
) -> Record:
    """
    Numerics, trace and time of an attention scenario on the current GPU.

    Args:
        name: Stem of the scenario's file.
        seed: Of the random inputs.
        say: Called with a line about each part that fails.

    Raises:
        BadInput: kernels_cuda has no such kernel.
        CannotRun: CuPy or a GPU is missing, or the plain kernel cannot be compiled or loaded.
    """
    cupy = import_cupy()
    attempt = Attempts(say)
    plain = load(scenario)
    problem = attention_run.upload(cupy, scenario, seed)
    numerics = attempt("numerics", lambda: attention_run.check_numerics(plain, problem))
    time_us = attempt("time", lambda: run.time_launches(cupy, [plain], attention_run.pack_params(problem)))
    trace = attempt("trace", lambda: _trace(scenario, problem))
    return record_of(
        name,
        scenario,
        origin,
        kernel=facts(plain),
        numerics=numerics,
        trace=trace,
        time_us=time_us,
        pipeline=None,
        missing=attempt.missing | {"pipeline": NO_PIPELINE},
    )


def _trace(scenario: AttentionScenario, problem: attention_run.DeviceProblem) -> TraceCheck:
    blocks = traced_attention_ctas(scenario)
    expected = expected_attention_records(scenario, blocks)
    longest = int(expected["position"].max()) + 1
    pack = partial(attention_run.pack_params, problem)
    found = run.record_trace(problem.cupy, load(scenario, "trace"), pack, blocks, longest)
    difference = first_difference(expected, found, blocks)
    return TraceCheck(blocks, len(found), stream_digest(found), difference is None, difference)


def measure_any(name: str, scenario: Scenario, origin: Origin, *, seed: int, say: Say = lambda _: None) -> Record:
    """``measure`` or ``measure_attention``."""
    if isinstance(scenario, AttentionScenario):
        return measure_attention(name, scenario, origin, seed=seed, say=say)
    scenario = cast("GemmScenario", scenario)
    return measure.measure(name, scenario, origin, seed=seed, say=say)


def load(scenario: AttentionScenario, build: Build = "plain") -> LoadedKernel:
    """
    Compile (or take from the cache) and load the kernel of a scenario.

    Raises:
        BadInput: kernels_cuda has no such kernel.
        CannotRun: It cannot be compiled or loaded.
    """
    cupy = import_cupy()
    own = specialise_attention(attention_run.attention_kernel(scenario), build)
    return LoadedKernel(cupy, own, compile_cubin(own, architecture(cupy)))
