"""What follows from a tile kernel's tables: warps, threads, k groups, and its operands' bytes and iterators."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.errors import BadInput
from gpusim.families.registry import parse_scenario
from gpusim.layout.named import shared_layout
from gpusim.scenario.checks import shared_operand_bytes
from gpusim.tile.ldmatrix import fragment_loads

GEMM = {"machine": "h200", "problem": {"kind": "gemm", "m": 100, "n": 36, "k": 44}}


def test_the_kernel_derives_warps_threads_and_k_groups():
    kernel = parse_scenario(
        GEMM | {"kernel": {"threadblock": [128, 256, 32], "warp": [64, 64, 32]}},
        "x.toml",
    ).kernel

    assert kernel.warps == (2, 4, 1)
    assert kernel.threads == 256
    assert kernel.k_groups == 2


@pytest.mark.parametrize("name", ["crosswise", "row_major", "padded<8>", "padded<24>", "Swizzle<3,3,3>"])
@pytest.mark.parametrize("operand", ["a", "b"])
def test_shared_bytes_are_those_of_the_layout(name, operand):
    kernel = {"threadblock": [64, 128, 64], "warp": [32, 32, 64], "stages": 4, "shared": {"a": name, "b": name}}
    scenario = parse_scenario(GEMM | {"kernel": kernel}, "x.toml")
    rows = kernel["threadblock"]["ab".index(operand)]
    layout = shared_layout(name, 16, 64, rows, 4)
    last = max(int(layout.offset(63, np.arange(rows), stage).max()) for stage in range(4))

    assert shared_operand_bytes(scenario, operand) == 2 * layout.elements
    assert 2 * last < 2 * layout.elements


@given(
    threadblock=st.tuples(*[st.sampled_from([16, 32, 48, 64, 96, 128, 192, 256])] * 2, st.sampled_from([32, 64])),
    warp=st.tuples(*[st.sampled_from([16, 32, 48, 64])] * 2),
    n=st.sampled_from([33, 34, 36, 40]),
    output=st.sampled_from(["f16", "f32"]),
)
def test_an_accepted_kernel_has_all_its_iterators(threadblock, warp, n, output):
    data = {
        "machine": "h200",
        "problem": GEMM["problem"] | {"n": n, "dtype": {"output": output}},
        "kernel": {"threadblock": list(threadblock), "warp": [*warp, threadblock[2]]},
    }
    try:
        scenario = parse_scenario(data, "x.toml")
    except BadInput:
        return

    for operand in ("a", "b"):
        assert scenario.operand(operand).thread_map.threads == scenario.kernel.threads
        assert fragment_loads(scenario.operand(operand)).instructions >= 1
    assert scenario.epilogue.threadblock == threadblock


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("Sw<3,3,3> o _0 o (_128,_64):(_64,_1)", "Swizzle<3,3,3>"),
        (
            "Sw<3,4,3> o smem_ptr[16b](unset) o ((_8,_16),(_64,_1),(_1,_3)):((_64,_512),(_1,_0),(_0,_8192))",
            "Swizzle<3,3,3>",
        ),
        ("S<3,3,3> o 0 o (128,64):(64,1)", "Swizzle<3,3,3>"),
        ("(_128,_64):(_72,_1)", "padded<8>"),
        ("(128,64):(64,1)", "row_major"),
        ("cutlass::layout::RowMajor", "row_major"),
        ("cutlass::layout::RowMajorTensorOpMultiplicandCrosswise<16, 64>", "crosswise"),
        ("Swizzle<0,3,3>", "Swizzle<0,3,3>"),
    ],
)
def test_a_layout_as_cute_or_cutlass_writes_it_is_the_one_it_equals(given, name):
    scenario = parse_scenario(GEMM | {"kernel": {"shared": {"a": given}}}, "x.toml")

    assert scenario.shared_layout("a") == name
    assert scenario.resolved()["kernel"]["shared"]["a"] == name


@pytest.mark.parametrize(
    "given",
    [
        "(128,64):(1,128)",
        "(128,32):(32,1)",
        "Sw<3,4,3> o smem_ptr[32b](unset) o (_128,_64):(_64,_1)",
        "(128,(8,8)):(8,(1,1024))",
        "cutlass::layout::RowMajorTensorOpMultiplicandCrosswise<16, 32>",
    ],
)
def test_a_layout_that_no_kernel_has_is_refused(given):
    with pytest.raises(BadInput, match=r"^shared\.a must be crosswise, row_major, padded<N> or Swizzle<B,M,S>, got "):
        parse_scenario(GEMM | {"kernel": {"shared": {"a": given}}}, "x.toml")
