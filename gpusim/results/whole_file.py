"""
Writes a file under a hidden name and renames it, so that a reader finds the whole file or none.

All files that gpusim writes for its user follow one rule: without ``--force`` no file is changed, and with it only
files that gpusim has made. A file that would get the bytes it already has is left alone.
"""

import filecmp
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gpusim.errors import BadInput
from gpusim.results.marks import is_made_by_gpusim

UNFINISHED = "unfinished"
"""The word in the names of unfinished files and folders. Their names begin with a dot."""

ABANDONED_AFTER_S = 3600
"""Age in seconds from which an unfinished file is taken for the leftover of a killed process."""

FORCE = "--force"
"""The option of a command that replaces files."""


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """
    Yield a hidden path with the same suffix beside ``path``, and rename the file there if the block ends without error.

    After an error the file is removed. A killed process leaves the hidden file; a later call for the same path removes
    it once it is ``ABANDONED_AFTER_S`` old. A symbolic link at ``path`` is replaced; its target is left alone.

    Raises:
        OSError: The file cannot be written.
    """
    with _aside(path) as aside:
        yield aside
        aside.replace(path)


@contextmanager
def written_for_user(path: Path, *, force: bool = False, follow: bool = True, option: str = FORCE) -> Iterator[Path]:
    """
    Yield a path to write to, as ``written_whole`` does, and apply the rule of this module at the end of the block.

    Args:
        path: Place of the file.
        force: Whether a file that gpusim has made may be replaced.
        follow: For a path that the user has typed: write to the target of a symbolic link at ``path``, and into a
            device or a pipe itself. Otherwise ``force`` replaces the link.
        option: The user's option to replace a file, for the message.

    Raises:
        BadInput: ``path`` exists, and may not be replaced.
        OSError: The file cannot be written.
    """
    refuse_foreign(path, follow=follow, option=option)
    if follow and path.exists() and not path.is_file():
        yield path
        return
    place = path.resolve() if follow else path
    with _aside(place) as aside:
        yield aside
        if _appears(aside, place) or (not place.is_symlink() and filecmp.cmp(aside, place, shallow=False)):
            return
        if not force:
            raise BadInput(f"{path}: is there already, and holds something else; {option} replaces it")
        refuse_foreign(path, follow=follow, option=option)
        aside.replace(place)


def refuse_foreign(path: Path, *, follow: bool = True, option: str = FORCE) -> None:
    """
    Refuse a path that exists and is never replaced, before anything is computed.

    Raises:
        BadInput: ``path`` is a folder, or a file that gpusim has not made.
    """
    if path.is_dir():
        raise BadInput(f"{path}: is there already; {option} replaces files only")
    if (path.is_symlink() and not follow) or not path.is_file() or is_made_by_gpusim(path):
        return
    raise BadInput(f"{path}: is there already, and gpusim has not made it; {option} replaces only what gpusim has made")


def refuse_taken(path: Path, *, force: bool, option: str = FORCE) -> None:
    """
    Refuse a path that exists and may not be replaced, before anything is computed.

    Raises:
        BadInput: ``path`` exists, and ``force`` is False or gpusim has not made it.
    """
    refuse_foreign(path, option=option)
    if os.path.lexists(path) and not force:
        raise BadInput(f"{path}: is there already; {option} replaces it")


def is_unfinished(path: Path) -> bool:
    """Return whether a file or folder has the name of an unfinished one, of this process or a killed one."""
    return path.name.startswith(".") and f".{UNFINISHED}" in path.name


@contextmanager
def _aside(place: Path) -> Iterator[Path]:
    """Yield a hidden path beside a place; a file left there at the end of the block is removed."""
    _remove_abandoned(place)
    aside = place.with_name(f"{_stem(place)}{secrets.token_hex(4)}.{UNFINISHED}{place.suffix}")
    try:
        yield aside
    finally:
        with suppress(OSError):
            aside.unlink(missing_ok=True)


def _appears(aside: Path, place: Path) -> bool:
    """Move a file to a free place in one step; return False if the place is taken."""
    try:
        os.link(aside, place)
    except FileExistsError:
        return False
    except OSError:  # a file system without hard links
        if os.path.lexists(place):
            return False
        aside.replace(place)
    return True


def _stem(place: Path) -> str:
    return f".{place.name[:40]}."


def _remove_abandoned(place: Path) -> None:
    oldest = time.time() - ABANDONED_AFTER_S
    with suppress(OSError):
        for other in place.parent.iterdir():
            if other.name.startswith(_stem(place)) and is_unfinished(other) and other.lstat().st_mtime < oldest:
                other.unlink(missing_ok=True)
