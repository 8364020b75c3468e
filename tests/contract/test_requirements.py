"""The pinned packages: `make demo` installs what gpusim runs on, which is a part of what `make test` installs."""

import tomllib
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def pins(part):
    lines = (ROOT / "requirements" / f"{part}.txt").read_text(encoding="utf-8").splitlines()
    return {canonicalize_name(line.split("==")[0]): line.split("==")[1] for line in lines if not line.startswith("#")}


def needed(names):
    """The packages of these names and all that they need here, by their metadata."""
    found, left = set(), {canonicalize_name(name) for name in names}
    while left:
        name = left.pop()
        found.add(name)
        wanted = map(Requirement, requires(name) or ())
        here = {
            canonicalize_name(one.name) for one in wanted if one.marker is None or one.marker.evaluate({"extra": ""})
        }
        left |= here - found
    return found


@pytest.mark.parametrize(
    ("part", "of"),
    [
        ("run", PROJECT["project"]["dependencies"]),
        ("build", [*PROJECT["build-system"]["requires"], "editables"]),
    ],
    ids=["run", "build"],
)
def test_a_part_has_all_that_its_packages_need_and_no_more(part, of):
    assert set(pins(part)) == needed(Requirement(line).name for line in of)


@pytest.mark.parametrize("part", ["run", "build"])
def test_a_part_has_the_versions_of_the_whole(part):
    assert pins(part).items() <= pins("lock").items()


def test_the_demo_needs_nothing_of_documentation_browser_or_cluster():
    assert not {"sphinx", "furo", "selenium", "distributed", "mypy", "pytest"} & {*pins("run"), *pins("build")}
