"""``gpusim calibrate`` on the committed CSV files: what it prints, as text and as data, and what it writes."""

import json
from importlib import resources
from pathlib import Path

from gpusim.lab.calibrate import benchmarks
from gpusim.machine import load_machine

MEASURED = Path(__file__).parents[3] / "reports" / "measured" / "h200" / "microbench"
OTHERS = (8, 16, 16, 16, 16, 16, 18, 18)
WHERE = "places.csv, 16 CTAs and one for each SM: SMs from the first of each group to the next"


def test_a_figure_is_a_line_with_its_value_and_where_it_comes_from(gpusim):
    lines = gpusim("calibrate", "--derived-from", MEASURED).out.splitlines()

    assert [line.split() for line in lines if line.startswith("l1.hit_latency ")] == [
        ["l1.hit_latency", "32", "latency.csv,", "pointer", "chase:", "32.01"]
    ]
    (line,) = (line for line in lines if line.startswith("launch.units.others "))
    assert line.endswith(f"  {', '.join(map(str, OTHERS))}  {WHERE}")


def test_figures_are_data_too(gpusim):
    derived = json.loads(gpusim("calibrate", "--derived-from", MEASURED, "--json").out)

    assert derived["launch.units.others"] == {"value": list(OTHERS), "at": WHERE}


def test_the_module_prints_the_same_figures(capsys):
    assert benchmarks.main([str(MEASURED), "--derive-only"]) == 0

    assert f"{', '.join(map(str, OTHERS))}  {WHERE}\n" in capsys.readouterr().out


def test_the_shipped_file_is_what_calibrate_writes_from_the_committed_csv(gpusim, tmp_path):
    """
    A copy in which the groups of SMs are others has the shipped ones afterwards, and no other figure is another one.
    """
    text = resources.files("gpusim.machine").joinpath("h200.toml").read_text(encoding="utf-8")
    path = tmp_path / "h200.toml"
    path.write_text(
        text.replace(f"others = {{ value = {list(OTHERS)}", f"others = {{ value = {list(OTHERS[::-1])}"),
        encoding="utf-8",
    )
    assert load_machine(str(path)).launch.units.others == tuple(OTHERS[::-1])

    assert gpusim("calibrate", "--derived-from", MEASURED, "--machine", path).code == 0

    assert load_machine(str(path)).figures == load_machine("h200").figures
