"""The room's face: every name that it offers is there, and is imported on first use only."""

import subprocess
import sys

import pytest

from gpusim import layout


@pytest.mark.parametrize("name", layout.__all__)
def test_every_name_is_there(name):
    assert getattr(layout, name).__module__.startswith("gpusim.layout.")


def test_the_names_are_those_that_have_a_home():
    assert sorted(vars(layout)["_HOMES"]) == sorted(layout.__all__)


def test_a_name_that_is_none_of_them_is_refused():
    with pytest.raises(AttributeError, match=r"^module 'gpusim\.layout' has no attribute 'nothing'$"):
        layout.nothing  # noqa: B018 - the access is what is refused


def test_importing_the_room_imports_no_numpy():
    code = "import sys, gpusim.layout; sys.exit('numpy' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
