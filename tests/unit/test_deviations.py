"""Each known difference from silicon has a number, and each number that is cited is explained."""

import re
from pathlib import Path

import gpusim

PACKAGE = Path(gpusim.__file__).parent
DEVIATIONS = (PACKAGE.parent / "docs" / "deviations.md").read_text(encoding="utf-8")
NUMBERED = re.findall(r"^\| (D\d+) \|", DEVIATIONS, flags=re.MULTILINE)


def test_deviations_are_numbered_in_order():
    assert [f"D{number}" for number in range(1, len(NUMBERED) + 1)] == NUMBERED


def test_every_cited_deviation_is_explained():
    sources = [*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.toml")]
    cited = {number for source in sources for number in re.findall(r"\(D\d+\)", source.read_text(encoding="utf-8"))}

    assert {number for number in cited if number.strip("()") not in NUMBERED} == set()
