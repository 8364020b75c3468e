"""The table of figures by kind is that of the machine files, and few figures are fitted."""

from pathlib import Path

from gpusim.machine import load_machine, machine_names
from gpusim.measure.tables.figure_table import MOST_FITTED, figure_table, main

COMMITTED = Path(__file__).parents[4] / "reports" / "figures.md"


def test_the_committed_table_is_that_of_the_machine_files(tmp_path):
    assert main(["--out", str(tmp_path / "figures.md")]) == 0

    assert COMMITTED.read_text() == (tmp_path / "figures.md").read_text()


def test_no_machine_has_many_fitted_figures():
    assert max(load_machine(name).figure_counts()["fitted"] for name in machine_names()) <= MOST_FITTED


def test_every_fitted_figure_of_the_h200_says_on_what():
    lines = figure_table([load_machine("h200")]).split("## h200, assumed")[0].splitlines()

    for key in ("mio.queue_depth", "launch.cta_setup", "constant_cache.miss_latency"):
        (line,) = (line for line in lines if line.startswith(f"| `{key}`"))
        assert "development" in line
