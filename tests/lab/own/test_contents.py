"""Arguments of own kernels before a launch: repeatable, of the stated types and shapes."""

import numpy as np
import pytest

from gpusim.lab.own.contents import any_bits, make_arguments, output, permutation, ring
from gpusim.lab.own.kernel import ArrayArgument, OwnLaunch, ScalarArgument
from gpusim.lab.own.table import OWN_KERNELS

GENERATOR = np.random.default_rng(1)


@pytest.mark.parametrize("kernel", OWN_KERNELS, ids=lambda kernel: kernel.name)
def test_arguments_have_the_stated_types_and_shapes_and_repeat(kernel):
    made, again = make_arguments(kernel.small), make_arguments(kernel.small)

    for name, argument in kernel.small.arguments.items():
        assert made[name].dtype == argument.dtype
        assert made[name].tobytes() == again[name].tobytes()
        if isinstance(argument, ArrayArgument):
            assert made[name].shape == argument.shape


def test_two_arrays_of_equal_contents_differ_by_their_place():
    launch = OwnLaunch(
        (1, 1, 1),
        (32, 1, 1),
        {"a": ArrayArgument("uint32", (9,), any_bits), "b": ArrayArgument("uint32", (9,), any_bits)},
    )

    made = make_arguments(launch)

    assert (made["a"] != made["b"]).any()


def test_an_output_is_full_of_garbage_that_is_no_answer():
    made = make_arguments(
        OwnLaunch((1, 1, 1), (32, 1, 1), {"out": output("int32", 2, 3), "n": ScalarArgument("int32", 6)})
    )

    assert made["out"].tolist() == [[np.int32(0xA5A5A5A5 - (1 << 32))] * 3] * 2
    assert made["n"] == 6


def test_a_ring_returns_to_its_begin_after_as_many_steps_as_it_has_elements():
    following = ring(GENERATOR, (7,))
    at, seen = 0, []
    for _ in range(7):
        at = following[at]
        seen.append(at)

    assert at == 0
    assert sorted(seen) == list(range(7))


def test_a_permutation_has_every_number_once():
    assert sorted(permutation(GENERATOR, (3, 4)).reshape(-1)) == list(range(12))
