"""Simulates a scenario for a program or a notebook, with the defaults of ``gpusim run``."""

from typing import Literal, TypeAlias, get_args

from gpusim.arguments import exactness, word
from gpusim.compiled.choice import EngineChoice
from gpusim.python.run import Run, run_of
from gpusim.sim.core.engine import chosen
from gpusim.verbs import simulate as verb
from gpusim.verbs.load import ScenarioSource, load

StreamName: TypeAlias = Literal["auto", "estimated", "compiled"]
"""Origins of instruction streams to choose from."""


def simulate(
    scenario: ScenarioSource, *, exact: bool | None = None, stream: StreamName = "auto", engine: EngineChoice = "auto"
) -> Run:
    """
    Simulate a scenario in time, as ``gpusim run`` does. Nothing is written.

    Args:
        scenario: A scenario, or what ``gpusim.load`` takes: a file, the name of a shipped scenario, data.
        exact: True simulates every CTA, False samples; None chooses by the number of warp instructions.
        stream: Origin of the instruction streams. "auto" is compiled if all are shipped or a compiler makes them.
        engine: Execution of the simulator's core; "auto" is the compiled one if it was built.

    Returns:
        The result, with the timeline of the watched CTA.

    Raises:
        BadInput: The scenario is wrong, or its machine cannot run this kernel.
        CannotRun: A stream must be compiled, but is not shipped, and no compiler is installed; or ``engine`` is
            "compiled" and the core was not built.
        CheckFailed: A compiled kernel does not execute its schedule.

    >>> simulate("gemm_ragged").ctas
    64
    """
    exact, stream = exactness(exact), word("stream", stream, get_args(StreamName))
    word("engine", engine, get_args(EngineChoice))
    read = load(scenario)
    with chosen(engine):
        result, timeline = verb.simulate(read, exact=exact, stream=stream)
    return run_of(result, timeline, read.name)
