"""A folder that is filled aside, under a hidden name, and gets its place in one step when it is whole."""

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
    A folder that is being filled. As a context manager it is discarded when the block ends, unless it was published.

    Its hidden folder lies beside the place where the result is to be, or inside it where that is a folder that is empty
    or replaced. The kernel's lock on it ends with the process, however that ends. Hidden folders without a lock are
    leftovers of killed processes: the next call for a place beside them removes them.

    Args:
        wanted: Place asked for. If it holds something, ``-2``, ``-3``, ... is appended.
        replaced: Names of the files that are replaced if ``wanted`` holds something; others there are kept. Empty if
            it must not be touched. A place that is replaced is one process's until that has published.
        may_replace: Says whether what a folder holds may be replaced; asked again when the folder is published.
        first, last: Names of the files that a published folder gets first and last. A folder without ``last`` is not
            whole. While a folder is replaced, ``first`` is never missing.
        say: Called with a line about each leftover that is removed.

    Attributes:
        folder: Folder to write to until ``publish``.

    Raises:
        BadInput: ``wanted`` is a file, or a used folder without a name to which a number could be appended.
        CannotRun: A folder cannot be made, or another process replaces what is at ``wanted``.
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
        """Make the hidden folder, and lock it before anyone takes it for a leftover."""
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
        """Return what ends the hidden folder's name: the same for all who replace one place, where locks tell them."""
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
        """Remove what was written; nothing happens after ``publish``."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self._unlock()

    def publish(self) -> Path:
        """
        Give the folder its place, and return it.

        A new folder appears by one rename. Files are moved into a folder that is there already, ``first`` first and
        ``last`` last.

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
        """Move the folder to a place; return False where something else is."""
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
    """Return whether a folder holds anything that is not being written."""
    return directory.is_dir() and not all(map(is_unfinished, directory.iterdir()))


def remove_leftovers(directory: Path, say: Callable[[str], None]) -> None:
    """Remove the hidden folders that killed processes have left in a directory, with a line about each."""
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
    """Lock a folder until the process ends; return None where that cannot be, or where another process has it."""
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
