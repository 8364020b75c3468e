"""The bank map: what accesses to a layout cost, the lanes of their conflicts, and the text and data that say so."""

import json
import re

import numpy as np
import pytest

from gpusim.errors import BadInput
from gpusim.layout.bank_map import describe_layout, render_text
from gpusim.layout.patterns import ACCESS_GRAMMAR, LDMATRIX_GRAMMAR, access_kinds


def describe(name, *accesses, bits=16, tile=(64, 128), stages=1):
    return describe_layout(name, bits, *tile, stages, accesses=accesses)


def only(report):
    (access,) = report.accesses
    return access


@pytest.mark.parametrize(
    ("name", "wavefronts"),
    [("row_major", 32), ("crosswise", 4), ("Swizzle<3,3,3>", 4), ("padded<8>", 4), ("padded<32>", 16)],
)
def test_ldmatrix_x4_wavefronts(name, wavefronts):
    """Rows of 64 fp16 span all banks: unswizzled, 8 rows share 4 banks."""
    access = only(describe(name, ("ldmatrix", "x4")))

    assert (access.wavefronts, access.ideal_wavefronts, access.conflicts) == (wavefronts, 4, wavefronts - 4)


@pytest.mark.parametrize("argument", ["x1", "x2", "x4", "x1.trans", "x4.trans", "x4@16:64", "x2@56:112"])
def test_every_ldmatrix_of_a_crosswise_tile_is_ideal(argument):
    access = only(describe("crosswise", ("ldmatrix", argument), stages=3))

    assert access.wavefronts == access.ideal_wavefronts == int(argument[1])


def test_ldmatrix_x4_lanes_supply_the_rows_of_the_a_operand():
    """Lanes 0-15: rows 0-15 of the first vector; lanes 16-31: the same rows, 16 bytes on."""
    access = only(describe("row_major", ("ldmatrix", "x4")))

    assert access.addresses == tuple(row * 128 for row in range(16)) + tuple(row * 128 + 16 for row in range(16))


@pytest.mark.parametrize(("width", "ideal"), [("16B", 4), ("8B", 2), ("4B", 1)])
def test_rows_stored_in_order_never_conflict(width, ideal):
    for name in ("row_major", "crosswise", "Swizzle<3,3,3>"):
        access = only(describe(name, ("store", width)))

        assert (access.wavefronts, access.ideal_wavefronts) == (ideal, ideal), name


