"""How many stages, and why? Answered by ``compare``."""

from gpusim.families.registry import parse_scenario
from gpusim.verbs.compare import compare


def gemm(m, n, k, depth, stages):
    types = {"ab": "f16", "accumulator": "f32", "output": "f16"}
    problem = {"kind": "gemm", "m": m, "n": n, "k": k, "dtype": types}
    kernel = {"threadblock": [128, 128, depth], "warp": [64, 64, depth], "stages": stages}
    return parse_scenario({"machine": "h200", "problem": problem, "kernel": kernel}, "question")


def test_a_stage_more_is_slower_where_it_costs_an_sm_its_second_cta():
    """
    https://github.com/NVIDIA/cutlass/issues/567: "can we use more stages? Is there any performance decrease?"

    A fourth stage of 128x128x64 tiles takes a CTA from 96 to 128 KiB, of which an SM holds one and not two.
    """
    found = compare(gemm(2048, 2048, 512, 64, 3), gemm(2048, 2048, 512, 64, 4), stream="estimated")

    assert found.metric("shared memory of a CTA").values == (96 * 1024, 128 * 1024)
    assert found.metric("CTAs per SM").values == (2, 1)
    assert found.metric("cycles elapsed").ratio > 1.05


def test_a_stage_more_is_faster_where_copies_are_waited_for():
    """
    https://github.com/NVIDIA/cutlass/issues/199: "3 pipeline stage gives 1060TFLOPs while 4 ... 1227".

    With k tiles of 32 an SM still holds two CTAs of four stages, and warps wait less for what the fourth has in flight.
    """
    found = compare(gemm(1536, 1408, 1024, 32, 3), gemm(1536, 1408, 1024, 32, 4), stream="estimated")

    assert found.metric("CTAs per SM").values == (2, 2)
    assert found.metric("cycles elapsed").ratio < 0.97
    before, after = found.metric("stall long_scoreboard").values
    assert after < before
