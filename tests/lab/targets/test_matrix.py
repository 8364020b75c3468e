"""The combinations that are compiled: as many as are claimed, each once, and every kind of kernel on every target."""

import pytest

from gpusim.errors import BadInput
from gpusim.lab.targets.follow import kernels_of
from gpusim.lab.targets.matrix import LAYOUTS, MAINLOOPS, TARGETS, combinations

ALL = {machine: list(combinations(machine)) for machine in TARGETS}


def test_there_are_more_than_400_and_no_two_are_alike():
    names = [(one.target, one.family, one.name) for listed in ALL.values() for one in listed]

    assert len(names) > 400
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("machine", TARGETS)
def test_every_target_has_its_families_layouts_and_outputs(machine):
    listed = ALL[machine]
    families = {one.family for one in listed}
    gemms = {
        (one.name.partition(",")[0], one.data["problem"]["dtype"]["output"]) for one in listed if one.family == "gemm"
    }
    mainloops = {
        (one.data["kernel"]["mainloop"], one.data["kernel"]["stages"]) for one in listed if one.family == "gemm"
    }

    assert {"gemm", "gemm, serial split-K", "gemm, parallel split-K", "gemm, epilogues"} < families
    assert {"convolution, analytic", "convolution, optimized", "data gradient"} < families
    assert ("attention" in families) == (machine != "t4")
    assert gemms > {(letters, output) for letters in LAYOUTS for output in ("f16", "f32")}
    assert mainloops == {MAINLOOPS[-1]} if machine == "t4" else set(MAINLOOPS)


def test_a_kernel_that_the_gpu_does_not_have_is_refused_by_name():
    four_bits = next(one for one in ALL["h200"] if one.data["problem"].get("dtype", {}).get("ab") == "u4")

    with pytest.raises(BadInput, match=r"^sm_90 emulates the mma\.sync of u4 \(D27\)$"):
        kernels_of(four_bits)
