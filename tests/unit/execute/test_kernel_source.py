"""Source lines of instructions, and their text: from the file beside the kernel, or from where it was compiled."""

import pytest

from gpusim.execute.kernel_source import KernelSource
from gpusim.lower.sass.lines import LineTable, SourcePlace

INNER = SourcePlace("/far/k.cu", 2, "f", SourcePlace("/far/k.cu", 3))
TEXT = "one\n  two\nthree\n"
SIZE = len(TEXT)


def source(folder, *, file="/far/k.cu", size=SIZE):
    return KernelSource(LineTable((0, 32), (INNER, None), sizes={file: size}), folder)


def test_an_instruction_has_a_line_and_the_calls_that_it_is_inlined_at(tmp_path):
    lines = source(tmp_path)

    assert lines.place(16) == INNER
    assert lines.trail(16) == "k.cu:2, inlined at k.cu:3"
    assert lines.trail(32) == ""


def test_the_text_is_that_of_the_file_beside_the_kernel(tmp_path):
    (tmp_path / "k.cu").write_text(TEXT)

    assert source(tmp_path).text(INNER) == "two"
    assert source(tmp_path).text(SourcePlace("/far/k.cu", 4)) is None
    assert source(tmp_path).text(None) is None


def test_the_text_is_found_where_the_source_was_compiled(tmp_path):
    path = tmp_path / "k.cu"
    path.write_text(TEXT)

    assert source(None, file=str(path)).text(SourcePlace(str(path), 3)) == "three"


@pytest.mark.parametrize("size", [0, SIZE + 1])
def test_a_source_that_was_changed_since_has_no_text(tmp_path, size):
    """A size of 0 says that the compiler wrote none down: then any file of the name is taken."""
    (tmp_path / "k.cu").write_text(TEXT)

    assert source(tmp_path, size=size).text(INNER) == (None if size else "two")


@pytest.mark.parametrize("file", ["/dev/zero", "/far/k.cu", "/" + "x" * 5000, "/a\0b"])
def test_what_is_no_file_has_no_text(tmp_path, file):
    assert source(tmp_path, file=file, size=0).text(SourcePlace(file, 1)) is None
