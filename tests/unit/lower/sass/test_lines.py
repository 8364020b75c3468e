"""Source and PTX lines of machine code that nvcc and Triton made, and of machine code without any."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from own.build import cubin_of

from gpusim.errors import BadInput
from gpusim.lower.sass.line_program import INLINED_CALL
from gpusim.lower.sass.lines import LineTable, SourcePlace, read_lines

FOLDER = Path(__file__).parent / "data" / "lines"


def data_of(name):
    return gzip.decompress((FOLDER / f"{name}_sm80.cubin.gz").read_bytes())


def table_of(name, kernel):
    return read_lines(data_of(name), kernel, name)


def source_line(name, number):
    return (FOLDER / name).read_text().splitlines()[number - 1].strip()


def test_an_instruction_has_the_line_of_its_source():
    """0xa0 is the store of inlined(); the padding behind the kernel's end still belongs to its last line."""
    table = table_of("lines", "inlined")

    assert table.at(0xA0) == SourcePlace("/kernels/lines.cu", 9)
    assert str(table.at(0xA0)) == "lines.cu:9"
    assert source_line("lines.cu", 9) == "y[threadIdx.x] = quadrupled(x[threadIdx.x]);"
    assert table.at(0x170) == SourcePlace("/kernels/lines.cu", 10)
    assert table.at(0x180) is None
    assert table.sizes == {"/kernels/lines.cu": (FOLDER / "lines.cu").stat().st_size}


def test_inlined_code_has_its_own_line_and_those_of_the_calls():
    """0x80: doubled() in quadrupled() in inlined()."""
    place = table_of("lines", "inlined").at(0x80)

    assert (place.line, place.function) == (3, "_Z7doubledf")
    assert (place.caller.line, place.caller.function) == (6, "_Z10quadrupledf")
    assert place.caller.caller == SourcePlace("/kernels/lines.cu", 9)


def test_a_function_that_is_called_has_its_own_lines_in_the_text_of_the_kernel():
    assert table_of("lines", "called").at(0xC0) == SourcePlace("/kernels/lines.cu", 12)


def test_an_instruction_has_the_line_of_its_ptx():
    table = table_of("lines", "inlined")

    assert table.ptx[table.ptx_line(0xA0) - 1] == "st.global.f32 \t[%rd7], %f3;"
    assert table.ptx_line(0x180) is None


def test_code_of_triton_has_the_lines_of_python():
    table = table_of("halves", "halves")

    assert source_line("halves.py", table.at(0x100).line) == "return v * 0.5"
    assert source_line("halves.py", table.at(0x100).caller.line) == "tl.store(y + i, halved(v), mask=i < n)"


def test_machine_code_without_line_information_has_no_line_of_any_instruction():
    table = read_lines(cubin_of("saxpy", 80), "saxpy", "saxpy")

    assert table == LineTable()
    assert table.at(0) is table.ptx_line(0) is None


def test_a_file_that_is_no_cubin_is_refused():
    with pytest.raises(BadInput, match=r"x\.bin: not a cubin"):
        read_lines(b"\x7fELF" + bytes(200), "k", "x.bin")


def test_a_table_that_is_damaged_is_named_with_its_file():
    data = data_of("lines").replace(
        b"\0\x03" + bytes([INLINED_CALL]) + b"\x04", b"\0\x03" + bytes([INLINED_CALL]) + b"\x7f"
    )

    with pytest.raises(BadInput, match=r"lines: the line table is damaged: row 127 of a call is not in the table"):
        read_lines(data, "inlined", "lines")


@pytest.mark.parametrize(("name", "kernel"), [("lines", "inlined"), ("halves", "halves")])
def test_a_damaged_file_is_read_or_refused_and_never_fails_otherwise(name, kernel):
    whole, draw = data_of(name), np.random.default_rng(7)

    for number in range(300):
        damaged = np.frombuffer(whole, np.uint8)[: len(whole) - number % 2 * draw.integers(len(whole))].copy()
        places = draw.integers(len(damaged), size=draw.integers(1, 20))
        damaged[places] = draw.choice([0, 0x7F, 0x80, 0xFF, draw.integers(256)], size=len(places))
        try:
            table = read_lines(damaged.tobytes(), kernel, name)
        except BadInput:
            continue
        assert all(table.at(address) is None or table.at(address).file for address in range(0, 0x200, 16))
