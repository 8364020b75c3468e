"""Warp tiles that CUTLASS takes: those of which its iterators find the elements that the shared layout holds."""

import json

import numpy as np
import pytest

from gpusim.cli import main
from gpusim.errors import BadInput
from gpusim.layout.congruous import CongruousLayout
from gpusim.scenario.cutlass_name import format_name
from gpusim.scenario.cutlass_shapes import not_taken
from gpusim.scenario.text import Origin
from gpusim.verbs.load import load

LINE = {16: 64, 32: 32}
TYPES = {
    16: {"ab": "f16", "accumulator": "f32", "output": "f32"},
    32: {"ab": "tf32", "accumulator": "f32", "output": "f32"},
}


def gemm(n, warp, bits=16, *, threadblock_m=64, k=32, **kernel):
    """A GEMM whose B is contiguous along N."""
    problem = {
        "kind": "gemm",
        "m": 128,
        "n": 2 * n,
        "k": 128,
        "layout_a": "row",
        "layout_b": "row",
        "dtype": TYPES[bits],
    }
    instruction = [16, 8, 16 if bits == 16 else 8]
    table = {"threadblock": [threadblock_m, n, k], "warp": warp, "instruction": instruction} | kernel
    return {"machine": "h200", "problem": problem, "kernel": table}


def found_by_its_iterator(warp, extent):
    """
    The vector of 8 f16 that CUTLASS's iterator of B reads for each lane, from a row's begin.

    mma_tensor_op_tile_iterator.h, congruous, m16n8k16: a lane has four pointers, of vectors 0, 2, 4 and 6 (and one more
    in its second half), with the swizzle of its row in them. Pointer c serves load c, and c + 4 a line further. A warp
    of 32 elements exchanges the halves of the pointers where its number is odd, and moves by pairs; others move by
    their extent.
    """
    lane, load_ = np.arange(32), np.arange(extent // 16)[:, None]
    row, second = lane % 16, lane // 16
    pointers = np.stack([4 * (row // 4 % 2 ^ i // 2) + (second + 2 * (i % 2) ^ row % 4) for i in range(4)])
    moved = warp * extent
    if extent == 32:
        pointers = np.roll(pointers, 2 * (warp % 2), axis=0)
        moved = warp // 2 * 64
    return pointers[load_ % 4, lane] + 8 * (load_ // 4) + moved // 8


def wanted(warp, extent, n):
    """Where the layout has the vectors that the warp's loads want."""
    lane, load_ = np.arange(32), np.arange(extent // 16)[:, None]
    layout = CongruousLayout(16, n, 16, 1)
    column = warp * extent + 16 * load_ + 8 * (lane // 16)
    return layout.offset(column, lane % 16, 0) // 8 - lane % 16 * (n // 8)


@pytest.mark.parametrize(
    ("n", "extent"),
    [
        (64, 16),
        (64, 32),
        (64, 64),
        (128, 16),
        (128, 32),
        (128, 64),
        (128, 128),
        (192, 48),
        (192, 96),
        (192, 64),
        (256, 128),
    ],
)
def test_cutlass_takes_a_warp_whose_iterator_finds_what_the_layout_holds(n, extent):
    right = all(
        np.array_equal(found_by_its_iterator(warp, extent), wanted(warp, extent, n)) for warp in range(n // extent)
    )
    scenario = load(gemm(128, [64, 64, 32], threadblock_m=128))
    kernel = scenario.kernel.model_copy(update={"threadblock": (64, n, 32), "warp": (64, extent, 32)})

    assert right == (not_taken(scenario.problem, kernel) is None)


def test_a_warp_that_cutlass_does_not_take_runs_as_gpusims_own_kernel_and_says_so(capsys, tmp_path):
    """64x64x32 of warps 64x16x32: 16 is neither half a line of 64 elements nor whole ones."""
    reason = "kernel.warp must be 32 or a multiple of 64 along N, as B is contiguous along it, got [64, 16, 32]"
    data = gemm(64, [64, 16, 32])
    settings = [f"--set=problem.{key}={json.dumps(value)}" for key, value in data["problem"].items() if key != "dtype"]
    settings += ['--set=problem.dtype.output="f32"']
    settings += [f"--set=kernel.{key}={json.dumps(value)}" for key, value in data["kernel"].items()]

    assert load(data).lacking_in_cutlass == reason
    assert main(["verify", "gemm_ragged", *settings]) == 0
    assert f"CUTLASS    has no such kernel: {reason}" in capsys.readouterr().out
    assert (
        main(["run", "gemm_ragged", *settings, "--no-figures", "--stream=estimated", f"--out={tmp_path / 'run'}"]) == 0
    )
    assert "has no such kernel" in capsys.readouterr().out
    assert main(["run", "gemm_ragged", *settings, "--set=kernel.code=cutlass"]) == 2
    assert 'where kernel.code is "cutlass", which has no other kernel' in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            gemm(64, [32, 16, 32], code="cutlass"),
            (
                "warp must be 32 or a multiple of 64 along N, as B is contiguous along it, where kernel.code is"
                ' "cutlass", which has no other kernel, got [32, 16, 32] (scenario: kernel.warp)'
            ),
        ),
        (
            gemm(128, [64, 64, 32], threadblock_m=128, code="cutlass", shared={"b": "row_major"}),
            (
                'shared.b must be congruous where kernel.code is "cutlass", which has no other kernel, got "row_major"'
                " (scenario: kernel.shared.b)"
            ),
        ),
    ],
    ids=["warp", "layout"],
)
def test_cutlass_s_code_is_refused_where_cutlass_has_no_such_kernel(changed, message):
    with pytest.raises(BadInput) as refused:
        load(changed)

    assert str(refused.value) == message


def test_an_odd_number_of_k_groups_is_not_taken():
    """K = 48 of a tile contiguous along M and N is three k groups of 16; CUTLASS unrolls two at a time."""
    data = gemm(64, [32, 32, 48], k=48)
    data["problem"]["layout_a"] = "column"

    assert load(data).lacking_in_cutlass == "kernel.warp must be a multiple of 32 deep, two k groups, got [32, 32, 48]"


def test_a_multistage_mainloop_of_two_stages_is_gpusims_own():
    """CUTLASS's DefaultMma of two stages is a pipelined one, so its profiler has no name for this kernel."""
    scenario = load("gemm_ragged", ["kernel.stages=2"])

    assert scenario.lacking_in_cutlass == (
        "kernel.stages must be at least 3 of a multistage mainloop: of 2 CUTLASS's is pipelined, got 2"
    )
    with pytest.raises(BadInput, match="at least 3 of a multistage mainloop"):
        load("gemm_ragged", ["kernel.stages=2", "kernel.code=cutlass"])
    with pytest.raises(BadInput, match='mainloop must be "pipelined", as in cutlass_tensorop_f16_s16816gemm'):
        format_name(scenario, Origin("gemm_ragged.toml"))


def test_a_kernel_of_the_profiler_with_another_warp_is_refused():
    name = "cutlass_tensorop_s16816gemm_f16_64x64_32x6_tt_align8"
    extents = ["problem.m=128", "problem.n=128", "problem.k=128"]

    assert load(name, extents).kernel.warp == (32, 32, 32)
    with pytest.raises(BadInput, match="which has no other kernel"):
        load(name, [*extents, "kernel.warp=[16, 64, 32]"])


def test_what_a_teaching_layout_lacks_in_cutlass_is_not_said():
    assert load("conv_s6_row_major").lacking_in_cutlass == ""
