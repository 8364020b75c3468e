"""The counter says N, my layout says 0: which lanes collide, and which swizzle is right? ``explain``, ``compare``."""

import pytest

from gpusim.families.registry import parse_scenario
from gpusim.verbs.compare import compare
from gpusim.verbs.explain import explain

TYPES = {"ab": "f16", "accumulator": "f32", "output": "f16"}


def gemm(depth, layout, *, layout_a="row"):
    problem = {"kind": "gemm", "m": 256, "n": 256, "k": 128, "layout_a": layout_a, "dtype": TYPES}
    kernel = {"threadblock": [128, 128, depth], "warp": [64, 64, depth], "stages": 3, "shared": {"a": layout}}
    return parse_scenario({"machine": "h200", "problem": problem, "kernel": kernel}, "question")


def conflicts(*layouts, depth, **problem):
    found = compare(*(gemm(depth, layout, **problem) for layout in layouts), stream="estimated")
    return found.metric("conflicts ldmatrix a").values


@pytest.mark.parametrize("depth", [32, 64])
def test_a_swizzle_of_another_row_length_conflicts_where_padding_does_not(depth):
    """
    https://github.com/ggml-org/llama.cpp/pull/28536: "higher bank-conflicts with swizzle on vs off ... not yet able to
    find the pattern why these configs regress".

    The pattern: 8 rows of an ldmatrix differ in row bits 0 to 2, so that the swizzle must take its mask from there. The
    shift that fits rows of 128 halves takes bits that are equal in rows of 32 or 64, and leaves conflicts; a shift of 3
    fits both, as does padding.
    """
    padded, fitting, of_128 = conflicts("padded<8>", "Swizzle<3,3,3>", "Swizzle<3,3,4>", depth=depth)

    assert (padded, fitting) == (0, 0)
    assert of_128 > 0


def test_swizzle_3_3_4_frees_a_transposing_ldmatrix_of_rows_of_128():
    """
    https://github.com/NVIDIA/cutlass/issues/3172: Swizzle<3,3,4> on an M-major (128, 8) atom, and ldmatrix.x4.trans.

    By their addresses, the eight rows along K of a matrix lie in eight different vectors of 16 bytes. Swizzle<3,3,3>
    takes one bit of its mask from within a row of 128, so that rows still collide in pairs.
    """
    plain, right, wrong = conflicts(
        "row_major", "Swizzle<3,3,4>", "Swizzle<3,3,3>", depth=32, layout_a="column"
    )  # fmt: skip

    assert right == 0
    assert plain == 7 * wrong


def test_explain_names_the_lanes_of_a_transposing_ldmatrix_and_the_swizzle():
    found = explain(gemm(32, "row_major", layout_a="column"), stream="estimated")
    (one,) = [one for one in found.conflicts if (one.op, one.operand) == ("ldmatrix", "a")]

    assert (one.ways, one.lanes) == (8, tuple(range(8)))
    assert one.addresses == tuple(256 * lane for lane in range(8))
    assert any("Swizzle<3,3,4>" in fix.setting for fix in one.fixes)


def test_conflicts_of_asynchronous_copies_are_the_counters_and_not_the_layouts():
    """
    https://github.com/NVIDIA/cutlass/issues/2212: "Why cp.async.ca will increase bank conflict of shared store?"

    The copies' own addresses have none with the swizzle; ncu's counter of LDGSTS follows how lines return.
    """
    found = explain(gemm(64, "Swizzle<3,3,3>"), stream="estimated")
    counters = {one.metric: one for one in found.counters}

    assert sum(row.conflicts for row in found.result.bank_conflicts if row.op == "ldgsts") == 0
    assert counters["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts.sum"].kind == "artefact"
    assert "0 conflicts" in counters["sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum"].meaning
