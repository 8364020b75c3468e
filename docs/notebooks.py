"""
Executes the tutorials in place, so that the tree has their output: ``python docs/notebooks.py [NOTEBOOK...]``.

What differs from one execution to the next without a change of gpusim (times, ids, versions) is left out.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import nbformat
from nbclient import NotebookClient

TUTORIALS: Final = Path(__file__).parent / "tutorials"

KERNEL: Final = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
"""Metadata of a notebook."""


def execute(path: Path) -> None:
    """Execute a notebook in an empty folder, and write it back."""
    notebook: Any = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    with TemporaryDirectory() as folder:
        client = NotebookClient(notebook, timeout=300, record_timing=False, resources={"metadata": {"path": folder}})
        client.execute()
    path.write_text(written(notebook), encoding="utf-8")


def written(notebook: Any) -> str:
    """Return a notebook's text, with cells numbered by their place and nothing of the machine."""
    notebook.metadata = KERNEL
    for number, cell in enumerate(notebook.cells):
        cell.id, cell.metadata = f"cell-{number}", {}
    text: str = nbformat.writes(notebook)  # type: ignore[no-untyped-call]
    return text.rstrip("\n") + "\n"


def execute_all(arguments: Sequence[str]) -> None:
    """Execute the notebooks of the command line, or all. They call the ``gpusim`` of this Python."""
    os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    for path in [Path(each) for each in arguments] or sorted(TUTORIALS.glob("*.ipynb")):
        sys.stderr.write(f"{path.name}\n")
        execute(path)


if __name__ == "__main__":
    execute_all(sys.argv[1:])
