"""The origin of a computed number: gpusim's version and commit, hashes of the inputs, and the time."""

import hashlib
import json
import os
import shutil
import subprocess
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from gpusim import __version__

COMMIT_VARIABLE = "GPUSIM_COMMIT"

_DIRTY = "-dirty"
"""Suffix of a commit's name if tracked files differ from the commit."""

_SOURCE_TREE = Path(__file__).parents[2]


def digest(data: Any) -> str:
    """Return the SHA-256 of plain data in hex. The order of keys does not matter."""
    canonical = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


@cache
def commit() -> str | None:
    """
    Return the commit of the source tree that gpusim runs from, with ``-dirty`` if tracked files differ from it.

    For a copy of the tree without its history, the environment variable ``GPUSIM_COMMIT`` states the commit. Return
    None for an installed wheel, which its version identifies.
    """
    git = shutil.which("git")
    if git is None or not (_SOURCE_TREE / ".git").exists():
        return os.environ.get(COMMIT_VARIABLE)
    command = [git, "-C", str(_SOURCE_TREE), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    described = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 # nothing in it is user input
    return described.stdout.strip() or os.environ.get(COMMIT_VARIABLE)


def is_dirty(commit: str | None) -> bool:
    """Return whether gpusim runs from a source that no commit identifies."""
    return commit is not None and commit.endswith(_DIRTY)


def clean(commit: str | None) -> str | None:
    """Return a commit without the suffix of changed files."""
    return commit and commit.removesuffix(_DIRTY)


def changed_files() -> list[Path]:
    """Return the tracked files of the source tree that differ from its commit; none for an installed wheel."""
    git = shutil.which("git")
    if git is None or not (_SOURCE_TREE / ".git").exists():
        return []
    command = [git, "-C", str(_SOURCE_TREE), "diff", "--name-only", "HEAD"]
    names = subprocess.run(command, capture_output=True, text=True, check=False).stdout  # noqa: S603 # as above
    return [_SOURCE_TREE / name for name in names.splitlines()]


def provenance(scenario: dict[str, Any], machine_digest: str) -> dict[str, Any]:
    """
    Return the ``provenance`` of a result.

    Args:
        scenario: The resolved scenario, as plain data.
        machine_digest: Digest of the machine's figures.
    """
    return {
        "version": __version__,
        "commit": commit(),
        "scenario_sha256": digest(scenario),
        "machine_sha256": machine_digest,
        "time": datetime.now(tz=UTC).isoformat(timespec="seconds"),
    }
