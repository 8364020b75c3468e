"""Tensor maps: what the driver takes, and the one line that says what it does not."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.tile.tma.tensor_map import SWIZZLE_BYTES, TensorMap

LEGAL = TensorMap(2, (4096, 4096), (8192,), (64, 128), "128B")


def test_the_box_of_an_operand_is_legal():
    assert LEGAL.broken_rules() == ()
    assert (LEGAL.row_bytes, LEGAL.box_bytes) == (128, 16384)


@pytest.mark.parametrize(
    ("changed", "rule"),
    [
        ({"strides": (200,)}, "strides[0] must be a multiple of 16 bytes below 2^40, got 200"),
        ({"strides": (1 << 40,)}, f"strides[0] must be a multiple of 16 bytes below 2^40, got {1 << 40}"),
        ({"address": 8}, "address must be a multiple of 16 bytes, got 8"),
        ({"extents": (0, 4096)}, "extents[0] must be 1 to 2^32, got 0"),
        ({"box": (64, 300)}, "box[1] must be 1 to 256, got 300"),
        ({"box": (4, 128)}, "box[0] must be a multiple of 16 bytes, got 8"),
        ({"box": (72, 128)}, "box[0] must be at most 128 bytes for swizzle 128B, got 144"),
        ({"box": (64,)}, "box must have 2 entries for 2 dimensions, got 1"),
        ({"steps": (1, 9)}, "steps[1] must be 1 to 8, got 9"),
        ({"shared_address": 64}, "shared_address must be a multiple of 128 bytes, got 64"),
        ({"interleave": "16B"}, "extents must have 3 to 5 dimensions, got 2"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_map_that_is_not_legal_says_which_rule_it_breaks(changed, rule):
    assert replace(LEGAL, **changed).broken_rules() == (rule,)


def test_interleaved_channels_need_their_own_swizzle_and_alignment():
    slices = TensorMap(1, (32, 16, 16), (48, 512), (32, 8, 8), interleave="32B")

    assert slices.broken_rules() == (
        "strides[0] must be a multiple of 32 bytes, got 48".replace(" bytes,", " bytes below 2^40,"),
        "swizzle must be 32B for interleave 32B, got none",
    )


def test_a_box_must_fit_in_shared_memory():
    cube = TensorMap(4, (256, 256, 256), (1024, 262144), (32, 128, 16), "128B")

    assert cube.broken_rules() == ("the box must fit in 232448 bytes of shared memory, got 262144",)


@given(st.sampled_from(sorted(SWIZZLE_BYTES)), st.integers(1, 64), st.sampled_from([1, 2, 4]))
def test_a_row_is_at_most_as_wide_as_its_swizzle(swizzle, vectors, element_bytes):
    row = 16 * vectors // element_bytes
    tensor = TensorMap(element_bytes, (4096, 64), (4096 * element_bytes,), (min(row, 256), 8), swizzle)
    wide = tensor.row_bytes > SWIZZLE_BYTES[swizzle]

    assert bool(tensor.broken_rules()) == wide


def test_every_so_many_th_row_takes_less_shared_memory():
    assert replace(LEGAL, steps=(1, 4)).box_bytes == LEGAL.box_bytes // 4
