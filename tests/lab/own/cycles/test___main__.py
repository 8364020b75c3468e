"""The command: a page of one half, and a held-out look that is noted before a file is opened."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from gpusim.errors import Unsupported
from gpusim.lab.own.cycles import __main__ as command
from gpusim.lab.own.cycles.compared import ComparedCycles
from gpusim.records import held_out_log


@pytest.fixture
def measured(tmp_path, monkeypatch):
    """A folder of measurements: one kernel of each half took 1,000 cycles; and where the log of looks lies."""
    for half, name in (("development", "saxpy"), ("held_out", "fft")):
        (tmp_path / f"{half}_counters.csv").write_text(f"name,size,sm__cycles_elapsed.max\n{name},large,1000.0\n")
    monkeypatch.setattr(held_out_log, "log_file", lambda: tmp_path / "log.md")
    monkeypatch.setattr(command, "ProcessPoolExecutor", ThreadPoolExecutor)
    monkeypatch.setattr(
        command, "time_measured", lambda kernel, _, cycles: ComparedCycles(kernel.name, kernel.bound, 1100, cycles, 64)
    )
    return tmp_path


def test_the_page_of_the_development_half_notes_no_look(measured, capsys):
    assert command.main([str(measured / "out.md"), "saxpy", "fft", "--measured", str(measured)]) == 0

    assert "| `saxpy` | memory | 64 | 1,000 | 1,100 | +10.0 % |" in (measured / "out.md").read_text()
    assert "fft" not in (measured / "out.md").read_text()
    assert not (measured / "log.md").exists()
    assert capsys.readouterr().err == "1 of 1: saxpy\n"


def test_a_held_out_look_is_noted_and_shows_aggregates(measured):
    assert command.main([str(measured / "out.md"), "saxpy", "fft", "--held-out", "--measured", str(measured)]) == 0

    page, log = (measured / "out.md").read_text(), (measured / "log.md").read_text()
    assert "**1 kernels: the mean error is 10.0 %, the 90th percentile 10.0 %.**" in page
    assert "fft" not in page
    assert "| `python -m gpusim.lab.own.cycles --held-out OUT` | aggregates of 1 own kernels |" in log


def test_a_held_out_look_that_cannot_be_noted_shows_nothing(measured, monkeypatch):
    monkeypatch.setattr(held_out_log, "log_file", lambda: measured / "nowhere" / "log.md")

    assert command.main([str(measured / "out.md"), "fft", "--held-out", "--measured", str(measured)]) != 0
    assert not (measured / "out.md").exists()


def test_a_kernel_without_a_measurement_or_a_time_is_named(measured, monkeypatch):
    counters = measured / "development_counters.csv"
    counters.write_text(counters.read_text() + "haxpy,large,500\n")
    time = command.time_measured

    def refused(kernel, folder, cycles):
        if kernel.name == "haxpy":
            raise Unsupported("haxpy: DMMA has no pipe in the model")
        return time(kernel, folder, cycles)

    monkeypatch.setattr(command, "time_measured", refused)

    names = ["saxpy", "haxpy", "gather"]
    assert command.main([str(measured / "out.md"), *names, "--measured", str(measured)]) == 0
    page = (measured / "out.md").read_text()
    assert "2 kernels have no time." in page
    assert "- `gather`: not measured\n- `haxpy`: haxpy: DMMA has no pipe in the model\n" in page


def test_a_missing_file_is_named(measured, capsys):
    (measured / "development_counters.csv").unlink()

    assert command.main([str(measured / "out.md"), "saxpy", "--measured", str(measured)]) != 0
    assert "development_counters.csv" in capsys.readouterr().err
