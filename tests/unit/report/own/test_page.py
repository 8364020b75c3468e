"""The page about kernels of one's own: its data, and that it has the scripts that it needs and no others."""

import json
import re
from dataclasses import replace

from problems.own_answers import LOAD, MATH, STORE, own_answer

from gpusim.report.html.page import KERNEL_SCRIPTS
from gpusim.report.own.page import kernel_page, source_lines


def data_of(text):
    return json.loads(re.search('<script type="application/json" id="data">(.*?)</script>', text)[1])


def test_the_page_has_each_instruction_with_its_reasons():
    (kernel,) = data_of(kernel_page([("mine", own_answer())]))["kernels"]

    assert [row["address"] for row in kernel["rows"]] == ["0x0010", "0x0020", "0x0030"]
    assert kernel["rows"][1]["stalls"] == [["long_scoreboard", 150], ["math_pipe_throttle", 10]]
    assert kernel["rows"][1]["lanes"] is None
    assert kernel["warp_cycles"] == 200


def test_source_lines_add_up_their_instructions():
    assert source_lines(own_answer()) == [("k.cu:4", 172, 86.0, 8, 32, 4, 0, 0), ("k.cu:3", 16, 8.0, 4, 0, 0, 64, 16)]


def test_without_source_lines_there_is_no_table_of_them():
    rows = tuple(replace(row, source="") for row in (LOAD, MATH, STORE))

    assert source_lines(own_answer(rows=rows)) == []


def test_several_kernels_stand_on_one_page():
    text = kernel_page([("one", own_answer()), ("other", own_answer())])

    assert [kernel["name"] for kernel in data_of(text)["kernels"]] == ["one", "other"]
    assert "<title>one · other " in text


def test_the_page_has_its_own_scripts_alone():
    text = kernel_page([("mine", own_answer())])

    assert "buildKernels();" in text
    assert "class Timeline" not in text
    assert len(set(KERNEL_SCRIPTS)) == len(KERNEL_SCRIPTS)
