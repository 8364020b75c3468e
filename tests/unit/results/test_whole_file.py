"""A file that is written aside: all of it or nothing, and never through a link that lies there."""

import os
from pathlib import Path

import pytest

from gpusim.errors import BadInput
from gpusim.results.whole_file import ABANDONED_AFTER_S, written_for_user, written_whole

EARLIER = '{"schema": "gpusim.earlier/1"}'
"""What counts as a file that gpusim has made."""


def test_a_file_appears_when_it_is_whole(tmp_path):
    path = tmp_path / "trace"

    with written_whole(path) as aside:
        aside.write_text("all of it")
        assert not path.exists()

    assert path.read_text() == "all of it"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_keeps_what_was_there_and_leaves_nothing(tmp_path):
    path = tmp_path / "trace"
    path.write_text("before")

    def fill_the_disk():
        with written_whole(path) as aside:
            aside.write_text("half")
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        fill_the_disk()

    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("follow", [False, True])
def test_a_link_is_replaced_unless_the_user_has_typed_it(tmp_path, follow):
    target, path = tmp_path / "target", tmp_path / "link"
    target.write_text(EARLIER)
    path.symlink_to(target)

    with written_for_user(path, force=True, follow=follow) as aside:
        aside.write_text("new")

    assert target.read_text() == ("new" if follow else EARLIER)
    assert path.read_text() == "new"
    assert path.is_symlink() == follow


def test_what_appears_while_a_file_is_written_is_kept(tmp_path):
    path = tmp_path / "trace"

    def write_beside_another():
        with written_for_user(path) as aside:
            aside.write_text("new")
            path.write_text(EARLIER)

    with pytest.raises(BadInput, match="trace: is there already, and holds something else; --force replaces it"):
        write_beside_another()

    assert path.read_text() == EARLIER
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_to_nothing_is_written_through(tmp_path):
    path = tmp_path / "link"
    path.symlink_to(tmp_path / "target")

    with written_for_user(path) as aside:
        aside.write_text("new")

    assert (tmp_path / "target").read_text() == "new"
    assert path.is_symlink()


def test_a_file_system_without_hard_links_gets_its_file(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)

    with written_for_user(tmp_path / "trace") as aside:
        aside.write_text("new")

    assert (tmp_path / "trace").read_text() == "new"


def test_a_device_that_the_user_has_typed_is_written_to():
    with written_for_user(Path(os.devnull)) as aside:
        assert str(aside) == os.devnull


def test_an_old_leftover_of_the_same_file_is_removed(tmp_path):
    old, young, other = (tmp_path / f".{name}.unfinished" for name in ("trace.01234567", "trace.12345678", "chart.23"))
    for path in (old, young, other):
        path.write_text("half")
    for path in (old, other):
        os.utime(path, (0, path.stat().st_mtime - ABANDONED_AFTER_S - 1))

    with written_whole(tmp_path / "trace") as aside:
        aside.write_text("whole")

    assert sorted(tmp_path.iterdir()) == [other, young, tmp_path / "trace"]
