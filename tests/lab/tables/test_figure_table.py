"""The table of figures by kind is that of the machine files, and few figures are fitted."""

from pathlib import Path

import pytest

from gpusim.lab.tables.figure_table import MOST_FITTED, figure_table, main
from gpusim.machine import load_machine, machine_names

COMMITTED = Path(__file__).parents[3] / "reports" / "figures.md"


@pytest.mark.reports
def test_the_committed_table_is_that_of_the_machine_files(tmp_path):
    assert main(["--out", str(tmp_path / "figures.md")]) == 0

    assert COMMITTED.read_text() == (tmp_path / "figures.md").read_text()


FIGURES = [(name, record) for name in machine_names() for record in load_machine(name).figures]


@pytest.mark.parametrize(("name", "record"), FIGURES, ids=[f"{name}-{record.key}" for name, record in FIGURES])
def test_every_figure_is_the_committed_one(name, record):
    """A figure that no measurement tells anew is at least noticed when it changes."""
    page = COMMITTED.read_text()
    own = page[page.index(f"\n## {name}, {record.kind}\n") + 1 :].split("\n## ")[0]

    values = record.value if isinstance(record.value, tuple) else (record.value,)
    assert f"\n| `{record.key}` | {', '.join(map(str, values))} {record.unit} |" in own


def test_a_list_of_values_is_one_cell():
    page = figure_table([load_machine("h200")])

    assert "\n| `launch.units.others` | 8, 16, 16, 16, 16, 16, 18, 18 SMs | Microbenchmarks of gpusim calibrate" in page


def test_no_machine_has_many_fitted_figures():
    assert max(load_machine(name).figure_counts()["fitted"] for name in machine_names()) <= MOST_FITTED


def test_every_fitted_figure_of_the_h200_says_on_what():
    page = figure_table([load_machine("h200")])
    lines = page[page.index("## h200, fitted") : page.index("## h200, assumed")].splitlines()

    fitted_on = {
        "dram.banks.busy_ns": "rows.csv",
        "dispatch.mufu": "development",
        "constant_cache.miss_latency": "development",
        "async_copy.stage": "main loops",
        "async_copy.commit_stage": "main loops",
    }
    rows = [line.split(" | ") for line in lines if line.startswith("| `")]
    assert {key.strip("| `"): why for key, _, _, why in rows}.keys() == fitted_on.keys()
    for key, _, _, why in rows:
        assert fitted_on[key.strip("| `")] in why
