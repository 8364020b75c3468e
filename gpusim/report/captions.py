"""Writes the captions that tables and pictures share: scenario, machine, stream, bound."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpusim.results.provenance import digest
from gpusim.results.result import NOT_COMPILED, Result


@dataclass(frozen=True, slots=True)
class Words:
    """
    A scenario described in two lines, and its run in one.

    Attributes:
        problem: The problem, such as ``conv2d_fprop 1x64x64x128, 64 filters 3x3, f16, f32 accumulate, f32 out``.
        kernel: The kernel: mainloop, tile shapes, stages, shared-memory layouts.
        name: Name of the run; empty if it has none.
        verdict: The main limit of the run, in a sentence; empty if it is not known.
    """

    problem: str
    kernel: str
    name: str = ""
    verdict: str = ""


def headline(words: Words, said: str) -> str:
    """Return a picture's title: the run's name, and the answer of the picture."""
    return f"{words.name}: {said}" if words.name else said


def times(extents: Sequence[int]) -> str:
    """Return extents as text, such as ``1x64x64x128``."""
    return "x".join(str(extent) for extent in extents)


def types_in_words(dtype: Mapping[str, str]) -> str:
    """Return element types as text, such as ``f16, f32 accumulate, f32 out``."""
    return f"{dtype['ab']}, {dtype['accumulator']} accumulate, {dtype['output']} out"


def bound_line(result: Result) -> str:
    """Return the resource that bounds the run, and the reason."""
    resource, reason = str(result.bound["resource"]), str(result.bound["reason"])
    return reason if reason.startswith(resource) else f"{resource}: {reason}"


def rate_unit(result: Result) -> str:
    """Return the unit of the run's rate: floating-point or integer operations."""
    return "TOP/s" if result.scenario["problem"]["dtype"]["accumulator"] == "s32" else "TFLOP/s"


def counted_work(result: Result) -> str:
    """Return the convention by which the operations of a rate are counted; empty if there is none."""
    causal = result.scenario["problem"].get("mask", "none") != "none"
    return "causal: half of all scores counted, as FlashAttention does" if causal else ""


def footer(result: Result) -> str:
    """Return the line that identifies a picture's run: scenario digest, machine, stream, version, commit."""
    provenance = result.provenance
    parts = [
        f"scenario {scenario_digest(result)}",
        f"machine {machine_name(result)}",
        f"stream {result.stream}{stream_build(result)}",
    ]
    if provenance.get("version"):
        parts.append(f"gpusim {provenance['version']}")
    if provenance.get("commit"):
        commit, _, dirty = str(provenance["commit"]).partition("-")
        parts.append(f"commit {commit[:12]}" + (f" ({dirty})" if dirty else ""))
    return "   ·   ".join(parts)


def stream_build(result: Result) -> str:
    """Return " (run-time extents)" if the build serves other extents, too; otherwise an empty text."""
    build = result.provenance.get("stream_build")
    return f" ({build})" if build else ""


def not_compiled(result: Result) -> str:
    """Return the reason why streams are estimated although a compiler is installed; empty for other streams."""
    return str(result.provenance.get(NOT_COMPILED, ""))


def scenario_digest(result: Result) -> str:
    """Return the first twelve hexadecimal digits of the resolved scenario's digest."""
    return digest(result.scenario)[:12]


def machine_name(result: Result) -> str:
    """Return the name of the machine."""
    return str(result.machine["name"])


def stages(result: Result) -> int:
    """Return the number of slots of the shared-memory ring: from the scenario, or else from the pipeline rows."""
    stated = result.scenario["kernel"].get("stages")
    return int(stated) if stated else 1 + max((row.stage for row in result.pipeline), default=0)
