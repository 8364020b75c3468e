"""A folder that is filled aside: whoever comes first gets the place, and what a killed process leaves is removed."""

import multiprocessing
import signal

import pytest

from gpusim.errors import BadInput, CannotRun
from gpusim.results.staging import StagedFolder, is_used


def staged(wanted, **options):
    return StagedFolder(wanted, first="manifest", last="result", **options)


def fill(folder, text):
    for name in ("manifest", "result"):
        (folder / name).write_text(text)


def test_two_that_want_one_place_get_a_place_each(tmp_path):
    with staged(tmp_path / "run") as one, staged(tmp_path / "run") as other:
        fill(one.folder, "one")
        fill(other.folder, "other")
        places = [other.publish(), one.publish()]

    assert places == [tmp_path / "run", tmp_path / "run-2"]
    assert [(place / "result").read_text() for place in places] == ["other", "one"]


def test_two_that_want_one_empty_folder_get_a_place_each(tmp_path):
    (tmp_path / "run").mkdir()

    with staged(tmp_path / "run") as one, staged(tmp_path / "run") as other:
        fill(one.folder, "one")
        fill(other.folder, "other")
        places = [other.publish(), one.publish()]

    assert places == [tmp_path / "run", tmp_path / "run-2"]
    assert sorted(path.name for path in places[0].iterdir()) == ["manifest", "result"]


def test_a_place_that_a_dangling_link_holds_is_not_written_through(tmp_path):
    (tmp_path / "run").symlink_to(tmp_path / "elsewhere")

    with staged(tmp_path / "run") as one:
        assert one.publish() == tmp_path / "run-2"

    assert not (tmp_path / "elsewhere").exists()


def _wait_to_be_killed(wanted, ready):
    fill(staged(wanted).folder, "half")
    ready.set()
    signal.pause()


@pytest.fixture
def killed(tmp_path):
    """Leave what a process leaves that is killed while it writes a run; the fixture is the place it wanted."""
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    process = context.Process(target=_wait_to_be_killed, args=(tmp_path / "run", ready))
    process.start()
    assert ready.wait(60)
    process.kill()
    process.join()
    return tmp_path / "run"


def test_what_a_killed_process_leaves_is_removed_by_the_next(killed):
    (leftover,) = killed.parent.iterdir()
    assert leftover.name.startswith(".run.unfinished-")
    said = []

    with staged(killed, say=said.append) as one:
        assert said == [f"removed {leftover}, which a killed run has left"]
        assert list(killed.parent.iterdir()) == [one.folder]


def test_what_is_being_written_is_no_leftover(tmp_path):
    said = []

    with staged(tmp_path / "run") as one, staged(tmp_path / "run", say=said.append):
        assert one.folder.is_dir()
        assert said == []


def test_a_folder_with_unfinished_ones_alone_is_unused(tmp_path):
    (tmp_path / ".run.unfinished-01234567").mkdir()
    assert not is_used(tmp_path)

    (tmp_path / ".bashrc").write_text("")
    assert is_used(tmp_path)


def test_a_place_that_cannot_be_made_is_one_error(tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(CannotRun, match="cannot make the run directory"):
        staged(tmp_path / "file" / "run")
    with pytest.raises(BadInput, match="is a file"):
        staged(tmp_path / "file")


def test_a_place_that_vanishes_meanwhile_is_one_error(tmp_path):
    with staged(tmp_path / "deep" / "run") as one:
        one.discard()
        with pytest.raises(CannotRun, match="cannot make the run directory"):
            one.publish()