def test_a_store_runs_along_the_contiguous_dimension_first():
    access = only(describe("row_major", ("store", "16B@0:4"), tile=(32, 128)))

    assert access.addresses == tuple((4 + lane // 4) * 64 + lane % 4 * 16 for lane in range(32))


def test_a_store_past_the_last_row_leaves_lanes_out():
    access = only(describe("row_major", ("store", "16B"), tile=(64, 2)))

    assert access.addresses[16:] == (None,) * 16
    assert (access.wavefronts, access.ideal_wavefronts) == (2, 2)


def test_a_column_of_32_words_is_32_wavefronts_and_one_word_of_padding_cures_it():
    column = ("access", "4B@" + ",".join(f"0:{row}" for row in range(32)))

    assert only(describe("row_major", column, bits=32, tile=(32, 32))).wavefronts == 32
    assert only(describe("padded<1>", column, bits=32, tile=(32, 32))).wavefronts == 1


def test_conflicts_name_the_lanes_of_each_word():
    """Rows of 128 bytes: lanes 0 and 4 share row 0's word, lane 1 wants row 1's; lane 3 takes no part."""
    access = only(describe("row_major", ("access", "4B@0:0,0:1,2:1,-,0:0")))

    (group,) = access.groups
    assert (group.phase, group.bank, group.lanes_of_word) == (0, 0, {0: (0, 4), 32: (1,)})


def test_data_has_offsets_by_row_and_the_conflicts():
    report = describe("crosswise", ("ldmatrix", "x4"), tile=(32, 64), stages=3)
    data = json.loads(report.to_json())

    assert np.shape(data["offsets"]) == (64, 32)
    assert data["offsets"] == report.layout.offset(np.arange(32), np.arange(64)[:, np.newaxis]).tolist()
    assert np.shape(data["stage_offsets"]) == (3, 64, 32)
    assert data["stage_offsets"][0] == data["offsets"]
    assert np.unique(data["stage_offsets"]).tolist() == list(range(data["elements"]))
    assert data["shared_bytes"] == 3 * 64 * 32 * 2
    assert [access["conflicts"] for access in data["accesses"]] == [0]


def test_data_of_a_conflict_has_words_and_lanes():
    data = describe("row_major", ("access", "4B@0:0,0:1")).as_dict()

    assert data["accesses"] == [
        {
            "access": "access 4B@0:0,0:1",
            "op": "load",
            "width_bytes": 4,
            "instructions": 1,
            "worst_instruction": 0,
            "addresses": [0, 128, *[None] * 30],
            "wavefronts": 2,
            "ideal_wavefronts": 1,
            "conflicts": 1,
            "ways": 2,
            "conflict_groups": [{"phase": 0, "bank": 0, "words": [0, 32], "lanes": [[0], [1]]}],
        }
    ]


def test_the_bank_table_has_the_first_bank_of_each_vector():
    """Row r of 64 fp16 under crosswise: vector v begins at bank 4 (v xor r mod 8)."""
    row, vector = np.ogrid[:128, :8]

    assert np.array_equal(describe("crosswise").bank_table(), 4 * (vector ^ row % 8))


@pytest.mark.parametrize(
    ("name", "bits", "tile", "vector_bytes"),
    [
        ("crosswise", 4, (128, 64), 16),
        ("Swizzle<2,2,3>", 16, (64, 8), 8),
        ("padded<2>", 16, (64, 8), 4),
        ("padded<1>", 16, (64, 8), 2),
        ("row_major", 4, (6, 8), 1),
    ],
)
def test_vectors_are_the_widest_the_layout_keeps_together(name, bits, tile, vector_bytes):
    report = describe(name, bits=bits, tile=tile)

    assert report.vector_bytes() == vector_bytes
    assert report.bank_table().shape == (tile[1], tile[0] * bits // 8 // vector_bytes)


def test_text_of_a_conflict_free_layout():
    text = render_text(describe("Swizzle<1,3,2>", ("ldmatrix", "x1"), tile=(32, 8)))

    assert text == (
        "Swizzle<1,3,2>: 16-bit elements, tile 32x8 (contiguous x strided), 1 stage, 512 bytes\n"
        "\n"
        "First of the 4 banks of each 16-byte vector, by row and first element (stage 0):\n"
        "\n"
        "   |  0  8 16 24\n"
        "---+------------\n"
        " 0 |  0  4  8 12\n"
        " 1 | 20 16 28 24\n"
        "... | rows repeat every 2, to row 7\n"
        "\n"
        "ldmatrix.x1: 4 wavefronts, ideal 1: 3 bank conflicts\n"
        "  phase 0, banks 0-3: 4 words, lanes 0 | 2 | 4 | 6\n"
        "  phase 0, banks 20-23: 4 words, lanes 1 | 3 | 5 | 7\n"
    )


def test_text_names_lanes_that_share_a_word_together():
    text = render_text(describe("row_major", ("store", "16B"), ("access", "4B@0:0,0:1,2:1,-,0:0")))

    assert "store 16B: 4 wavefronts, ideal 4: no bank conflict\n" in text
    assert text.endswith("2 wavefronts, ideal 1: 1 bank conflict\n  phase 0, bank 0: 2 words, lanes 0 4 | 1\n")


@pytest.mark.parametrize(
    ("name", "access", "message"),
    [
        (
            "row_major",
            ("store", "12B"),
            "store must read WIDTH[@C:S] with WIDTH 2B, 4B, 8B or 16B, as 16B or 16B@0:32, got '12B'",
        ),
        (
            "row_major",
            ("ldmatrix", "x3"),
            f"ldmatrix must read {LDMATRIX_GRAMMAR}, got 'x3'",
        ),
        (
            "row_major",
            ("access", "16B"),
            f"access must read {ACCESS_GRAMMAR}, got '16B'",
        ),
        ("row_major", ("read", "16B"), f"access must be one of {', '.join(access_kinds())}, got 'read'"),
        (
            "row_major",
            ("access", "16B@0:0,60:0"),
            "access 16B@0:0,60:0: the access of lane 1 at 60:0 of 16 bytes reaches outside the 64x128 tile",
        ),
        (
            "row_major",
            ("ldmatrix", "x4@0:120"),
            "ldmatrix.x4@0:120: the access of lane 8 at 0:128 of 16 bytes reaches outside the 64x128 tile",
        ),
        (
            "Swizzle<3,2,3>",
            ("store", "16B@0:1"),
            "store 16B@0:1: the access of lane 4 at 32:1 of 16 bytes is not contiguous in this layout",
        ),
        ("padded<4>", ("ldmatrix", "x1"), "lane 1: shared address 136 must be a multiple of 16, at least 0"),
    ],
)
def test_accesses_that_cannot_be_are_refused_in_one_line(name, access, message):
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        describe(name, access)


def test_an_access_must_hold_whole_elements():
    with pytest.raises(BadInput, match=r"^store 4B: 4 bytes hold no element of 64 bits$"):
        describe("row_major", ("store", "4B"), bits=64)
