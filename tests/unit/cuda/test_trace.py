"""The trace of a kernel beside the Python stream: equal, or the first difference with its coordinates."""

import numpy as np
import pytest
from problems.ragged import RAGGED

from gpusim.cuda.trace import expected_records, first_difference
from gpusim.families.gemm.schedule import TileKernel

OURS = TileKernel(RAGGED)


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("op", "record 5, op: 0 in the Python stream, 1 on the GPU (copy_async"),
        ("stage", "record 5, stage: 1 in the Python stream, 2 on the GPU"),
        ("k_tile", "record 5, k_tile: 1 in the Python stream, 2 on the GPU"),
        ("shared", "record 5, lane 3, shared: "),
        ("global", "record 5, lane 3, global: "),
    ],
)
def test_the_first_difference_is_named_with_its_coordinates(field, words):
    ours, theirs = (expected_records(OURS, (0, 1)) for _ in range(2))
    at = np.flatnonzero((theirs["slot"] == 0) & (theirs["warp"] == 1) & (theirs["position"] >= 5))
    if theirs[field].ndim == 2:
        theirs[field][at, 3] += 1
    else:
        theirs[field][at] += 1

    difference = first_difference(ours, theirs, (0, 1), OURS.op_kinds)

    assert difference.startswith("CTA 0, warp 1, " + words)


def test_a_stream_that_ends_early_is_named():
    ours = expected_records(OURS, (0,))
    length = int(ours["position"].max()) + 1

    difference = first_difference(ours, ours[:-1], (0,), OURS.op_kinds)

    assert difference == (
        f"CTA 0, warp 3: {length} records in the Python stream, {length - 1} on the GPU; record {length - 1} of the"
        " Python stream is store_global k_tile 3 index 1"
    )
