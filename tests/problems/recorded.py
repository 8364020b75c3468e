"""A convolution and a thread map as the headers of golden files record them."""

import re

from gpusim.tile.extents import ConvShape
from gpusim.tile.thread_map import WarpThreadMap

MODES = {"kCrossCorrelation": "cross_correlation", "kConvolution": "convolution"}


def conv_shape(problem):
    pairs = {
        name: (problem[f"{key}_h"], problem[f"{key}_w"])
        for name, key in (("padding", "pad"), ("stride", "stride"), ("dilation", "dilation"))
    }
    extents = {name.lower(): problem[name] for name in "NHWCKRSPQ"}
    return ConvShape(**extents, **pairs, mode=MODES[problem["mode"]], split_k_slices=problem["split_k_slices"])


def recorded_map(header):
    """The recorded thread map: shape and threads from its type's name."""
    pattern = r"PitchLinearShape<(\d+), (\d+)>, (\d+), cutlass::PitchLinearShape<(\d+), (\d+)>, (\d+)>"
    contiguous, strided, threads, lanes, rows, elements = map(
        int, re.search(pattern, header["threadmap_type"]).groups()
    )
    return WarpThreadMap((contiguous, strided), threads, elements, warp_arrangement=(lanes, rows))
