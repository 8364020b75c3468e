"""The timeline build as a stream: it does what the plain kernel's schedule says, and stores its stamps besides."""

from collections import Counter

import pytest

from gpusim.errors import BadInput
from gpusim.families.gemm.timed import TimedTileKernel
from gpusim.lab.stamps.kernel import StampedTileKernel


def ops_of(stream):
    return Counter(
        (instruction.opcode.partition(".")[0], type(instruction.op).__name__)
        for segment in stream.segments
        for instruction in segment.instructions * segment.trips
        if instruction.op is not None
    )


@pytest.mark.compiler("nvcc")
def test_a_stamped_kernel_carries_out_the_plain_one_s_ops(kernel):
    plain = TimedTileKernel(kernel.scenario, kernel.machine)
    plain.own_build = True

    assert ops_of(kernel.stream(0, "compiled")) == ops_of(plain.stream(0, "compiled"))


@pytest.mark.compiler("nvcc")
def test_it_stores_a_stamp_for_each_place_of_each_k_tile(kernel):
    """
    Of 7 k tiles with two k groups: 3 + 3 x 2 stamps each. The last k tile waits for one beyond and loads its first
    fragments, whose three stamps are stored, too, and two fetches beyond are begun.
    """
    stored = [
        instruction
        for segment in kernel.stream(0, "compiled").segments
        for instruction in segment.instructions * segment.trips
        if instruction.opcode.startswith("STG") and instruction.op is None
    ]

    assert len([one for one in stored if ".64" not in one.opcode]) == 7 * 9 + 3 + 2
    assert all((one.unit, one.pipe) == ("pipe", "mufu") for one in stored)


def test_it_has_no_build_for_other_extents_and_lends_nothing(kernel):
    assert kernel.any_extents is None
    assert kernel.lender is kernel
    assert kernel.specialisation.build == "timeline"


def test_a_split_sum_is_refused_as_its_ctas_go_other_ways(kernel):
    problem = kernel.scenario.problem.model_copy(update={"split_k_slices": 2})
    split = StampedTileKernel(kernel.scenario.model_copy(update={"problem": problem}), kernel.machine)

    kernel.require()
    with pytest.raises(BadInput, match="split_k_slices must be 1 where stamps are simulated, got 2"):
        split.require()
