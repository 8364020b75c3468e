"""Compares runs and scenarios for a program or a notebook, with the defaults of ``gpusim compare``."""

from collections.abc import Mapping
from pathlib import Path
from typing import get_args

from gpusim.arguments import exactness, refusal, word
from gpusim.python.run import Run
from gpusim.python.simulate import StreamName
from gpusim.results.result import Result
from gpusim.results.run_directory import is_run
from gpusim.scenario.models import is_scenario
from gpusim.verbs import compare as verb
from gpusim.verbs.compare import ComparedSide, Comparison, side_of
from gpusim.verbs.load import ScenarioSource, load


def compare(
    *sides: ComparedSide | Result | ScenarioSource, exact: bool | None = None, stream: StreamName = "auto"
) -> Comparison:
    """
    Compare two or more sides: the keys in which their scenarios differ, and every figure that two sides have.

    Args:
        *sides: Run directories, runs, results, and scenarios. A scenario is anything that ``gpusim.load`` takes; it is
            simulated now. ``gpusim.measure.compare.profiled_side`` makes a side of an Nsight Compute profile.
        exact: True simulates every CTA of a scenario, False samples; None chooses by the number of instructions.
        stream: Origin of the instruction streams of scenarios, as of ``gpusim.simulate``.

    Returns:
        The comparison. ``metric(name)`` is one figure of all sides; ratios are those to the first side.

    Raises:
        BadInput: There are fewer than two sides, or a side cannot be compared.
        CannotRun: Streams are to be compiled, but one is not shipped and no compiler is installed.

    >>> compare("gemm_ragged", load("gemm_ragged", ["kernel.stages=4"])).differences[0].values
    (3, 4)
    """
    exact, stream = exactness(exact), word("stream", stream, get_args(StreamName))
    return verb.compare(*(_side(each, exact, stream) for each in sides), exact=exact, stream=stream)


def _side(what: ComparedSide | Result | ScenarioSource, exact: bool | None, stream: StreamName) -> ComparedSide:
    if isinstance(what, Run):
        plain = what.result()
        return ComparedSide(what.name or plain.scenario["problem"]["kind"], "run", plain, timeline=what.timeline)
    if isinstance(what, ComparedSide | Result) or (isinstance(what, str | Path) and is_run(what)):
        return side_of(what)
    if not (isinstance(what, str | Path | Mapping) or is_scenario(what)):
        raise refusal("a side", "a run directory, a run, a result, or what gpusim.load takes", what)
    scenario = load(what)
    return side_of(scenario, scenario.name, exact=exact, stream=stream)
