"""The lines of words that tables and pictures share: what ran, on which machine, from which stream."""

from collections.abc import Sequence
from typing import Any

from gpusim.results.provenance import digest
from gpusim.results.result import Result


def problem_line(result: Result) -> str:
    """The problem in one line, for example ``conv2d_fprop 1x64x64x128, 64 filters 3x3, f16 -> f32``."""
    problem = result.scenario["problem"]
    parts = [f"{problem['kind']} {_extents(problem)}"]
    for key, plain in (("padding", [0, 0]), ("stride", [1, 1]), ("dilation", [1, 1])):
        if key in problem and list(problem[key]) != plain:
            parts.append(f"{key} {_times(problem[key])}")
    if problem.get("mask", "none") != "none":
        parts.append(f"{problem['mask'].replace('_', ' ')} mask")
    parts += ["ragged"] if problem.get("query_lengths") or problem.get("key_lengths") else []
    if "layout_a" in problem:
        parts.append(f"a {problem['layout_a']}, b {problem['layout_b']}")
    if problem.get("split_k_slices", 1) > 1:
        parts.append(f"{problem.get('split_k', 'serial')} split-K {problem['split_k_slices']}")
    parts += ["bias"] if problem.get("bias") else []
    parts += [problem["activation"]] if problem.get("activation", "identity") != "identity" else []
    dtype = problem.get("dtype")
    if dtype:
        parts.append(f"{dtype['ab']}, {dtype['accumulator']} accumulate, {dtype['output']} out")
    return ", ".join(parts)


def kernel_line(result: Result) -> str:
    """The kernel in one line: mainloop, tile shapes, stages and shared layouts."""
    kernel = result.scenario["kernel"]
    parts = []
    if "mainloop" in kernel:
        parts.append(str(kernel["mainloop"]))
    if "iterator" in kernel:
        parts.append(f"{kernel['iterator']} iterators")
    if "threadblock" in kernel:
        parts.append(f"{_times(kernel['threadblock'])}, warp {_times(kernel['warp'])}")
    if "queries_per_block" in kernel:
        parts.append(f"{kernel['queries_per_block']} queries x {kernel['keys_per_block']} keys")
    if "instruction" in kernel:
        parts.append("mma m{}n{}k{}".format(*kernel["instruction"]))
    if "stages" in kernel:
        parts.append(f"{kernel['stages']} stages")
    shared = kernel.get("shared")
    if shared:
        parts.append(", ".join(f"{operand} {layout}" for operand, layout in shared.items()))
    return ", ".join(parts)


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


def is_pipelined(result: Result) -> bool:
    """Whether k tiles go through registers, not through cp.async."""
    return bool(result.scenario["kernel"].get("mainloop") == "pipelined")


def stages(result: Result) -> int:
    """Slots of the shared-memory ring: the scenario's, or as many as the pipeline rows use."""
    stated = result.scenario["kernel"].get("stages")
    return int(stated) if stated else 1 + max((row.stage for row in result.pipeline), default=0)


def _extents(problem: dict[str, Any]) -> str:
    if problem["kind"] == "gemm":
        return _times([problem["m"], problem["n"], problem["k"]])
    if str(problem["kind"]).startswith("conv2d"):
        activation = _times([problem[axis] for axis in "nhwc"])
        return f"{activation}, {problem['k']} filters {_times([problem['r'], problem['s']])}"
    if problem["kind"] == "attention":
        dims = _times([problem["head_dim"], problem["head_dim_v"]])
        heads = f"{problem['batch']} x {problem['heads']} heads"
        return f"{heads} of {dims}, {problem['queries']} queries, {problem['keys']} keys"
    return " ".join(f"{key}={value}" for key, value in problem.items() if type(value) is int)


def _times(extents: Sequence[int]) -> str:
    return "x".join(str(extent) for extent in extents)
