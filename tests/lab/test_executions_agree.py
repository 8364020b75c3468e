"""Two cores side by side: what is compared, what a difference says, and what the committed report covers."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from problems.small import small_gemm

from gpusim.errors import CheckFailed
from gpusim.families.registry import load_scenario
from gpusim.lab import executions_agree
from gpusim.lab.executions_agree import agreement, agreements, launches_of, main
from gpusim.scenario.catalogue import find_scenario, recordable_scenarios, validation_scenarios
from gpusim.sim.core import chip as interpreted
from gpusim.sim.core.constants import RETIRED
from gpusim.sim.core.engine import Engine

REPORT = Path(__file__).parents[2] / "reports" / "executions_agree.md"
LAUNCHES = launches_of(small_gemm(64, 64, 64))


def test_a_core_agrees_with_itself_on_every_row():
    """One CTA of 2 warps or more: each instruction is a row at least, for it is selected once."""
    found = agreement("small", LAUNCHES, interpreted)

    assert (found.launches, found.ctas) == (1, 1)
    assert found.instructions == LAUNCHES[0].instructions
    assert found.rows > found.instructions


class Late(interpreted.Chip):
    """It finds out about everything that comes from DRAM a cycle late."""

    def __init__(self, *built):
        super().__init__(*built)
        arrival = self.dram.arrival
        self.dram.arrival = lambda line, at: arrival(line, at) + 1


class Forgetful(interpreted.Chip):
    """It counts no wavefronts."""

    def run(self):
        cta = super().run()
        self.data_stage.wavefronts = 0
        return cta


class Chatty(interpreted.Chip):
    """It logs a row more when a CTA ends."""

    def __init__(self, *built):
        super().__init__(*built)
        leave = self.warps.leave

        def chatty(warp, at):
            leave(warp, at)
            self.record.note(0, RETIRED, 0, 0, 0, 0)

        self.warps.leave = chatty


@pytest.mark.parametrize(
    ("core", "words"),
    [
        (Late, r"small: row \d+ of the notes since the last end is \[0, .*\] interpreted, \[0, .*\] compiled"),
        (Forgetful, r"small: wavefronts: \d+ interpreted, 0 compiled"),
        (Chatty, r"small: (row \d+ of the notes|notes) .*"),
    ],
)
def test_a_core_that_does_otherwise_is_found_out(core, words):
    with pytest.raises(CheckFailed) as found:
        agreement("small", LAUNCHES, SimpleNamespace(Chip=core))

    assert re.fullmatch(words, str(found.value))


def test_a_scenario_that_is_too_large_or_has_no_time_is_named():
    files = [find_scenario(name) for name in ("conv_9_k_tiles", "gemm_4096")]
    small, large = agreements(files, 100_000, interpreted)

    assert small.name == "conv_9_k_tiles"
    assert re.fullmatch(r"gemm_4096: \d\d,\d{3},\d{3} warp instructions", large)


def test_the_command_writes_a_row_for_each_scenario(tmp_path, monkeypatch):
    monkeypatch.setattr(executions_agree, "engine", lambda: Engine("compiled", interpreted, ""))
    assert main(["conv_9_k_tiles", "gemm_4096", "--most", "100000", "--out", str(tmp_path / "table.md")]) == 0
    text = (tmp_path / "table.md").read_text()

    assert "| conv_9_k_tiles | 1 | " in text
    assert "\nNot run:\n\n- gemm_4096: " in text


def test_without_a_compiled_core_there_is_nothing_to_compare(monkeypatch, capsys):
    monkeypatch.setattr(executions_agree, "engine", lambda: Engine("interpreted", interpreted, "nobody compiled it"))

    assert main(["conv_9_k_tiles"]) == 1
    assert capsys.readouterr().err == "error: there is no compiled core to compare: nobody compiled it\n"


@pytest.mark.reports
def test_the_committed_report_has_every_recorded_scenario_or_says_why_not():
    text = REPORT.read_text()
    rows = re.findall(r"^\| (\w+) \| \d \| [\d,]+ \| ([\d,]+) \| ([\d,]+) \|$", text, re.MULTILINE)
    left_out = re.findall(r"^- (\w+): ", text, re.MULTILINE)

    assert {name for name, _, _ in rows} | set(left_out) == {
        path.stem for path in {*recordable_scenarios()} - {*validation_scenarios()}
    }
    assert len(rows) >= 100
    for name, instructions, equal in rows:
        assert int(equal.replace(",", "")) > int(instructions.replace(",", "")), name
    for part in ("gemm_", "conv_", "dgrad_", "attention_", "flash_", "pipelined", "split_k", "bias", "alignment2"):
        assert any(part in name for name, _, _ in rows), part
    assert all(load_scenario(find_scenario(name)).machine == "h200" for name, _, _ in rows)
