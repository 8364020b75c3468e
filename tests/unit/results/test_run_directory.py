"""The run directory: never written into when it holds something, and read back as it was written."""

import json
import sys
from pathlib import Path

import pytest

from gpusim.errors import BadInput, CannotRun
from gpusim.results import run_directory
from gpusim.results.result import Cycles, PipelineRow, Result, Simulated
from gpusim.results.timeline import KTileSpan, Timeline, WarpSpan

RESULT = Result(
    scenario={"machine": "h200"},
    machine={"name": "h200"},
    stream="estimated",
    grid=(1, 1, 1),
    ctas=1,
    ctas_per_sm=1,
    registers_per_thread=32,
    shared_bytes=0,
    waves=0.5,
    cycles=Cycles(elapsed=20, active=10),
    clock_mhz=1000,
    time_us=0.02,
    tflops=0.0,
    simulated=Simulated(ctas=1, k_tiles=1, instructions=3, seconds=0.1, sampled=False),
    counters={},
    bank_conflicts=(),
    stalls={"selected": 1.0},
    pipeline=(PipelineRow(0, 0, 0, None, 1, 2, 3, 4),),
    hazards=(),
    bound={"resource": "latency", "reason": "nothing is busy", "utilisation": 0.1},
    provenance={"version": "0", "commit": None},
)
TIMELINE = Timeline(
    warps=(WarpSpan(0, 0, 0, 0, 4, "selected"), WarpSpan(0, 1, 1, 0, 9, "long_scoreboard")),
    k_tiles=(KTileSpan(0, 0, 0, -1, 0, "copy", 0, 2),),
)

EARLIER = '{"schema": "gpusim.earlier/1"}'
"""What counts as a file that gpusim has made."""


def written(wanted, *, force=False):
    with run_directory.claim(wanted, force=force) as claimed:
        run_directory.write_run(claimed.folder, RESULT, TIMELINE, 'machine = "h200"\n', ["gpusim", "run", "x"])
        return claimed.publish()


def entries(directory):
    return sorted(path.name for path in directory.iterdir())


def test_what_is_written_is_read_back(tmp_path):
    directory = written(tmp_path / "run")

    assert run_directory.read_run(directory) == (RESULT, TIMELINE)


def test_the_manifest_names_the_command_and_the_provenance(tmp_path):
    directory = written(tmp_path / "run")

    assert json.loads((directory / "manifest.json").read_text()) == {
        "version": "0",
        "commit": None,
        "stream": "estimated",
        "command": ["gpusim", "run", "x"],
    }


def test_a_directory_in_use_is_kept_and_the_next_number_taken(tmp_path):
    claimed = [written(tmp_path / "deep" / "run").name for _ in range(3)]

    assert claimed == ["run", "run-2", "run-3"]


def test_an_empty_directory_is_taken_as_it_is(tmp_path):
    (tmp_path / "run").mkdir()
    before = (tmp_path / "run").stat().st_ino

    assert written(tmp_path / "run") == tmp_path / "run"
    assert (tmp_path / "run").stat().st_ino == before


def test_nothing_stands_at_the_place_of_a_run_until_it_is_whole(tmp_path):
    with run_directory.claim(tmp_path / "run") as claimed:
        assert not (tmp_path / "run").exists()
        run_directory.write_run(claimed.folder, RESULT, TIMELINE, "", [])
        assert not (tmp_path / "run").exists()


def test_a_claimed_directory_without_a_run_is_removed(tmp_path):
    with run_directory.claim(tmp_path / "run"):
        pass

    assert list(tmp_path.iterdir()) == []


def test_force_replaces_an_earlier_run_and_its_pictures(tmp_path):
    directory = written(tmp_path / "run")
    (directory / "overlap.png").write_text(EARLIER)
    (directory / "notes.txt").write_text("mine")

    assert written(directory, force=True) == directory
    assert entries(directory) == [
        *entries(written(tmp_path / "other"))[:1],
        "notes.txt",
        *entries(tmp_path / "other")[1:],
    ]


def test_force_keeps_the_earlier_run_until_the_new_one_is_whole(tmp_path):
    directory = written(tmp_path / "run")

    with run_directory.claim(directory, force=True):
        assert run_directory.read_run(directory) == (RESULT, TIMELINE)

    assert run_directory.read_run(directory) == (RESULT, TIMELINE)
    assert len(entries(directory)) == 4


def test_force_replaces_a_run_that_was_cut_short(tmp_path):
    directory = written(tmp_path / "run")
    (directory / "result.json").unlink()

    assert written(directory, force=True) == directory
    assert run_directory.read_run(directory) == (RESULT, TIMELINE)


def test_force_removes_a_link_and_leaves_what_it_points_to(tmp_path):
    directory = written(tmp_path / "run")
    (tmp_path / "thesis.tex").write_text("precious")
    for name in ("overlap.png", "result.json"):
        (directory / name).unlink(missing_ok=True)
        (directory / name).symlink_to(tmp_path / "thesis.tex")

    written(directory, force=True)

    assert (tmp_path / "thesis.tex").read_text() == "precious"
    assert run_directory.read_run(directory) == (RESULT, TIMELINE)


