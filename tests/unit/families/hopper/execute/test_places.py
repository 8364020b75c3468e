"""What wgmma reads through a descriptor is what the layout of the ring says, and TMA's boxes lie there."""

import numpy as np
import pytest
from problems.hopper import hopper

from gpusim.families.hopper.collective import collective_of
from gpusim.families.hopper.execute.places import CHUNK, block_granules, box_chunks, granules_of, operand_chunks
from gpusim.families.hopper.program.descriptors import descriptors, ring
from gpusim.families.hopper.program.tiles import boxes

F16 = {"ab": "f16", "accumulator": "f32", "output": "f16"}
S8 = {"ab": "s8", "accumulator": "s32", "output": "s32"}
TF32 = {"ab": "tf32", "accumulator": "f32", "output": "f32"}


def operands(layouts, dtype, tile):
    problem = {"m": 256, "n": 256, "k": 128, "layout_a": layouts[0], "layout_b": layouts[1], "dtype": dtype}
    collective = collective_of(hopper(problem, {"schedule": "warp_specialized", "tile": list(tile), "stages": 2}))
    return (collective.a, 64), (collective.b, collective.b.rows)


def byte_addresses(operand, rows, columns, stage):
    return operand.base + ring(operand, 2).offset(rows[:, None], columns, stage) * operand.bits // 8


CASES = [
    (("row", "column"), F16, (128, 128, 64)),
    (("row", "column"), F16, (64, 96, 32)),
    (("row", "column"), F16, (64, 16, 16)),
    (("row", "column"), F16, (128, 128, 128)),
    (("column", "row"), F16, (128, 128, 64)),
    (("column", "row"), F16, (64, 96, 16)),
    (("column", "row"), F16, (192, 32, 32)),
    (("row", "column"), S8, (64, 128, 128)),
    (("row", "column"), TF32, (128, 64, 16)),
]


@pytest.mark.parametrize(("layouts", "dtype", "tile"), CASES)
def test_a_descriptor_reads_the_block_of_the_layout(layouts, dtype, tile):
    for operand, rows in operands(layouts, dtype, tile):
        depth, chunk = 256 // operand.bits, 8 * CHUNK // operand.bits
        for stage, blocks in enumerate(descriptors(operand, 2)):
            for block, steps in enumerate(blocks):
                for step, descriptor in enumerate(steps):
                    places = block * rows + np.arange(rows), step * depth + np.arange(depth), stage
                    bytes_ = byte_addresses(operand, *places)
                    expected = (bytes_ if operand.k_contiguous else bytes_.T)[:, ::chunk] // CHUNK

                    found = operand_chunks(descriptor, rows, operand.bits, k_contiguous=operand.k_contiguous)

                    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("layouts", "dtype", "tile"), CASES)
def test_the_boxes_of_a_slot_lie_as_the_layout_says(layouts, dtype, tile):
    for operand, _ in operands(layouts, dtype, tile):
        chunk = 8 * CHUNK // operand.bits
        for box in boxes(operand, 1, 0):
            wide, lines, _ = box.extents
            along, across = np.arange(0, wide, chunk), np.arange(lines)
            if operand.k_contiguous:
                expected = byte_addresses(operand, box.row + across, box.column + along, 0)
            else:
                expected = byte_addresses(operand, box.row + along, box.column + across, 0).T

            found = box_chunks(operand.base + box.offset, lines, wide * operand.bits // 8, operand.swizzle)

            np.testing.assert_array_equal(found, expected // CHUNK)


def test_granules():
    """A box of 1024 bytes at 512 has granules 4 to 11; the first instruction of A reads rows of 128 bytes, all 64."""
    (a, rows), _ = operands(("row", "column"), F16, (64, 16, 64))

    assert granules_of(512, 1024) == slice(4, 12)
    assert block_granules((descriptors(a, 2)[0][0][0],), rows, 16, k_contiguous=True).tolist() == list(range(64))
