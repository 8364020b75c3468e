"""The name of a kernel's configuration, in one short line."""

from collections.abc import Mapping
from typing import Any

from gpusim.scenario.kernel import PIPELINED_STAGES

_SAID = ("kernel.threadblock", "kernel.warp", "kernel.stages", "kernel.threadblock_swizzle", "kernel.iterator")
_IMPLIED = ("kernel.instruction", "problem.split_k_slices", "problem.split_k")


def label(settings: Mapping[str, Any]) -> str:
    """
    Return a configuration in one short line, such as ``128x128x64 64x64 s4 identity<8> serial 2``.

    The parts are threadblock, warps, stages, order of CTAs, iterator and split-K; then any other keys by name. Keys
    that a configuration does not set are left out.
    """
    words = []
    if "kernel.threadblock" in settings:
        words += [_times(settings["kernel.threadblock"]), _times(settings["kernel.warp"][:2])]
    if "kernel.stages" in settings:
        words.append(f"s{settings['kernel.stages']}")
    words += [str(settings[key]) for key in ("kernel.threadblock_swizzle", "kernel.iterator") if key in settings]
    if settings.get("problem.split_k_slices", 1) > 1:
        words.append(f"{settings['problem.split_k']} {settings['problem.split_k_slices']}")
    # A ring of two stages means a pipelined mainloop, unless the mainloop is set.
    usual = "pipelined" if settings.get("kernel.stages") == PIPELINED_STAGES else "multistage"
    implied = (
        {"kernel.mainloop"} if "kernel.threadblock" in settings and settings.get("kernel.mainloop") == usual else set()
    )
    others = [key for key in settings if key not in {*_SAID, *_IMPLIED, *implied}]
    words += [f"{key.rpartition('.')[2]}={str(settings[key]).lower()}" for key in others]
    return " ".join(words)


def _times(extents: list[int]) -> str:
    return "x".join(map(str, extents))
