"""A folder that is filled under a hidden name, and moved to its place in one step when it is complete."""

import errno
import hashlib
import os
import secrets
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from gpusim.errors import BadInput, CannotRun
from gpusim.results.whole_file import UNFINISHED, is_unfinished

if sys.platform != "win32":
    import fcntl

_TAKEN = {errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR, errno.EISDIR}


class StagedFolder:
    """
    A folder that is being filled. As a context manager it is discarded at the end of the block, unless it is published.

    Its hidden folder lies beside the place of the result, or inside it if the place is a folder that is empty or to be
    replaced. A lock of the operating system on the hidden folder ends with the process, however the process ends.
    Hidden folders without a lock are leftovers of killed processes: the next call for a place beside them removes them.

    Args:
        wanted: Requested place. If it holds something, ``-2``, ``-3``, ... is appended.
        replaced: Names of the files that are replaced if ``wanted`` holds something; others there are kept. Empty if
            ``wanted`` must not be touched. Only one process at a time may replace a place.
        may_replace: Returns whether the content of a folder may be replaced; called again at publication.
        first, last: Names of the files that a published folder gets first and last. A folder without ``last`` is not
            complete. While a folder is replaced, ``first`` is never missing.
        say: Called with a line about each removed leftover.

    Attributes:
        folder: Folder to write to until ``publish``.

    Raises:
        BadInput: ``wanted`` is a file, or a used folder without a name to which a number could be appended.
        CannotRun: A folder cannot be made, or another process is replacing ``wanted``.
    """

    def __init__(
        self,
        wanted: Path,
        *,
        replaced: Sequence[str] = (),
        may_replace: Callable[[Path], bool] = lambda _: True,
        first: str,
        last: str,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._wanted, self._replaced, self._first, self._last = wanted, replaced, first, last
        self._may_replace = may_replace
        self._lock: int | None = None
        if wanted.exists() and not wanted.is_dir():
            raise BadInput(f"{wanted}: is a file; a run is written to a folder")
        takes = wanted.is_dir() and (bool(replaced) or not is_used(wanted))
        if not takes and wanted.name in {"", ".."}:
            raise BadInput(f"{wanted}: is a folder in use; a run is written to a new or an empty one")
        beside = wanted if takes else wanted.parent
        try:
            beside.mkdir(parents=True, exist_ok=True)
            remove_leftovers(beside, say)
            self.folder = self._made(beside)
        except OSError as error:
            raise CannotRun(f"{wanted}: cannot make the run directory ({error.strerror})") from error

    def _made(self, beside: Path) -> Path:
        """Make the hidden folder, and lock it before another process takes it for a leftover."""
        while True:
            folder = beside / f".{self._wanted.name[:40]}.{UNFINISHED}-{self._token()}"
            try:
                folder.mkdir()
            except FileExistsError as error:
                raise CannotRun(
                    f"{self._wanted}: another process is writing a run there; wait for it, or give another folder"
                ) from error
            self._lock = _locked(folder, wait=True)
            if self._lock is None or _is_open_at(self._lock, folder):
                return folder
            self._unlock()

    def _token(self) -> str:
        """Return the suffix of the hidden folder's name. With locks, processes that replace one place share it."""
        if self._replaced and sys.platform != "win32":
            return hashlib.sha256(os.fsencode(self._wanted.name)).hexdigest()[:8]
        return secrets.token_hex(4)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.discard()

    def discard(self) -> None:
        """Remove the hidden folder; does nothing after ``publish``."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self._unlock()

    def publish(self) -> Path:
        """
        Move the folder to its place, and return the place.

        A new folder appears by one rename. If the place is an existing folder, the files are moved into it, ``first``
        first and ``last`` last.

        Raises:
            CannotRun: It cannot be moved there.
        """
        place, number = self._wanted, 1
        try:
            while not self._moved(place):
                number += 1
                place = self._wanted.with_name(f"{self._wanted.name}-{number}")
        except (OSError, ValueError) as error:  # ValueError: a folder without a name was filled by someone else
            raise CannotRun(f"{place}: cannot make the run directory ({error})") from error
        self._unlock()
        return place

    def _moved(self, place: Path) -> bool:
        """Move the folder to a place; return False if something else is there."""
        if place.is_dir():
            if is_used(place) and not (self._replaced and place == self._wanted and self._may_replace(place)):
                return False
            self._move_into(place)
            return True
        if os.path.lexists(place):
            return False
        try:
            self.folder.rename(place)
        except OSError as error:
            if error.errno in _TAKEN:
                return False
            raise
        return True

    def _move_into(self, place: Path) -> None:
        files = sorted(self.folder.iterdir(), key=lambda file: (file.name == self._last, file.name != self._first))
        for name in (self._last, *self._replaced):
            if name != self._first:
                (place / name).unlink(missing_ok=True)
        for file in files:
            file.replace(place / file.name)
        self.folder.rmdir()

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def is_used(directory: Path) -> bool:
    """Return whether a folder holds anything but unfinished files."""
    return directory.is_dir() and not all(map(is_unfinished, directory.iterdir()))


def remove_leftovers(directory: Path, say: Callable[[str], None]) -> None:
    """Remove the hidden folders of killed processes in a directory, with a line about each."""
    for folder in sorted(directory.glob(f".*.{UNFINISHED}-*")):
        lock = _locked(folder, wait=False) if folder.is_dir() and not folder.is_symlink() else None
        if lock is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)
            say(f"removed {folder}, which a killed run has left")


def _is_open_at(lock: int, folder: Path) -> bool:
    """Return whether a locked folder is still the one at its path."""
    try:
        return os.path.samestat(os.fstat(lock), folder.stat())
    except OSError:
        return False


def _locked(folder: Path, *, wait: bool) -> int | None:
    """Lock a folder until the process ends; return None if that is not possible or another process has the lock."""
    if sys.platform == "win32":  # has no such locks: leftovers stay
        return None
    with suppress(OSError):
        lock = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
        else:
            return lock
    return None
