"""Counts by source line are the sums of those of its instructions."""

import numpy as np

from gpusim.execute.by_line import counts_by_line
from gpusim.execute.counts import InstructionCounts
from gpusim.execute.kernel_source import KernelSource
from gpusim.lower.sass.lines import LineTable, SourcePlace

TABLE = LineTable(
    (0, 16, 32, 48, 64),
    (SourcePlace("b.cu", 7), SourcePlace("a.cu", 3), SourcePlace("b.cu", 2), SourcePlace("b.cu", 7, "f"), None),
)


def test_lines_are_in_order_in_each_file_and_files_in_order_of_the_code():
    rows = [InstructionCounts(16 * at, "NOP", issues=1 << at, wavefronts=5, ideal_wavefronts=2) for at in range(5)]

    lines = counts_by_line(rows, KernelSource(TABLE))

    assert [line.place and str(line.place) for line in lines] == ["b.cu:2", "b.cu:7", "a.cu:3", None]
    assert [line.issues for line in lines] == [4, 1 + 8, 2, 16]
    assert [line.conflicts for line in lines] == [3, 6, 3, 3]
    assert [row.address for row in lines[1].rows] == [0, 48]


def test_a_kernel_has_the_sums_of_each_line_and_its_text(checks):
    """A warp stores a row of 32 words, and loads a column, 32 times each: 1 and 32 wavefronts."""
    x, y = np.zeros((32, 32), np.float32), np.zeros((32, 32), np.float32)

    run = checks("transposed_plain")[1, 128](x, y)

    column = next(line for line in run.lines if line.text and "y[32 * row + threadIdx.x % 32] = tile" in line.text)
    assert (column.wavefronts, column.ideal_wavefronts, column.conflicts) == (32 * 32, 32, 31 * 32)
    assert (column.sectors, column.ideal_sectors) == (32 * 4, 32 * 4)
    for name in ("issues", "wavefronts", "conflicts", "sectors"):
        assert sum(getattr(line, name) for line in run.lines) == getattr(run, name)
