"""Line programs of a few bytes, each read by hand; and programs that are damaged."""

import pytest

from gpusim.lower.sass.line_program import DamagedTable, ListedFile, line_sequences

FILES = b"/src\0\0" + b"k.cu\0\x01\x05\x20" + b"/h.cuh\0\x01\0\0" + b"\0"
"""One folder; k.cu in it, of 32 bytes; a header with a path of its own."""

SET_ADDRESS_0 = b"\0\x09\x02" + bytes(8)
END = b"\0\x01\x01"


def program(opcodes, *, version=2, files=FILES, line_range=14):
    """A program whose lines begin at -5 and whose special opcodes begin at 10, as ptxas writes it."""
    fixed = b"\x01\x01" if version < 4 else b"\x01\x01\x01"
    header = fixed + bytes([0xFB, line_range, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1]) + files
    body = len(header).to_bytes(4, "little") + header + opcodes
    return (2 + len(body)).to_bytes(4, "little") + version.to_bytes(2, "little") + body


def rows(opcodes, **options):
    (sequence,) = line_sequences(program(SET_ADDRESS_0 + opcodes + END, **options))
    return [(row.address, row.file, row.line) for row in sequence.rows], sequence


@pytest.mark.parametrize("version", [2, 3, 4])
def test_opcodes_move_address_and_line(version):
    """
    Line 1 + 7 = 8 at 0. 0xF0 is 230 above 10: 16 addresses and 10 - 5 + 1 lines less 5: line 9 at 16. Then 0x30 bytes
    and -1 line; const_add_pc moves by (255 - 10) // 14 = 17 addresses, fixed_advance_pc by 512.
    """
    found, sequence = rows(
        b"\x03\x07\x01" + b"\xf0" + b"\x02\x30\x03\x7f\x01" + b"\x08\x01" + b"\x09\x00\x02\x01" + b"\x02\x10",
        version=version,
    )

    assert found == [(0, 1, 8), (16, 1, 9), (64, 1, 8), (81, 1, 8), (593, 1, 8)]
    assert sequence.end == 609


def test_files_have_their_folder_and_the_bytes_they_had():
    _, sequence = rows(b"\x01")

    assert sequence.files == (ListedFile("/src/k.cu", 32), ListedFile("/h.cuh", 0))


def test_the_address_of_a_sequence_is_known_by_its_place_in_the_section():
    data = program(SET_ADDRESS_0 + b"\x01" + END + SET_ADDRESS_0 + b"\x01" + END)

    first, second = line_sequences(data)

    assert data[first.at - 3 : first.at] == data[second.at - 3 : second.at] == SET_ADDRESS_0[:3]
    assert second.at - first.at == len(SET_ADDRESS_0 + b"\x01" + END)


def test_rows_of_inlined_code_name_the_row_of_their_call():
    found = rows(b"\x01" + b"\0\x03\x90\x01\x09" + b"\x01" + b"\0\x03\x90\x00\x00" + b"\x01")[1]

    assert [(row.call, row.function) for row in found.rows] == [(0, 0), (1, 9), (0, 0)]


def test_opcodes_that_set_columns_and_other_extended_ones_move_nothing():
    found, _ = rows(b"\x05\x03\x06\x07" + b"\0\x02\x80\x05" + b"\0\0" + b"\x01")

    assert found == [(0, 1, 1)]


def test_a_program_of_another_version_is_passed_over():
    data = program(b"\xff" * 9, version=5) + program(SET_ADDRESS_0 + b"\x01" + END)

    assert [len(sequence.rows) for sequence in line_sequences(data)] == [1]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (program(b"\x01")[:-1], "go beyond its end"),
        (program(b"\x02" + b"\xff" * 12), "is too long"),
        (program(b"\x04\x03\x01"), "a row has file 3 and line 1"),
        (program(b"\x03\x7d\x01"), "a row has file 1 and line -2"),
        (program(b"\0\x03\x90\x01\x00"), "row 1 of a call is not in the table"),
        (program(b"", line_range=0), "must be positive"),
        (program(b"", files=b"\0k.cu\0\x01\0\0\0"), "folder 1 is not in the header"),
        (program(b"\0\x02\x03\0"), "a file outside of the header is not read"),
        (program(b"\0\x7f\x90"), "go beyond its end"),
    ],
)
def test_damage_is_named(data, said):
    with pytest.raises(DamagedTable, match=said):
        list(line_sequences(data))
