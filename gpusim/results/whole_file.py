"""Writes a file aside and renames it, so that a reader finds all of it or nothing."""

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

UNFINISHED = "unfinished"
"""The word in the names of files and folders that are being written. They begin with a dot."""

ABANDONED_AFTER_S = 3600
"""Age in seconds at which an unfinished file is taken for the leftover of a killed process."""


@contextmanager
def written_whole(path: Path, *, follow: bool = False) -> Iterator[Path]:
    """
    Yield a hidden name of the same suffix beside ``path`` to write to, and rename it when the block ends without error.

    After an error nothing is left. A killed process leaves the hidden file, which a later call for the same path
    removes once it is ``ABANDONED_AFTER_S`` old.

    Args:
        path: Place of the file. A symbolic link there is replaced, and what it points to is left alone.
        follow: Write where a symbolic link at ``path`` points, and into a device or a pipe itself. For a path that the
            user has typed.

    Raises:
        OSError: The file cannot be written.
    """
    if follow and path.exists() and not path.is_file():
        yield path
        return
    place = path.resolve() if follow else path
    _remove_abandoned(place)
    aside = place.with_name(f"{_stem(place)}{secrets.token_hex(4)}.{UNFINISHED}{place.suffix}")
    try:
        yield aside
        aside.replace(place)
    finally:
        with suppress(OSError):
            aside.unlink(missing_ok=True)


def is_unfinished(path: Path) -> bool:
    """Return whether a file or folder has the name of one that is being written, or was when its process was killed."""
    return path.name.startswith(".") and f".{UNFINISHED}" in path.name


def _stem(place: Path) -> str:
    return f".{place.name[:40]}."


def _remove_abandoned(place: Path) -> None:
    oldest = time.time() - ABANDONED_AFTER_S
    with suppress(OSError):
        for other in place.parent.iterdir():
            if other.name.startswith(_stem(place)) and is_unfinished(other) and other.lstat().st_mtime < oldest:
                other.unlink(missing_ok=True)
