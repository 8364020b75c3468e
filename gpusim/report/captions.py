"""What tables and pictures share in words: what ran, on which machine, from which stream."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpusim.results.provenance import digest
from gpusim.results.result import Result


@dataclass(frozen=True, slots=True)
class Words:
    """
    A scenario in two lines.

    Attributes:
        problem: For example ``conv2d_fprop 1x64x64x128, 64 filters 3x3, f16, f32 accumulate, f32 out``.
        kernel: Mainloop, tile shapes, stages, shared layouts.
    """

    problem: str
    kernel: str


def times(extents: Sequence[int]) -> str:
    """``1x64x64x128``."""
    return "x".join(str(extent) for extent in extents)


def types_in_words(dtype: Mapping[str, str]) -> str:
    """``f16, f32 accumulate, f32 out``."""
    return f"{dtype['ab']}, {dtype['accumulator']} accumulate, {dtype['output']} out"


def bound_line(result: Result) -> str:
    """The first bound the run hits, and why."""
    resource, reason = str(result.bound["resource"]), str(result.bound["reason"])
    return reason if reason.startswith(resource) else f"{resource}: {reason}"


def footer(result: Result) -> str:
    """Scenario digest, machine, stream and commit: what a picture must name to be found again."""
    provenance = result.provenance
    parts = [f"scenario {scenario_digest(result)}", f"machine {machine_name(result)}", f"stream {result.stream}"]
    if provenance.get("version"):
        parts.append(f"gpusim {provenance['version']}")
    if provenance.get("commit"):
        commit, _, dirty = str(provenance["commit"]).partition("-")
        parts.append(f"commit {commit[:12]}" + (f" ({dirty})" if dirty else ""))
    return "   ·   ".join(parts)


def scenario_digest(result: Result) -> str:
    """The first twelve hexadecimal digits of the resolved scenario's digest."""
    return digest(result.scenario)[:12]


def machine_name(result: Result) -> str:
    """The machine file's name."""
    return str(result.machine["name"])


def stages(result: Result) -> int:
    """Slots of the shared-memory ring: the scenario's, or as many as the pipeline rows use."""
    stated = result.scenario["kernel"].get("stages")
    return int(stated) if stated else 1 + max((row.stage for row in result.pipeline), default=0)
