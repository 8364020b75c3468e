"""Explains a run or a scenario for a program or a notebook, with the defaults of ``gpusim explain``."""

from collections.abc import Mapping
from pathlib import Path
from typing import get_args

from gpusim.arguments import exactness, refusal, word
from gpusim.python.run import Run
from gpusim.python.simulate import StreamName
from gpusim.results.result import Result
from gpusim.results.run_directory import is_run, read_run
from gpusim.scenario.models import is_scenario
from gpusim.verbs import explain as verb
from gpusim.verbs.explain import Explanation
from gpusim.verbs.load import ScenarioSource, load


def explain(what: Result | ScenarioSource, *, exact: bool | None = None, stream: StreamName = "auto") -> Explanation:
    """
    Say what bounds a kernel, where each per cent of the machine's time goes, and what would help.

    Args:
        what: A run directory, a run or result, or what ``gpusim.load`` takes: a file, the name of a shipped scenario,
            data.
        exact: True simulates every CTA, False samples. None does as the run did, or chooses by the number of warp
            instructions of a scenario.
        stream: Origin of the instruction streams, as of ``gpusim.simulate``; a run keeps its own.

    Raises:
        BadInput: The scenario is wrong, its machine cannot run this kernel, or the run has a user's machine code.
        CannotRun: Streams are to be compiled, but one is not shipped and no compiler is installed.

    >>> explain("gemm_ragged").budget.losses[0].what
    'SMs without a CTA'
    """
    exact, stream = exactness(exact), word("stream", stream, get_args(StreamName))
    if isinstance(what, str | Path) and is_run(what):
        what, _ = read_run(Path(what))
    if isinstance(what, Result):
        return verb.explain(what.result() if isinstance(what, Run) else what, exact=exact)
    if not (isinstance(what, str | Path | Mapping) or is_scenario(what)):
        raise refusal("what", "a run directory, a run, a result, or what gpusim.load takes", what)
    return verb.explain(load(what), exact=exact, stream=stream)
