"""Each known difference from silicon has a number, and each number that is cited is explained."""

import re
from pathlib import Path

import gpusim

PACKAGE = Path(gpusim.__file__).parent
DEVIATIONS = (PACKAGE.parent / "docs" / "deviations.md").read_text(encoding="utf-8")
NUMBERED = re.findall(r"^\| (D\d+) \|", DEVIATIONS, flags=re.MULTILINE)


def test_deviations_are_numbered_in_order():
    assert [f"D{number}" for number in range(1, len(NUMBERED) + 1)] == NUMBERED


def cited():
    """Numbers that sources and machine files name, as in "(D7)"."""
    sources = [*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.toml")]
    return {number for source in sources for number in re.findall(r"\((D\d+)\)", source.read_text(encoding="utf-8"))}


def test_every_cited_deviation_is_explained_and_every_explained_one_is_cited():
    assert cited() == set(NUMBERED)
