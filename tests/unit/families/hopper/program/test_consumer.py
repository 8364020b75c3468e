"""The main loop of a consumer warpgroup, worked by hand."""

import pytest

from gpusim.families.hopper.collective import collective_of
from gpusim.families.hopper.program.consumer import mainloop, tiles_promoted
from gpusim.families.hopper.program.ops import Promote, Wgmma
from gpusim.families.hopper.program.pipelines import PipelineState
from gpusim.families.hopper.program.tiles import Place
from gpusim.families.registry import scenario_of
from gpusim.tile.scheduler.cta_work import WorkUnit


def loop(k_tiles, depth, **kernel):
    """The operations of the first consumer's main loop for 8-bit floats."""
    scenario = scenario_of({
        "machine": "h200",
        "problem": {
            "kind": "hopper_gemm",
            "m": 128, "n": 128, "k": k_tiles * depth,
            "dtype": {"ab": "e4m3", "accumulator": "f32", "output": "f16"},
        },
        "kernel": {"tile": [128, 128, depth], **kernel},
    })  # fmt: skip
    collective = collective_of(scenario)
    unit = WorkUnit(0, 0, 0, 0, k_tiles, 0, 1, 0)
    ops = list(mainloop(collective, Place((0, 0), (1, 1)), unit, 0, PipelineState(collective.stages)))
    return collective, ops


def overwriting(ops):
    """The k tiles at which the accumulators begin anew."""
    return sorted({op.k_tile for op in ops if isinstance(op, Wgmma) and not op.accumulate})


def promoted_after(ops):
    """The k tiles behind which sums are promoted."""
    found, last = [], -1
    for op in ops:
        last = op.k_tile if isinstance(op, Wgmma) else last
        found += [last] if isinstance(op, Promote) else []
    return found


@pytest.mark.parametrize(
    ("depth", "together", "anew", "promoted"),
    [
        (128, 1, [0, 1, 2, 3, 4], [0, 1, 2, 3, 4]),
        (64, 2, [0, 2, 4], [1, 3, 4]),
        (32, 4, [0, 4], [3, 4]),
    ],
    ids=["four instructions a k tile", "two", "one"],
)
def test_sums_of_8_bit_floats_are_promoted_after_four_instructions_along_k(depth, together, anew, promoted):
    """Five k tiles; what is left at the end is promoted, too."""
    collective, ops = loop(5, depth)

    assert tiles_promoted(collective) == together
    assert (overwriting(ops), promoted_after(ops)) == (anew, promoted)


def test_fast_accumulation_promotes_nothing():
    collective, ops = loop(5, 128, fast_accumulation=True)

    assert tiles_promoted(collective) == 0
    assert (overwriting(ops), promoted_after(ops)) == ([0], [])
