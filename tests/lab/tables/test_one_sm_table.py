"""Main loops of one SM: what is left out of the simulated ones, and the page that has them beside the measured ones."""

from pathlib import Path

import pytest

from gpusim.lab.calibrate.table import MeasuredTable
from gpusim.lab.main_loops.one_sm import PARTS_LEFT_OUT, PARTS_OF_PIPELINED
from gpusim.lab.tables.one_sm_table import (
    MEASURED,
    Both,
    PartialLoop,
    launch_for,
    main,
    page,
    part_of,
    resident_of,
    simulated_ends,
)
from gpusim.lab.validation.observe import FigurePair
from gpusim.lower.stream import Instruction
from gpusim.records.record import measured_folder
from gpusim.sim.core.constants import BAR, LDGSTS, PIPE, SHARED

COMMITTED = Path(__file__).parents[3] / "reports" / "one_sm.md"
NAME = "gemm_64x64x64_s5_2048"


@pytest.fixture(scope="module")
def launch():
    """Two CTAs of a kernel with estimated streams, which need no compiler."""
    return launch_for(NAME, 2, 2048, "estimated")


@pytest.mark.parametrize("left_out", ["LDSM", "MMA", "LDGSTS", "LDGSTS lanes", "LDGSTS LDSM MMA"])
def test_with_something_left_out_main_loops_end_no_later(launch, left_out):
    whole, less = simulated_ends(launch, 2, ""), simulated_ends(launch, 2, left_out)

    assert less[0] < whole[0]
    assert less[-1] < whole[-1]


@pytest.mark.parametrize(
    ("opcode", "unit", "part"),
    [
        ("LDSM.16.M88.4", "shared", "LDSM"),
        ("HMMA.16816.F32", "tensor", "MMA"),
        ("LDGSTS.E.BYPASS.128", "ldgsts", "LDGSTS"),
        ("BAR.SYNC", "barrier", "BAR"),
        ("LDS", "pipe", "empty LDS"),
        ("LDG.E.LTC128B.128", "global", "LDG"),
        ("STS.128", "shared", "STS"),
        ("LDS.128", "shared", ""),
        ("IADD3", "pipe", ""),
    ],
)
def test_an_instruction_belongs_to_a_part_by_its_opcode_or_unit(opcode, unit, part):
    assert part_of(Instruction(opcode, unit)) == part


def test_every_cta_has_an_end_and_more_of_them_take_longer(launch):
    alone, two = simulated_ends(launch, 1, ""), simulated_ends(launch, 2, "")

    assert (len(alone), len(two)) == (1, 2)
    assert alone[0] < two[0] <= two[1]


@pytest.mark.parametrize(("part", "kind"), [("LDGSTS", LDGSTS), ("BAR", BAR)])
def test_a_nop_stands_for_what_is_left_out(launch, part, kind):
    """It has the same stall and waits, and is executed as often."""
    whole, less = (resident_of(launch, 2, parts) for parts in ((), (part,)))
    for before, after in zip(whole.assemblies.values(), less.assemblies.values(), strict=True):
        for own, changed in zip(before.segments, after.segments, strict=True):
            assert [one.stall for one in own.code] == [one.stall for one in changed.code]
            assert [one.waits for one in own.code] == [one.waits for one in changed.code]
            assert [PIPE if one.kind == kind else one.kind for one in own.code] == [one.kind for one in changed.code]


def test_ldmatrix_is_left_out_and_no_other_access_to_shared_memory(launch):
    less = resident_of(launch, 2, ("LDSM",))
    kinds = [one.kind for assembly in less.assemblies.values() for segment in assembly.segments for one in segment.code]

    assert SHARED not in kinds
    assert LDGSTS in kinds


def test_the_page_has_errors_by_what_is_left_out_and_whole_loops():
    """Two loops of 100 and 200 cycles are 10 % too long and 5 % too short: 7.5 % in the mean, +2.5 % signed."""
    rows = [
        Both(PartialLoop("a", 1, ""), FigurePair(100, 110), FigurePair(50, 50)),
        Both(PartialLoop("b", 2, ""), FigurePair(200, 190), FigurePair(100, 101)),
        Both(PartialLoop("b", 2, "MMA"), FigurePair(80, 80), FigurePair(80, 80)),
    ]

    loads = [Both(PartialLoop("c", 1, "LDG"), FigurePair(50, 49), FigurePair(50, 50))]

    text = "\n".join(page(rows, loads))

    assert "| nothing | 2 | 7.5 % | +2.5 % | +10.0 % | 0.5 % | +0.5 % |" in text
    assert "| MMA | 1 | 0.0 % | +0.0 % | +0.0 % | 0.0 % | +0.0 % |" in text
    assert "| b | 2 | 200 | 190 | -5.0 % |" in text
    assert "| b | 2 | 80 |" not in text
    assert text.index("## Loads and stores") < text.index("| LDG | 1 | 2.0 % | -2.0 % | -2.0 % | 0.0 % | +0.0 % |")


@pytest.mark.reports
def test_the_committed_page_has_all_that_was_measured():
    text = COMMITTED.read_text()

    assert all(f"| {left_out or 'nothing'} | 33 |" in text for left_out in PARTS_LEFT_OUT)
    assert all(f"| {left_out or 'nothing'} | 14 |" in text for left_out in PARTS_OF_PIPELINED)
    for name, folder in MEASURED.items():
        table = MeasuredTable(measured_folder() / folder, name)
        assert all(f"| {name} | 1 |" in text for name in table.values("name"))


def test_without_measured_rows_it_is_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("gpusim.lab.tables.one_sm_table.measured_folder", lambda: tmp_path)

    assert main([]) != 0
    assert capsys.readouterr() == ("", f"{tmp_path / MEASURED['one_sm'] / 'one_sm.csv'}: no measured rows\n")
