"""The table of counts, line by line."""

from gpusim.execute.by_line import LineCounts
from gpusim.execute.counts import InstructionCounts
from gpusim.execute.counts_table import counts_table
from gpusim.lower.sass.lines import SourcePlace

STORE = InstructionCounts(0x20, "STS [R1], R2", 2, 64, 4, 2)
EXIT = InstructionCounts(0x30, "EXIT", 2, 64)


def test_without_lines_each_instruction_has_a_row():
    assert counts_table([LineCounts(None, None, (STORE, EXIT))]) == [
        "address      issues       lanes  wavefronts       ideal     sectors       ideal  SASS",
        " 0x0020           2          64           4           2                          STS [R1], R2",
        " 0x0030           2          64                                                  EXIT",
    ]


def test_a_source_line_has_sums_and_its_instructions_below():
    lines = [
        LineCounts(SourcePlace("/src/k.cu", 7), "s[i] =\tx;", (STORE, STORE)),
        LineCounts(SourcePlace("/src/k.cu", 8), None, (EXIT,)),
        LineCounts(None, None, (EXIT,)),
    ]

    assert counts_table(lines)[1:] == [
        "/src/k.cu",
        "     7:           4         128           8           4                          s[i] = x;",
        " 0x0020           2          64           4           2                            STS [R1], R2",
        " 0x0020           2          64           4           2                            STS [R1], R2",
        "     8:           2          64",
        " 0x0030           2          64                                                    EXIT",
        "(no source line)",
        " 0x0030           2          64                                                    EXIT",
    ]


def test_a_long_line_is_cut_and_what_steers_a_terminal_is_escaped():
    (_, _, row, _) = counts_table([LineCounts(SourcePlace("k\n.cu", 1), "\x1b" + "x" * 200, (EXIT,))])

    assert "\\x1bxxx" in row
    assert row.endswith("xxx...")
    assert len(row) == 81 + 90
