"""Examples of bank conflicts: which lanes collide, in which bank, and what would free them."""

from dataclasses import replace

import numpy as np
import pytest

from gpusim.execute.conflicts import MOST_EXAMPLES, conflict_lines


def run(kernel, x=None, ctas=2):
    x = np.zeros(4096, np.int32) if x is None else x
    return kernel[ctas, 128](x, np.zeros(4096, np.int32))


@pytest.fixture
def column(checks):
    """The examples of a kernel that reads columns of 32 floats, in a loop that is unrolled four times."""
    return run(checks("transposed_plain")).conflict_examples


def test_a_column_of_a_tile_collides_in_one_bank(column):
    """Warp 0 reads column 0: row l is at byte 128 l. Each of four instructions is issued 16 times by 2 CTAs."""
    assert len(column) == 4
    first = column[0]
    assert (first.wavefronts, first.ideal_wavefronts, first.bank, first.warp) == (32, 1, 0, 0)
    assert first.lanes_of_word == {128 * lane: (lane,) for lane in range(32)}
    assert first.lanes == tuple(range(32))
    assert first.conflicts == 2 * 8 * 31
    assert (first.remedy.stride, first.remedy.free_stride) == (128, 132)


def test_an_example_is_told_with_instruction_line_lanes_bank_words_and_remedy(column):
    assert str(column[0]) == (
        "0x05e0 LDS R13, [R3] (checks.cu:167, inlined at checks.cu:169): 32 wavefronts instead of 1 in CTA (0, 0, 0),"
        " warp 0: lanes 0 to 31 access 32 words of bank 0 (0x0, 0x80, 0x100, 0x180, 0x200, 0x280, ..., 0xf80); lanes"
        " lie 128 bytes apart: with 132 or with Swizzle<5, 2, 5> of byte addresses there is no conflict"
    )


def test_accesses_without_conflicts_have_no_example(checks):
    done = run(checks("transposed_padded"))

    assert done.conflicts == 0
    assert done.conflict_examples == ()


def test_lanes_of_a_wide_access_collide_in_their_phase(checks):
    """Rows of 64 bytes: of lanes 0 to 7, every second one begins at bank 0."""
    (example,) = run(checks("rows_of_float4")).conflict_examples

    assert (example.wavefronts, example.ideal_wavefronts) == (16, 4)
    assert example.lanes == (0, 2, 4, 6)
    assert "lanes 0, 2, 4, 6 access 4 words of bank 0 (0x0, 0x80, 0x100, 0x180)" in str(example)


def test_the_worst_warp_is_shown_and_a_look_up_has_no_stride(checks):
    """Warp 2 looks up words of one bank, two lanes one word; the other warps look up a row."""
    x = np.arange(4096, dtype=np.int32)
    x[64:96] = 32 * np.array([0, 0, 1, 5, 2, *range(3, 30)]) % 1024

    (example,) = run(checks("looked_up"), x).conflict_examples

    assert (example.warp, example.bank) == (2, 0)
    assert example.lanes_of_word[0] == (64 - 64, 65 - 64)
    assert example.wavefronts == len(set(x[64:96].tolist()))
    assert example.remedy is None
    assert str(example).endswith("; the lanes have no stride")


def test_a_table_has_a_line_for_each_source_line_and_says_how_many_are_left_out(column, checks):
    assert conflict_lines(column) == [f"bank conflicts: {column[0]}"]
    several = [replace(column[0], place=f"k.cu:{line}") for line in range(MOST_EXAMPLES + 3)]
    assert len(conflict_lines(several)) == MOST_EXAMPLES + 1
    assert conflict_lines(several)[-1] == "bank conflicts in 3 more lines"
    assert f"bank conflicts: {column[0]}" in str(run(checks("transposed_plain"))).splitlines()