def test_force_never_replaces_a_file_of_someone_elses_in_a_run(tmp_path):
    directory = written(tmp_path / "run")
    (directory / "overlap.png").write_text("mine")

    with pytest.raises(BadInput, match=r"overlap\.png: is there already, and gpusim has not made it; --force replaces"):
        run_directory.claim(directory, force=True)

    assert (directory / "overlap.png").read_text() == "mine"


@pytest.mark.skipif(sys.platform == "win32", reason="has no locks that end with their process")
@pytest.mark.parametrize("is_there", [False, True], ids=["free", "a run"])
def test_of_two_that_replace_one_run_one_does(tmp_path, is_there):
    """The other is told before it has computed anything. Without force each gets a place of its own."""
    place = tmp_path / "run"
    if is_there:
        written(place)

    with run_directory.claim(place, force=True) as claimed:
        with pytest.raises(CannotRun, match="run: another process is writing a run there; wait for it, or give"):
            run_directory.claim(place, force=True)
        run_directory.write_run(claimed.folder, RESULT, TIMELINE, "", [])
        assert claimed.publish() == place

    assert written(place, force=True) == place
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_what_has_taken_a_free_place_meanwhile_is_replaced_if_it_is_a_run_and_kept_otherwise(tmp_path):
    for name, fill in (("run", written), ("mine", lambda place: place.mkdir() or (place / "x").write_text("mine"))):
        with run_directory.claim(tmp_path / name, force=True) as claimed:
            run_directory.write_run(claimed.folder, RESULT, TIMELINE, "", [])
            fill(tmp_path / name)
            claimed.publish()

    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "mine-2", "run"]
    assert (tmp_path / "mine" / "x").read_text() == "mine"


def test_force_never_removes_what_is_no_run(tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")

    with pytest.raises(BadInput, match="--force replaces an earlier run, and this folder holds none"):
        run_directory.claim(tmp_path, force=True)

    assert (tmp_path / "thesis.tex").read_text() == "precious"


def test_a_file_is_no_place_for_a_run(tmp_path):
    (tmp_path / "run").write_text("")

    with pytest.raises(BadInput, match="run: is a file; a run is written to a folder"):
        run_directory.claim(tmp_path / "run")


def test_a_place_under_a_file_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(CannotRun, match="cannot make the run directory"):
        run_directory.claim(tmp_path / "file" / "run")


def test_a_name_follows_the_resolved_scenario():
    name = run_directory.default_name("conv", {"problem": {"c": 128}, "machine": "h200"})

    assert name == run_directory.default_name("conv", {"machine": "h200", "problem": {"c": 128}})
    assert name != run_directory.default_name("conv", {"machine": "h200", "problem": {"c": 256}})
    assert len(name) == len("conv-") + 8


@pytest.mark.parametrize("text", ["", "[]", '{"schema": "gpusim.timeline/0"}'], ids=["empty", "list", "older"])
def test_a_timeline_of_another_form_is_refused(tmp_path, text):
    directory = written(tmp_path / "run")
    (directory / "timeline.json").write_text(text)

    with pytest.raises(BadInput, match=r"timeline\.json: "):
        run_directory.read_run(directory)


def test_a_folder_without_a_result_is_no_run(tmp_path):
    with pytest.raises(BadInput, match=r"not a run directory \(it has no result\.json\)"):
        run_directory.read_run(tmp_path)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("result.json", {"cycles": 7}, "damaged: cycles: Input should be an object"),
        ("result.json", {"ctas": "one"}, "damaged: ctas: Input should be a valid integer"),
        ("result.json", {"pipeline": [{"k_tile": 0}]}, "damaged: pipeline.0.stage: Field required"),
        ("result.json", {"colour": 1}, "damaged: colour: Unexpected keyword argument"),
        ("timeline.json", {"warps": 3}, "damaged: warps and k_tiles must be tables of columns and rows"),
        (
            "timeline.json",
            {"warps": {"columns": ["cta"], "rows": [[0, 1]]}},
            "damaged: warps and k_tiles must be tables of columns and rows",
        ),
        (
            "timeline.json",
            {"warps": {"columns": ["cta"], "rows": [[0]]}},
            "damaged: warps.0.warp: Field required",
        ),
        (
            "timeline.json",
            {"k_tiles": {"columns": list(KTileSpan.__slots__), "rows": [[0, 0, 1 << 63, -1, 0, "mma", 0, 9]]}},
            "damaged: k_tiles.0: a span must begin before it ends, and count from 0",
        ),
    ],
)
def test_a_damaged_file_of_the_right_schema_is_one_line(tmp_path, name, change, message):
    directory = written(tmp_path / "run")
    path = directory / name
    path.write_text(json.dumps(json.loads(path.read_text()) | change))

    with pytest.raises(BadInput) as refused:
        run_directory.read_run(directory)

    assert str(refused.value) == f"{path}: {message}"


@pytest.mark.parametrize("name", [".", ".."])
def test_a_used_folder_without_a_name_is_refused(tmp_path, monkeypatch, name):
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "file").write_text("")
    monkeypatch.chdir(tmp_path / "here")

    with pytest.raises(BadInput) as refused:
        run_directory.claim(Path(name))

    assert str(refused.value) == f"{name}: is a folder in use; a run is written to a new or an empty one"


def test_the_working_directory_may_be_claimed_when_empty_and_stays(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    with run_directory.claim(Path()):
        pass

    assert list(tmp_path.iterdir()) == []
    assert run_directory.read_run(written(Path())) == (RESULT, TIMELINE)
