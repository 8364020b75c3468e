"""The room's face: every name that it offers is there, and is imported on first use only."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from gpusim import layout


@pytest.mark.parametrize("name", layout.__all__)
def test_every_name_is_there(name):
    assert getattr(layout, name).__module__.startswith("gpusim.layout.")


def test_type_checkers_are_told_the_same_names():
    stub = ast.parse(Path(layout.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(stub) if isinstance(node, ast.ImportFrom)]
    told = {alias.asname: node.module for node in imports for alias in node.names}

    assert told == {name: f"gpusim.layout.{home}" for name, home in vars(layout)["_HOMES"].items()}


def test_a_name_that_is_none_of_them_is_refused():
    with pytest.raises(AttributeError, match=r"^module 'gpusim\.layout' has no attribute 'nothing'$"):
        layout.nothing  # noqa: B018 - the access is what is refused


def test_importing_the_room_imports_no_numpy():
    code = "import sys, gpusim.layout; sys.exit('numpy' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
