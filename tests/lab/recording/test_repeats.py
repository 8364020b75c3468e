"""Several cold launches of each scenario: which launches of ncu's are one, and what is written of them."""

from types import SimpleNamespace

import pytest

from gpusim.errors import CannotRun
from gpusim.gpu import counters, device
from gpusim.lab.recording import in_ncu_runs, repeats
from gpusim.lab.recording.repeats import COLD_LAUNCHES, repeat
from gpusim.records.repeats import REPEATED, REPEATS_FILE

ELAPSED = REPEATED[0]


def profile(cycles):
    return counters.Profile((1, 1, 1), (128, 1, 1), dict.fromkeys(REPEATED, float(cycles)), {})


def test_a_launch_of_two_kernels_has_the_cycles_of_both(monkeypatch, tmp_path):
    """A split-K and its reduction, launched twice: 100 and 7, then 200 and 9. Another scenario has one kernel."""
    found = [("split", profile(cycles)) for cycles in (100, 7, 200, 9)] + [("one", profile(50)), ("one", profile(60))]
    asked = []
    monkeypatch.setattr(counters, "profile_launches", lambda *given: asked.append(given) or found)

    rows = repeat(["a.toml"], tmp_path, 2)

    assert [(row["name"], row["launch"], row[ELAPSED]) for row in rows] == [
        *[("split", 0, 107), ("split", 1, 209)],
        *[("one", 0, 50), ("one", 1, 60)],
    ]
    assert asked == [(["a.toml"], tmp_path, ("--metrics", ",".join(REPEATED)), ("--times", "2"))]


@pytest.fixture
def found(monkeypatch, tmp_path):
    """Files of scenarios, all of which have been compiled, and the folder of what is measured."""
    origin = SimpleNamespace(environment={"gpu": "NVIDIA H200"}, commit="c0ffee", command=("python", "OUT", "FILE"))
    monkeypatch.setattr(in_ncu_runs, "RecordOrigin", SimpleNamespace(here=lambda *_: origin))
    monkeypatch.setattr(in_ncu_runs, "prebuild_one", lambda *_: None)
    files = [f"{number}.toml" for number in range(repeats.REPEATED_TOGETHER + 1)]
    return [str(tmp_path), *files], tmp_path / device.gpu_slug("NVIDIA H200") / REPEATS_FILE


def test_a_run_of_ncu_that_fails_leaves_what_others_measured(found, monkeypatch, capsys):
    """The first run has all scenarios but one, and fails; the second has that one."""
    arguments, path = found

    def launches(files, *_):
        if len(files) > 1:
            raise CannotRun("ncu is missing")
        return [(files[0].stem, profile(1000 + number)) for number in range(COLD_LAUNCHES)]

    monkeypatch.setattr(counters, "profile_launches", launches)

    assert repeats.main(arguments) == CannotRun.exit_code
    assert capsys.readouterr().err == "ncu is missing\n"
    head, *rows = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    assert head == ",".join(("name", "launch", *REPEATED))
    assert rows == [f"{repeats.REPEATED_TOGETHER},{number}" + f",{1000 + number}" * 4 for number in range(7)]
    assert [line.split(":")[0] for line in path.read_text().splitlines() if line.startswith("#")] == [
        *("# gpu", "# commit", "# date", "# command"),
    ]


def test_nothing_is_begun_when_the_time_is_over(found, monkeypatch, capsys):
    arguments, path = found
    monkeypatch.setattr(counters, "profile_launches", lambda *_: pytest.fail("begun"))

    assert repeats.main([*arguments, "--seconds", "-1"]) == 0
    assert capsys.readouterr().err == f"{len(arguments) - 1} files were not begun\n"
    assert not path.exists()
