"""The names of configurations."""

from gpusim.verbs.tuning.label import label

GEMM = {
    "kernel.mainloop": "multistage",
    "kernel.threadblock": [128, 64, 64],
    "kernel.warp": [64, 32, 64],
    "kernel.instruction": [16, 8, 16],
    "kernel.stages": 6,
    "kernel.threadblock_swizzle": "identity<8>",
}


def test_a_ring_of_two_stages_is_a_pipelined_one_unless_it_is_said():
    tile = {"kernel.threadblock": [64, 64, 32], "kernel.warp": [32, 32, 32], "kernel.stages": 2}

    assert label(tile | {"kernel.mainloop": "pipelined"}) == "64x64x32 32x32 s2"
    assert label(tile | {"kernel.mainloop": "multistage"}) == "64x64x32 32x32 s2 mainloop=multistage"


def test_a_label_says_what_tells_configurations_apart():
    split = GEMM | {"problem.split_k_slices": 4, "problem.split_k": "serial"}

    assert label(GEMM) == "128x64x64 64x32 s6 identity<8>"
    assert label(split) == "128x64x64 64x32 s6 identity<8> serial 4"
    assert label(GEMM | {"kernel.iterator": "optimized"}) == "128x64x64 64x32 s6 identity<8> optimized"


def test_keys_without_a_form_of_their_own_are_named():
    flash = {"kernel.mainloop": "flash", "kernel.queries_per_block": 64, "kernel.preload_v": True}
    assert label(flash) == "mainloop=flash queries_per_block=64 preload_v=true"
