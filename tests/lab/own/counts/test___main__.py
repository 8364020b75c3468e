"""The command: a page of one half, and a held-out look that is noted before a file is opened."""

import pytest

from gpusim.lab.own.counts import __main__ as command
from gpusim.lab.own.counts.compared import ExecutedKernel
from gpusim.records import held_out_log


@pytest.fixture
def measured(tmp_path, monkeypatch):
    """A folder of measurements: one kernel of each half executed one instruction; and where the log of looks lies."""
    for half, name in (("development", "saxpy"), ("held_out", "fft")):
        (tmp_path / f"{half}_counters.csv").write_text(f"name,size,smsp__inst_executed.sum\n{name},large,1\n")
        (tmp_path / f"{half}_opcodes.csv").write_text(
            f"name,size,opcode,executed,wavefronts,ideal\n{name},large,NOP,1,,\n"
        )
    monkeypatch.setattr(held_out_log, "log_file", lambda: tmp_path / "log.md")
    monkeypatch.setattr(command, "execute_measured", lambda *_: ExecutedKernel([], [], 0))
    return tmp_path


def test_the_page_of_the_development_half_notes_no_look(measured):
    assert command.main([str(measured / "out.md"), "saxpy", "fft", "--measured", str(measured)]) == 0

    assert "| saxpy | instructions | 0 | 1 | 0.0000 |" in (measured / "out.md").read_text()
    assert not (measured / "log.md").exists()


def test_a_held_out_look_is_noted_and_shows_aggregates(measured):
    assert command.main([str(measured / "out.md"), "saxpy", "fft", "--held-out", "--measured", str(measured)]) == 0

    page, log = (measured / "out.md").read_text(), (measured / "log.md").read_text()
    assert "| instructions | `smsp__inst_executed.sum` | 1 | 0 |" in page
    assert "fft" not in page
    assert "| `python -m gpusim.lab.own.counts --held-out OUT` | aggregates of 1 own kernels |" in log


def test_held_out_rows_are_noted_as_such(measured):
    assert command.main([str(measured / "out.md"), "fft", "--held-out-rows", "--measured", str(measured)]) == 0

    page, log = (measured / "out.md").read_text(), (measured / "log.md").read_text()
    assert "| fft | instructions | 0 | 1 | 0.0000 |" in page
    assert "| `python -m gpusim.lab.own.counts --held-out-rows OUT` | rows of 1 own kernels |" in log


def test_a_held_out_look_that_cannot_be_noted_shows_nothing(measured, monkeypatch):
    monkeypatch.setattr(held_out_log, "log_file", lambda: measured / "nowhere" / "log.md")

    assert command.main([str(measured / "out.md"), "fft", "--held-out", "--measured", str(measured)]) != 0
    assert not (measured / "out.md").exists()


def test_a_missing_file_is_named(measured, capsys):
    (measured / "development_counters.csv").unlink()

    assert command.main([str(measured / "out.md"), "saxpy", "--measured", str(measured)]) != 0
    assert "development_counters.csv: counts of own kernels cannot be read" in capsys.readouterr().err


def test_a_kernel_that_is_not_executed_is_named(measured, monkeypatch):
    def refused(*_):
        raise command.GpusimError("NOP is not executed")

    monkeypatch.setattr(command, "execute_measured", refused)

    assert command.main([str(measured / "out.md"), "saxpy", "--measured", str(measured)]) == 0
    assert "- saxpy: NOP is not executed" in (measured / "out.md").read_text()


def test_a_kernel_that_was_not_measured_is_named(measured):
    assert command.main([str(measured / "out.md"), "saxpy", "gather", "--measured", str(measured)]) == 0

    assert "- gather: not measured" in (measured / "out.md").read_text()


def test_kernels_of_frameworks_are_compared_on_a_page_of_their_own(measured):
    (measured / "development_counters.csv").write_text("name,size,smsp__inst_executed.sum\ntriton_matmul,large,1\n")

    assert command.main([str(measured / "out.md"), "triton_matmul", "--frameworks", "--measured", str(measured)]) == 0

    page = (measured / "out.md").read_text()
    assert page.startswith("# Counts of kernels of Triton and CuPy against ncu: development kernels\n")
    assert "`python -m gpusim.lab.own.counts --frameworks` wrote this page" in page
    assert "| triton_matmul | instructions | 0 | 1 | 0.0000 |" in page
