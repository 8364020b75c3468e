"""The page of counts: its sum, what differs and why, and the kernels that were not executed."""

from gpusim.lab.own.counts.compared import WITHOUT_CONFLICTS, ComparedCount
from gpusim.lab.own.counts.page import counts_page

INSTRUCTIONS = "smsp__inst_executed.sum"
COMPARED = [
    ComparedCount("saxpy", INSTRUCTIONS, 10, 10),
    ComparedCount("saxpy", "IMAD", 4, 4),
    ComparedCount("mandelbrot", INSTRUCTIONS, 21, 20),
    ComparedCount("mandelbrot", "BSYNC", 3, 2),
    ComparedCount("mandelbrot", WITHOUT_CONFLICTS, 0, 7),
    ComparedCount("gather", INSTRUCTIONS, 1, 0),
]


def test_the_page_sums_up_and_names_each_difference():
    lines = counts_page("development", COMPARED, {}).splitlines()

    assert "**2 of 6 counts are equal, and all counts of 1 of 3 kernels.**" in lines
    assert "| instructions | `smsp__inst_executed.sum` | 3 | 1 |" in lines
    assert "| instructions of one opcode | `sass__inst_executed_per_opcode` | 2 | 1 |" in lines
    assert "| mandelbrot | BSYNC | 3 | 2 | 1.5000 |" in lines
    assert "| gather | instructions | 1 | 0 |  |" in lines
    assert "- gather: not explained." in lines
    assert any(line.startswith("- mandelbrot: lanes that leave a loop") for line in lines)
    assert "| saxpy | 10 | 2 | 2 |" in lines


def test_the_held_out_page_names_its_command_and_what_was_not_executed():
    page = counts_page("held-out", COMPARED, {"fft": "text 0x0010 NOP is not executed"})

    assert page.startswith("# Counts of own kernels against ncu: held-out kernels\n")
    assert "`python -m gpusim.lab.own.counts --held-out`" in page
    assert "Not executed:\n\n- fft: text 0x0010 NOP is not executed\n" in page
    assert "was found from these kernels" not in page
