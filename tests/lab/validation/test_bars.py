"""The bars that cycles are held to: read from reports, met or missed; of each that is missed it is said why."""

import json
import re
import shutil

import pytest

from gpusim.errors import CannotRun
from gpusim.lab.validation.bars import CycleBar, bars, main, page
from gpusim.records.record import reports_folder

READ = (
    *("validation/held_out.json", "validation/development.json", "validation/from_cubins.md", "validation/stamps.md"),
    *("published_tables.md", "sampling_error.md", "mutations.md"),
)


@pytest.fixture
def reports(tmp_path):
    """
    A copy of what the page is made of.
    """
    for name in READ:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(reports_folder() / name, tmp_path / name)
    return tmp_path


@pytest.mark.reports
def test_the_committed_page_is_of_the_committed_reports():
    assert (reports_folder() / "validation" / "bars.md").read_text() == page(tuple(bars(reports_folder())))


def test_of_every_bar_that_is_missed_it_is_said_what_is_suspected_and_what_would_decide(reports):
    """
    Where errors are a hundredfold, all held-out means are missed, and those of which nothing is suspected say nothing.
    """
    assert all(bar.suspected and bar.experiment for bar in bars(reports_folder()) if not bar.met)

    held_out = (reports / "validation/held_out.json").read_text()
    (reports / "validation/held_out.json").write_text(re.sub(r'"mean": 0\.', '"mean": 10.', held_out))
    found = {bar.what: bar for bar in bars(reports)}

    assert "lg_throttle" not in found["held-out GEMM, active, mean"].experiment
    assert "DRAM" in found["held-out GEMM, active, mean"].suspected
    assert not found["held-out, active, mean"].met
    assert found["held-out, active, mean"].suspected == ""


def test_a_bar_is_met_at_its_limit_and_an_error_by_its_size():
    assert CycleBar("", 0.15, 0.15).met
    assert CycleBar("", -0.14, 0.15).met
    assert not CycleBar("", -0.16, 0.15).met
    assert CycleBar("", 12, 12, at_least=True).met
    assert not CycleBar("", 11, 12, at_least=True).met


def test_values_are_those_of_the_reports(reports):
    held_out = json.loads((reports / "validation/held_out.json").read_text())
    held_out["streams"]["compiled"]["overall"]["elapsed"]["mean"] = 0.05
    (reports / "validation/held_out.json").write_text(json.dumps(held_out))
    (reports / "sampling_error.md").write_text(
        "Of 2 held-out problems 2.\nElapsed cycles differ by 0.25 % in the mean and 0.40 % at most."
    )

    found = {bar.what: bar for bar in bars(reports)}

    assert found["held-out, elapsed, mean"].measured == 0.05
    assert not found["held-out, elapsed, mean"].met
    assert found["sampled beside exact, elapsed, mean"].measured == pytest.approx(0.0025)
    assert found["sampled beside exact, elapsed, mean"].met
    assert found["sampled beside exact, elapsed, largest"].met


@pytest.mark.parametrize("keys", [("streams",), ("streams", "compiled", "k_tiles"), ("streams", "estimated")])
def test_a_validation_that_has_no_part_of_a_bar_is_named_with_its_key(reports, keys):
    held_out = json.loads((reports / "validation/held_out.json").read_text())
    inner = held_out
    for key in keys[:-1]:
        inner = inner[key]
    del inner[keys[-1]]
    (reports / "validation/held_out.json").write_text(json.dumps(held_out))

    with pytest.raises(CannotRun, match=rf"held_out\.json: .*no '{keys[-1]}'"):
        list(bars(reports))


def test_a_page_that_says_nothing_of_a_bar_is_named(reports):
    (reports / "mutations.md").write_text("# Mutations\n")

    with pytest.raises(CannotRun, match=r"mutations\.md: the page must state"):
        list(bars(reports))


@pytest.mark.parametrize("name", READ)
def test_a_report_that_is_missing_is_named(reports, name, capsys):
    (reports / name).unlink()

    assert main(["--reports", str(reports)]) == CannotRun.exit_code
    assert name.rpartition("/")[2] in capsys.readouterr().err
