"""Element types: how many bits each has."""

from gpusim.element_types import element_bits


def test_element_bits_of_every_type_of_the_contract():
    names = ("f16", "bf16", "tf32", "f32", "f64", "s8", "u8", "s4", "u4", "s32")

    assert [element_bits(name) for name in names] == [16, 16, 32, 32, 64, 8, 8, 4, 4, 32]
