"""Laws of matrix descriptors, for all fields and all blocks of a tile, and what is refused in which words."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.errors import BadInput
from gpusim.layout.gmma.atom import GMMA_SWIZZLES, GmmaAtom
from gpusim.layout.gmma.tile import GMMA_STEPS, tile_to_shape
from gpusim.tile.wgmma_descriptors import LAYOUT_TYPES, BlockDescriptors, MatrixDescriptor, decode_descriptor

FOURTEEN = st.integers(0, (1 << 14) - 1)
descriptors = st.builds(MatrixDescriptor, FOURTEEN, FOURTEEN, FOURTEEN, st.integers(0, 7), st.integers(0, 3))


def tile(major="K", swizzle="SW128", bits=16, shape=(128, 64, 3), step=None):
    return tile_to_shape(GmmaAtom(major, swizzle, bits), shape, step)


@st.composite
def operands(draw):
    """Blocks of any operand that wgmma reads."""
    swizzle = draw(st.sampled_from(GMMA_SWIZZLES))
    major, bits = draw(st.sampled_from([("K", 8), ("K", 16), ("K", 32), ("MN", 16)]))
    atom = GmmaAtom(major, swizzle, bits)
    depth = 256 // bits
    rows = atom.mn * draw(st.integers(1, 3))
    blocks, steps, stages = (draw(st.integers(1, 3)) for _ in range(3))
    shape = (rows * blocks, max(depth, atom.k) * steps, stages)
    base = atom.alignment * draw(st.integers(0, 8))
    return BlockDescriptors(tile_to_shape(atom, shape, draw(st.sampled_from(GMMA_STEPS))), rows, base)


@given(descriptors)
def test_a_descriptor_is_read_back(descriptor):
    assert decode_descriptor(descriptor.encode()) == descriptor


def test_fields_lie_where_ptx_has_them():
    assert MatrixDescriptor(0x1234, 0x0567, 0x089A, 5, 1).encode() == 1 << 62 | 5 << 49 | 0x089A << 32 | 0x05671234


@given(operands())
def test_every_block_starts_at_its_first_element(blocks):
    stages, along_mn, along_k = blocks.shape
    for stage, block, step in np.ndindex(stages, along_mn, along_k):
        first = blocks.tile.offset(block * blocks.rows, step * blocks.depth, stage)

        assert blocks.starts[stage, block, step] * 128 == blocks.base * 8 + first * blocks.tile.atom.element_bits


@given(operands())
def test_encoded_blocks_are_the_descriptors(blocks):
    encoded = blocks.encoded()

    assert encoded.shape == blocks.shape
    for place in np.ndindex(blocks.shape):
        assert decode_descriptor(int(encoded[place])) == blocks.descriptor(*place)


@given(operands())
def test_a_descriptor_finds_every_element_of_its_block(blocks):
    """
    The canonical layouts in words of their own: the address of each element from the descriptor's fields alone.

    wgmma adds the offsets to the start and swizzles the address: bits 4 to 6 are XORed with those three above.
    """
    atom, bits = blocks.tile.atom, blocks.tile.atom.element_bits
    place = tuple(extent - 1 for extent in blocks.shape)
    found = decode_descriptor(int(blocks.encoded()[place]))
    swizzle_bits = {0: 0, 3: 1, 2: 2, 1: 3}[found.layout_type]
    width = 16 << swizzle_bits
    row, column = np.mgrid[: blocks.rows, : blocks.depth]
    if atom.major == "K":
        byte = column * bits // 8
        within = row % 8 * width + byte % 16
        address = within + row // 8 * found.stride * 16 + byte // 16 * found.leading * 16
    else:
        along_mn, along_k = (found.leading, found.stride) if swizzle_bits else (found.stride, found.leading)
        byte = row * bits // 8
        address = byte % width + column % 8 * width + byte // width * along_mn * 16 + column // 8 * along_k * 16
    address += found.start * 16
    address ^= (address >> 7 & (1 << swizzle_bits) - 1) << 4
    stage, block, step = place
    expected = blocks.tile.offset(block * blocks.rows + row, step * blocks.depth + column, stage)

    assert np.array_equal(address, blocks.base + expected * bits // 8)


def test_a_step_along_k_inside_a_line_of_128_bytes_moves_by_32_bytes():
    assert BlockDescriptors(tile(), 64).starts[0, 0].tolist() == [0, 2, 4, 6]


def test_a_block_of_one_atom_has_no_distance_to_a_second():
    alone = BlockDescriptors(tile("MN", shape=(128, 64, 1)), 64)

    assert (alone.leading, alone.stride) == (0, 64)
    assert BlockDescriptors(tile(), 8).stride == 0


def test_layout_types_are_those_of_ptx():
    assert LAYOUT_TYPES == {"INTER": 0, "SW128": 1, "SW64": 2, "SW32": 3}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MatrixDescriptor(1 << 14, 0, 0), "start must be an integer of 0 to 16383, got 16384"),
        (lambda: MatrixDescriptor(0, 0, 0, 8), "base_offset must be an integer of 0 to 7, got 8"),
        (
            lambda: decode_descriptor(1 << 14),
            "descriptor must have 64 bits, and none set but 0-13, 16-29, 32-45, 49-51, 62-63, got 0x4000",
        ),
        (
            lambda: decode_descriptor(1 << 64),
            (
                "descriptor must have 64 bits, and none set but 0-13, 16-29, 32-45, 49-51, 62-63, "
                "got 0x10000000000000000"
            ),
        ),
        (
            lambda: BlockDescriptors(tile(bits=4, shape=(128, 256, 1)), 64),
            "GMMA::Layout_K_SW128_Atom<4b>: element bits of wgmma must be one of 8, 16, 32, got 4",
        ),
        (
            lambda: BlockDescriptors(tile("MN", bits=8, shape=(128, 64, 1)), 128),
            (
                "GMMA::Layout_MN_SW128_Atom<8b>: wgmma reads only 16-bit elements along M or N; "
                "those of 8 bits must be K-major"
            ),
        ),
        (
            lambda: BlockDescriptors(tile(), 96),
            "GMMA::Layout_K_SW128_Atom<16b>: rows of an instruction must be a multiple of 8 that divides 128, got 96",
        ),
        (
            lambda: BlockDescriptors(tile("MN", shape=(128, 64, 1)), 32),
            "GMMA::Layout_MN_SW128_Atom<16b>: rows of an instruction must be a multiple of 64 that divides 128, got 32",
        ),
        (
            lambda: BlockDescriptors(tile("K", "INTER", shape=(64, 24, 1)), 64),
            "GMMA::Layout_K_INTER_Atom<16b>: K must be a multiple of 16 for wgmma, got 24",
        ),
        (
            lambda: BlockDescriptors(tile(), 64, base=512),
            "GMMA::Layout_K_SW128_Atom<16b>: the base must be a multiple of 1024 bytes, got 512",
        ),
        (
            lambda: BlockDescriptors(tile(), 64, base=230 * 1024),
            (
                "GMMA::Layout_K_SW128_Atom<16b>: a descriptor reaches 262144 bytes of shared memory, "
                "and the tile ends at 284672"
            ),
        ),
    ],
)
def test_other_descriptors_are_refused(make, message):
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        make()
